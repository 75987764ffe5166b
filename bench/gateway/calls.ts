/** Ready-made calls of a chat endpoint, for each kind of server the bench drives. */
import { type AnswerCheck, type RequestSpec, requestBytes } from '../requests.js'
import { callBody, mockModel } from './mock-models.js'

/** How to address a server: where its endpoint is and what it wants to be told. */
export interface Addressee {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

export const API_KEY = 'sk-bench-key-of-the-load-side-0000000000'
export const MANAGEMENT_KEY = 'sk-bench-management-key-0000000000000000'

/** Sluice itself, with the key the bench gave it. */
export const SLUICE: Addressee = {
  path: '/api/v1/chat/completions',
  headers: { Authorization: `Bearer ${API_KEY}` },
}

/** The mock and the bare relay, which want nothing. */
export const BARE: Addressee = { path: '/v1/chat/completions', headers: {} }

/** The same endpoint under another key. */
export function withKey(key: string): Addressee {
  return { ...SLUICE, headers: { Authorization: `Bearer ${key}` } }
}

/** One call as the load tools take it, with what its answer has to hold. */
export function callSpec(to: Addressee, model: string, tag = ''): RequestSpec {
  return {
    method: 'POST',
    route: to.path,
    path: to.path,
    headers: to.headers,
    body: callBody(model, tag),
    answer: answerOf(model),
  }
}

/** The bytes of one call over a kept connection. */
export function callBytes(to: Addressee, model: string, tag = ''): Buffer {
  return requestBytes(callSpec(to, model, tag))
}

function answerOf(model: string): AnswerCheck {
  const plan = mockModel(model)
  if (plan !== null && plan.tokens > 0) return { kind: 'stream', tokens: plan.tokens }
  // The first words of the content, the finish reason and the usage: its begin, its middle and its end.
  const includes = ['"The words of the benchmark', '"stop"', '"total_tokens"']
  return { kind: 'text', includes, leastBytes: 300 }
}
