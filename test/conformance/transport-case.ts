/** One case of the transport suite: a request, what the caller sees, what the ledger hears. */

export interface CarriedRequest {
  readonly method: string
  readonly url: string
  /** In order, repeats allowed. `Host` is added unless `host` is null, `Content-Length` for a body without framing. */
  readonly headers?: readonly (readonly [name: string, value: string])[]
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
  readonly allowChunked?: true
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
}

/** A GET. */
export const get = (url: string, headers: CarriedRequest['headers'] = []): CarriedRequest => ({
  method: 'GET',
  url,
  headers,
})
/** A HEAD. */
export const head = (url: string, headers: CarriedRequest['headers'] = []): CarriedRequest => ({
  method: 'HEAD',
  url,
  headers,
})
/** A POST with a body. */
export const post = (
  url: string,
  body: string | Uint8Array,
  headers: CarriedRequest['headers'] = [],
): CarriedRequest => ({ method: 'POST', url, body, headers })
/** A text of so many bytes. */
export const filled = (bytes: number): string => 'x'.repeat(bytes)

/** A request with this status; what else is known of its answer stands in `more`. */
export function answered(
  name: string,
  request: CarriedRequest,
  status: number,
  more: Omit<Case, 'name' | 'request' | 'status'> = {},
): Case {
  return { name, request, status, ...more }
}
