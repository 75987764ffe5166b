/** Turns the bytes of a body into an unknown value, by media type. */
import { isAscii, isUtf8, transcode } from 'node:buffer'
import { ValidationIssue } from '../base/fault.js'

const BODY = ['body'] as const
const JSON_MEDIA_TYPE = /^application\/json$|\+json$/

/** `application/json; charset=utf-8` is `application/json`; an undeclared type is taken for JSON. */
function isJson(contentType: string): boolean {
  if (contentType === 'application/json' || contentType === '') return true
  const end = contentType.indexOf(';')
  const essence = (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase()
  return JSON_MEDIA_TYPE.test(essence)
}

/**
 * Parses a JSON body. An issue instead of a value when there is none (`missing`), when it is declared as
 * something else (`object`), or when it is no JSON in UTF-8 (`json`, with the byte offset where it is known).
 * A byte order mark is no JSON (RFC 8259 section 8.1).
 */
export function parseJsonBody(body: Uint8Array, contentType: string): unknown {
  if (body.byteLength === 0) return new ValidationIssue(BODY, 'missing')
  if (!isJson(contentType))
    return new ValidationIssue(BODY, 'object', undefined, 'must be sent as application/json')
  const text = decodeUtf8(body)
  if (text === null) return new ValidationIssue(['body', 0], 'json')
  try {
    return JSON.parse(text)
  } catch (error) {
    return new ValidationIssue(['body', jsonErrorOffset(error, text)], 'json')
  }
}

/** From here on the detour over UTF-16 pays, and up to there its second copy does not hurt. */
const TRANSCODED = { from: 16 * 1024, to: 4 * 1024 * 1024 }

/** The text of UTF-8; null for anything else. Prompts are long: the engine's own decoder takes twice the time. */
function decodeUtf8(body: Uint8Array): string | null {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  if (isAscii(bytes)) return bytes.toString('latin1')
  if (!isUtf8(bytes)) return null
  const { length } = bytes
  if (length < TRANSCODED.from || length > TRANSCODED.to) return bytes.toString()
  return transcode(bytes, 'utf8', 'utf16le').toString('utf16le')
}

/**
 * The engine names a character position at the end of most of its messages; the contract counts bytes. Other
 * messages quote the caller's text, which may say anything, so only the end counts.
 */
function jsonErrorOffset(error: unknown, text: string): number {
  const message = error instanceof Error ? error.message : ''
  if (message === 'Unexpected end of JSON input') return Buffer.byteLength(text)
  const position = / in JSON at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(message)
  return position === null ? 0 : Buffer.byteLength(text.slice(0, Number(position[1])))
}
