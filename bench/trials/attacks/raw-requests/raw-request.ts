/**
 * A request as bytes, and what is right for a server to do with it (RFC 9112; contract/decisions 21 and 47). The bytes
 * hold two marks: the name of the item that the request itself would create, and that of the item which a request
 * behind it would. Both are replaced, byte for byte, by names of their own for each connection, so that the list of
 * items tells afterwards what was run.
 */

/** What the request itself creates when it is run. */
export const OWN_MARK = 'raw-own-000000000000'
/** What a request behind it, or hidden in it, creates when it is run. */
export const BEHIND_MARK = 'raw-behind-000000000'

export interface RawRequest {
  /** `group/what`, unique. */
  readonly name: string
  /** Latin-1 text. */
  readonly bytes: string
  /** Offsets at which it is cut into packets; whole without any. */
  readonly cuts?: readonly number[]
  /**
   * `refused`: an error, the connection ends, and nothing of it or behind it is run. `served`: answered with `status`.
   * `either`: RFC 9112 leaves it open.
   */
  readonly right: 'refused' | 'served' | 'either'
  /** The status of our server, refusal or not. */
  readonly status: number
  /** The request is well framed, so whoever stands in front may pass on what is behind it. */
  readonly wellFramed?: true
  /** Served, and the connection ends behind the answer: nothing behind it is run. */
  readonly last?: true
  /** Answers have no body, whatever they say. */
  readonly head?: true
}

const ITEMS = '/api/v1/items'
/** A body that is right, unless it is said otherwise. */
export const BODY = JSON.stringify({ name: OWN_MARK })

const HOST = 'Host: raw.example'
const JSON_TYPE = 'Content-Type: application/json'

/** A message of a start line, fields, and what follows the empty line. */
export function message(start: string, fields: readonly string[], body = ''): string {
  return `${[start, ...fields].join('\r\n')}\r\n\r\n${body}`
}

/** `POST /api/v1/items` with these fields and this body; no length is added. */
export function post(fields: readonly string[], body = BODY): string {
  return message(`POST ${ITEMS} HTTP/1.1`, [HOST, JSON_TYPE, ...fields], body)
}

/** `GET /api/v1/items` with these fields. */
export function get(fields: readonly string[] = [], body = ''): string {
  return message(`GET ${ITEMS} HTTP/1.1`, [HOST, ...fields], body)
}

/** A well-formed request that creates an item of the given name. */
function creating(name: string): string {
  const body = JSON.stringify({ name })
  return post([`Content-Length: ${body.length}`], body)
}

/** What stands behind a request, or is hidden in one. */
export const BEHIND = creating(BEHIND_MARK)

export const LENGTH = `Content-Length: ${BODY.length}`
export const CHUNKED = 'Transfer-Encoding: chunked'

/** One chunk. */
export function chunk(data: string, size = data.length.toString(16)): string {
  return `${size}\r\n${data}\r\n`
}
export const LAST_CHUNK = '0\r\n\r\n'
/** The right body in one chunk. */
export const CHUNKS = `${chunk(BODY)}${LAST_CHUNK}`

type Bytes = Readonly<Record<string, string>>
type Rest = Omit<RawRequest, 'name' | 'bytes'>

/** Rows of one group that share what is right. */
export function rows(group: string, rest: Rest, bytes: Bytes): RawRequest[] {
  return Object.entries(bytes).map(([what, text]) => ({ name: `${group}/${what}`, bytes: text, ...rest }))
}

export const REFUSED: Rest = { right: 'refused', status: 400 }
/** Refused by what the fields say, while the end of the message is beyond doubt. */
export const REFUSED_BUT_FRAMED: Rest = { ...REFUSED, wellFramed: true }
export const CREATED: Rest = { right: 'served', status: 201 }
export const READ: Rest = { right: 'served', status: 200 }
/** A body in chunks is the last one of its connection. */
export const CREATED_LAST: Rest = { ...CREATED, last: true }
