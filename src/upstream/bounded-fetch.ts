/** Calls of a library that brings no client of its own, in the form of `fetch`: small texts, within a time. */
import { BoundedTextBody, contentLengthOf } from './body-text.js'
import { failureSentence } from './fetch-json.js'
import type { ConnectionPoolLimits, UpstreamClient } from './port.js'

/** What such a library asks for; a part of what `fetch` takes. */
interface BoundedFetchOptions {
  readonly method?: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** The error where there is no whole answer, with a sentence for the log. */
class FetchFailed extends Error {
  readonly code = 'SLUICE_FETCH_FAILED'
}

/** Rejects with `FetchFailed`. */
type BoundedFetch = (url: string, options: BoundedFetchOptions) => Promise<Response>

/**
 * Redirects are answers as any other. `upstream` should be a client of its own, with an address guard.
 * @param totalMs of one call
 */
export function boundedFetcher(
  upstream: UpstreamClient,
  limits: ConnectionPoolLimits,
  totalMs: number,
  maxBytes: number,
): BoundedFetch {
  const timeouts = {
    connectMs: totalMs,
    headersMs: totalMs,
    firstTokenMs: totalMs,
    idleMs: totalMs,
    totalMs,
  }
  return (url, { method, headers, body }) =>
    new Promise((resolve, reject) => {
      const { origin, pathname, search } = new URL(url)
      let head = { status: 0, type: '' }
      let text = new BoundedTextBody(maxBytes, -1)
      const refuse = (reason: string): void => {
        call.cancel()
        reject(new FetchFailed(reason))
      }
      const request = {
        method: method === 'POST' ? 'POST' : 'GET',
        origin,
        path: pathname + search,
        headers: Object.entries({ ...headers, 'accept-encoding': 'identity', 'user-agent': 'sluice' }).flat(),
        body: body === undefined || body === null ? null : String(body),
        timeouts,
        limits,
        caller: '',
        deadlineAt: Number.POSITIVE_INFINITY,
        repeatable: true,
      } as const
      const call = upstream.call(request, {
        onHead: (status, told) => {
          head = { status, type: String(told['content-type'] ?? '') }
          const coding = told['content-encoding'] ?? 'identity'
          if (coding !== 'identity') refuse('the answer is compressed')
          else if (contentLengthOf(told) > maxBytes) refuse(`the answer is larger than ${maxBytes} bytes`)
          text = new BoundedTextBody(maxBytes, contentLengthOf(told))
        },
        onData: (chunk) => {
          if (!text.push(chunk)) refuse(`the answer is larger than ${maxBytes} bytes`)
        },
        onEnd: () => resolve(responseOf(head, text.text())),
        onFailure: (failure) => reject(new FetchFailed(failureSentence(failure))),
      })
    })
}

/** Statuses whose answers have no body (Fetch standard). */
const WITHOUT_BODY = [204, 205, 304]

function responseOf(
  { status, type }: { readonly status: number; readonly type: string },
  text: string,
): Response {
  return new Response(WITHOUT_BODY.includes(status) ? null : text, {
    status,
    ...(type !== '' && { headers: { 'content-type': type } }),
  })
}
