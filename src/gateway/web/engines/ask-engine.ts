/** One question to a search engine that the operator has configured: JSON over HTTP, bounded. */

import { BoundedTextBody, contentLengthOf } from '../../../upstream/body-text.js'
import type { UpstreamClient, UpstreamFailure } from '../../../upstream/port.js'
import { countJsonValues, type JsonObject, parseJson } from '../../formats/json-values.js'
import type { WebCall } from '../port.js'

export interface EngineQuestion {
  readonly method: 'GET' | 'POST'
  /** Where the engine is, without a slash at its end. */
  readonly baseUrl: string
  /** Path and query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: JsonObject
}

/** `error` goes on from the name of the engine: "answers with status 500". */
export type EngineReply =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: string; readonly status: number | null }

export type AskEngine = (question: EngineQuestion, call: WebCall) => Promise<EngineReply>

const MOST_BYTES = 4 * 1024 * 1024
const MOST_VALUES = 100_000
const PHASE_MS = 20_000
const LIMITS = { connections: 64, keepAliveMs: 10_000 }

/** Never rejects. `upstream` needs no address guard: who searches does not choose the address. */
export function engineAsker(upstream: UpstreamClient): AskEngine {
  return (question, call) => new Promise((resolve) => ask(upstream, question, call, resolve))
}

function ask(
  upstream: UpstreamClient,
  { method, baseUrl, path, headers, body }: EngineQuestion,
  { organizationId, signal, deadlineAt }: WebCall,
  resolve: (reply: EngineReply) => void,
): void {
  const text = body === undefined ? null : JSON.stringify(body)
  const fail = (error: string, status: number | null = null): void => {
    upstreamCall.cancel()
    resolve({ ok: false, error, status })
  }
  let answer = new BoundedTextBody(MOST_BYTES, -1)
  const url = new URL(baseUrl + path)
  const request = {
    method,
    origin: url.origin,
    path: url.pathname + url.search,
    headers: headerList(headers, text),
    body: text,
    timeouts: phases(),
    limits: LIMITS,
    caller: organizationId,
    deadlineAt,
    repeatable: true,
  } as const
  const upstreamCall = upstream.call(request, {
    onHead: (status, head) => {
      if (status !== 200) fail(`answers with status ${status}`, status)
      else if ((head['content-encoding'] ?? 'identity') !== 'identity') fail('sends a compressed answer')
      else answer = new BoundedTextBody(MOST_BYTES, contentLengthOf(head))
    },
    onData: (chunk) => {
      if (!answer.push(chunk)) fail(`sends more than ${MOST_BYTES} bytes`)
    },
    onEnd: () => resolve(parsed(answer.text())),
    onFailure: (failure) => resolve({ ok: false, error: failureWords(failure), status: null }),
  })
  if (signal.aborted) fail('was not waited for')
  else signal.addEventListener('abort', () => fail('was not waited for'), { once: true })
}

function headerList(headers: Readonly<Record<string, string>>, body: string | null): readonly string[] {
  const all = {
    Accept: 'application/json',
    'Accept-Encoding': 'identity',
    'User-Agent': 'sluice',
    ...(body !== null && { 'Content-Type': 'application/json' }),
    ...headers,
  }
  return Object.entries(all).flat()
}

function phases() {
  const ms = PHASE_MS
  return { connectMs: ms, headersMs: ms, firstTokenMs: ms, idleMs: ms, totalMs: ms }
}

function parsed(text: string): EngineReply {
  const value = countJsonValues(text, MOST_VALUES) > MOST_VALUES ? undefined : parseJson(text)
  if (value === undefined) return { ok: false, error: 'sends no JSON that can be read', status: 200 }
  return { ok: true, value }
}

function failureWords({ reason }: UpstreamFailure): string {
  return reason === 'timeout' ? 'does not answer in time' : 'cannot be reached'
}
