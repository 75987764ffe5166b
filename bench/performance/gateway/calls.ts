/** Ready-made calls of a chat endpoint, for each kind of server the bench drives. */
import { type BodyCheck, type RequestSpec, requestBytes } from '../../harness/http/requests.js'
import { callBody, mockModel } from './mock-models.js'

/** How to address a server: where its endpoint is and what it wants to be told. */
export interface CallTarget {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

export const API_KEY = 'sk-bench-key-of-the-load-side-0000000000'
export const MANAGEMENT_KEY = 'sk-bench-management-key-0000000000000000'
/** Settings under which a server knows both keys. */
export const ADMIN_ENVIRONMENT = { SLUICE_API_KEY: API_KEY, SLUICE_MANAGEMENT_KEY: MANAGEMENT_KEY }

/** Sluice itself, with the key the bench gave it. */
export const SLUICE_CHAT: CallTarget = {
  path: '/api/v1/chat/completions',
  headers: { Authorization: `Bearer ${API_KEY}` },
}

/** Our messages endpoint. */
export const SLUICE_MESSAGES: CallTarget = { ...SLUICE_CHAT, path: '/api/v1/messages' }

/** The mock and the bare relay, which want nothing. */
export const BARE_TARGET: CallTarget = { path: '/v1/chat/completions', headers: {} }

/** The same endpoint under another key. */
export function chatWithKey(key: string): CallTarget {
  return { ...SLUICE_CHAT, headers: { Authorization: `Bearer ${key}` } }
}

/** One call as the load tools take it, with what its answer has to hold. */
export function callSpec(to: CallTarget, model: string, tag = ''): RequestSpec {
  return {
    method: 'POST',
    route: to.path,
    path: to.path,
    headers: to.headers,
    body: callBody(model, tag),
    answer: bodyCheckOf(model),
  }
}

/** A whole call of ours that carries so many functions of its caller, as an agent's does. */
export function toolCallSpec(functions: number): RequestSpec {
  const plain = callSpec(SLUICE_CHAT, 'bench/json')
  const text = (says: string) => ({ type: 'string', description: says })
  const tools = Array.from({ length: functions }, (_, index) => ({
    type: 'function',
    function: {
      name: `look_up_${index}`,
      description: `Looks up entry ${index} of the register and tells what it holds.`,
      parameters: {
        type: 'object',
        properties: {
          query: text('What to look for, in plain words.'),
          limit: { type: 'integer', minimum: 1, maximum: 100 },
          order: { type: 'string', enum: ['newest', 'oldest', 'best'] },
        },
        required: ['query'],
        additionalProperties: false,
      },
    },
  }))
  return { ...plain, body: JSON.stringify({ ...JSON.parse(plain.body!), tools, tool_choice: 'auto' }) }
}

/** One call in the messages format. `model` is one of the mock, or one of `messages/` that stands for it. */
export function messagesSpec(model: string): RequestSpec {
  const plan = model.replace(/^messages\//, 'bench/')
  const tokens = mockModel(plan)?.tokens ?? 0
  // The first words of the content, the reason of the end and the usage: its begin, its middle and its end.
  const includes = ['"The words of the benchmark', '"end_turn"', '"output_tokens"']
  return {
    method: 'POST',
    route: SLUICE_MESSAGES.path,
    path: SLUICE_MESSAGES.path,
    headers: SLUICE_MESSAGES.headers,
    body: JSON.stringify({ ...JSON.parse(callBody(plan)), model, max_tokens: 4096 }),
    answer:
      tokens > 0
        ? { kind: 'stream', tokens, format: 'messages' }
        : { kind: 'text', includes, leastBytes: 300 },
  }
}

/** The bytes of one call over a kept connection. */
export function callBytes(to: CallTarget, model: string, tag = ''): Buffer {
  return requestBytes(callSpec(to, model, tag))
}

function bodyCheckOf(model: string): BodyCheck {
  const plan = mockModel(model)
  if (plan !== null && plan.tokens > 0) return { kind: 'stream', tokens: plan.tokens }
  // The first words of the content, the finish reason and the usage: its begin, its middle and its end.
  const includes = ['"The words of the benchmark', '"stop"', '"total_tokens"']
  return { kind: 'text', includes, leastBytes: 300 }
}
