/** One case of the transport suite: a request, what the caller sees, what the ledger hears. */

export interface CarriedRequest {
  readonly method: string
  readonly url: string
  /** Lines, in order, repeats allowed. `Host` is added unless `host` is null, `Content-Length` for a body without framing. */
  readonly headers?: readonly string[]
  readonly host?: null
  readonly body?: string | Uint8Array
  /** The body goes out in chunks and the coding is declared. */
  readonly chunked?: true
}

export interface Case {
  /** A sentence about behaviour. */
  readonly name: string
  readonly request: CarriedRequest
  /** The transport was told that a strict proxy stands in front. */
  readonly strictProxy?: true
  readonly status: number
  /** The exact body. */
  readonly body?: string | Uint8Array
  /** Members the JSON body has. */
  readonly sees?: Readonly<Record<string, unknown>>
  /** Headers the reply has; null for those it must not have. */
  readonly headers?: Readonly<Record<string, string | null>>
  /** The server announces the close and closes; otherwise the connection serves on. */
  readonly close?: true
  /** What the ledger hears; `aborted` is false everywhere in this table. */
  readonly bytesIn?: number
  readonly bytesOut?: number
  /** uWS says it with a page of its own, after it has called the handler, or before and so not counted. */
  readonly ownPage?: 'counted' | 'uncounted'
}

type Headers = readonly string[]

export const get = (url: string, ...headers: Headers): CarriedRequest => ({ method: 'GET', url, headers })
export const head = (url: string): CarriedRequest => ({ method: 'HEAD', url })
/** A POST with a body. */
export const post = (url: string, body: string | Uint8Array, ...headers: Headers): CarriedRequest => ({
  method: 'POST',
  url,
  body,
  headers,
})
/** The same in chunks. */
export const postChunked = (url: string, body: string): CarriedRequest => ({
  ...post(url, body),
  chunked: true,
})
/** A text of so many bytes. */
export const filled = (bytes: number): string => 'x'.repeat(bytes)
/** Three hundred kilobytes in which neighbours differ. */
export const BIG_BYTES = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, i) => (i * 7) & 255))

/** A request with this status; what else is known of its answer stands in `more`. */
export function answered(
  name: string,
  request: CarriedRequest,
  status: number,
  more: Omit<Case, 'name' | 'request' | 'status'> = {},
): Case {
  return { name, request, status, ...more }
}
