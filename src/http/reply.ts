/** Replies as values. */
import { throwFault } from '../base/fault.js'
import type { HeaderList, Reply, SizedResponseBody } from '../transport/exchange.js'

export const JSON_TYPE = ['Content-Type', 'application/json'] as const
const JSON_HEADERS: HeaderList = Object.freeze([JSON_TYPE])

/** For answers that hold a key, or what a token says: caches on the way must not keep them. */
export const NO_STORE: HeaderList = Object.freeze([['Cache-Control', 'no-store'] as const])

/** Serialises a value. */
export function jsonReply(status: number, value: unknown, headers?: HeaderList): Reply {
  return serializedJsonReply(status, JSON.stringify(value), headers)
}

/** JSON that is serialised already. Borrowed bytes must be answered in the turn they were read in. */
export function serializedJsonReply(status: number, body: string | Uint8Array, headers?: HeaderList): Reply {
  return { status, headers: headers === undefined ? JSON_HEADERS : [JSON_TYPE, ...headers], body }
}

/** A resource as the `data` of an answer. Throws `item-not-found` for null. */
export function resourceReply<T>(resource: T | null, encode: (resource: T) => object, status = 200): Reply {
  return jsonReply(status, { data: encode(resource ?? throwFault('item-not-found')) })
}

/** The answer to a deletion. Throws `item-not-found` when nothing was deleted. */
export function deletedReply(deleted: boolean): Reply {
  return deleted ? jsonReply(200, { deleted: true }) : throwFault('item-not-found')
}

/** 201 with the address of what was created. */
export function createdReply(location: string, body: Uint8Array): Reply {
  return { status: 201, headers: [JSON_TYPE, ['Location', location]], body }
}

const VARY = ['Vary', 'Authorization, Cookie, X-Api-Key'] as const
const PRIVATE = ['Cache-Control', 'private'] as const

/**
 * An answer that may depend on who asks. Caches that many share keep none to a request with `Authorization` of their
 * own accord (RFC 9111 section 3.5), but know nothing of `x-api-key` and of sessions: all are told the same.
 */
export function personalReply(reply: Reply): Reply {
  const told = reply.headers.some(([name]) => name === 'Cache-Control')
  return { ...reply, headers: [...reply.headers, VARY, ...(told ? [] : [PRIVATE])] }
}

const NO_HEADERS: HeaderList = Object.freeze([])
const NO_CONTENT: Reply = Object.freeze({ status: 204, headers: NO_HEADERS, body: null })

/** 204: no body, no content type, no length. */
export function noContentReply(): Reply {
  return NO_CONTENT
}

/** Bytes that stay as they are, as a body: a slow reader costs no copy of them. */
export function keptBytes(bytes: Uint8Array): SizedResponseBody {
  const source = { read: () => Promise.resolve(bytes), close: () => {} }
  return { size: bytes.byteLength, open: () => Promise.resolve(source) }
}

/** A body of a given media type. */
export function bytesReply(
  status: number,
  mediaType: string,
  body: string | Uint8Array | SizedResponseBody,
  headers?: HeaderList,
): Reply {
  return { status, headers: [['Content-Type', mediaType], ...(headers ?? [])], body }
}
