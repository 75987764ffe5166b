/** Calls of a service that the operator has set up, which answers with JSON. */
import { BoundedTextBody, contentLengthOf } from './body-text.js'
import { failureSentence } from './fetch-json.js'
import type { ConnectionPoolLimits, UpstreamClient } from './port.js'

export interface JsonCall {
  /** Absolute; `http` or `https`. */
  readonly url: string
  /** Beside those of the body, names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Sent as JSON with POST; null asks with GET. */
  readonly body: unknown
  /** On whose account it takes a connection: an organization's id. */
  readonly caller: string
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly maxAnswerBytes: number
}

export type JsonAnswer =
  /** `value` is undefined where the answer is no JSON. */
  | { readonly ok: true; readonly status: number; readonly value: unknown }
  /** A sentence without a word of the answer, for the log. */
  | { readonly ok: false; readonly reason: string }

/** Never rejects. */
export type CallJson = (call: JsonCall) => Promise<JsonAnswer>

const LIMITS: ConnectionPoolLimits = { connections: 64, keepAliveMs: 4_000 }
const CONNECT_MS = 5_000

export function jsonCaller(upstream: UpstreamClient): CallJson {
  return (order) => new Promise((resolve) => callOnce(upstream, order, resolve))
}

function callOnce(upstream: UpstreamClient, order: JsonCall, resolve: (answer: JsonAnswer) => void): void {
  const { signal, timeoutMs: ms, maxAnswerBytes, caller } = order
  const { origin, pathname, search } = new URL(order.url)
  let status = 0
  let body: BoundedTextBody | null = null
  const end = (answer: JsonAnswer): void => {
    signal.removeEventListener('abort', leave)
    resolve(answer)
  }
  const refuse = (reason: string): void => {
    call.cancel()
    end({ ok: false, reason })
  }
  const leave = (): void => refuse('the caller has left')
  const call = upstream.call(
    {
      method: order.body === null ? 'GET' : 'POST',
      origin,
      path: pathname + search,
      headers: [
        ...(order.body === null ? [] : ['content-type', 'application/json']),
        ...['accept', 'application/json', 'accept-encoding', 'identity', 'user-agent', 'sluice'],
        ...order.headers.flat(),
      ],
      body: order.body === null ? null : JSON.stringify(order.body),
      timeouts: {
        connectMs: Math.min(CONNECT_MS, ms),
        headersMs: ms,
        firstTokenMs: ms,
        idleMs: ms,
        totalMs: ms,
      },
      limits: LIMITS,
      caller,
      deadlineAt: Number.POSITIVE_INFINITY,
      repeatable: true,
    },
    {
      onHead: (answered, headers) => {
        status = answered
        body = new BoundedTextBody(maxAnswerBytes, contentLengthOf(headers))
      },
      onData: (chunk) => {
        if (body?.push(chunk) === false) refuse('the answer is too large')
      },
      onEnd: () => end({ ok: true, status, value: jsonOf(body?.text() ?? '') }),
      onFailure: (failure) => end({ ok: false, reason: failureSentence(failure) }),
    },
  )
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave)
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
