/** What is read of the head of an answer. */
import { type NamesByLength, namesByLength } from '../base/names-by-length.js'

/** The headers anybody decides by; the rest of a head is not even made into text. */
const READ_HEADERS = ['retry-after', 'content-type', 'content-length', 'content-encoding', 'location']

const READ_NAMES: NamesByLength = namesByLength(READ_HEADERS)

/**
 * The headers of a raw head, names and values by turns, that say what the body is, where else it is and when to come
 * again, and those of `more`, which are in lower case. Of a repeated one the first counts.
 */
export function readHeaders(raw: readonly Buffer[], more?: readonly string[]): Record<string, string> {
  const wanted = more === undefined ? READ_NAMES : namesByLength([...READ_HEADERS, ...more])
  const headers: Record<string, string> = {}
  for (let i = 0; i < raw.length; i += 2) {
    const field = raw[i]!
    const names = wanted[field.length]
    if (names === undefined) continue
    for (const name of names) if (isNamed(field, name)) addHeader(headers, name, raw[i + 1]!)
  }
  return headers
}

/** Those of nearly every answer by name: a member that is named by a variable costs a look into a table of shapes. */
function addHeader(headers: Record<string, string>, name: string, value: Buffer): void {
  if (name === 'content-type') headers['content-type'] ??= typeText(value)
  else if (name === 'content-length') headers['content-length'] ??= value.toString('latin1')
  else headers[name] ??= value.toString('latin1')
}

/** Longest type that is remembered. */
const LONGEST_TYPE = 64
let latestType: Buffer = Buffer.alloc(0)
let latestTypeText = ''

/** Answers that follow each other mostly have the same type: to compare its bytes costs less than to make a text of them. */
function typeText(value: Buffer): string {
  if (isSame(value, latestType)) return latestTypeText
  const text = value.toString('latin1')
  if (value.length <= LONGEST_TYPE) {
    latestType = Buffer.from(value)
    latestTypeText = text
  }
  return text
}

function isSame(one: Buffer, other: Buffer): boolean {
  if (one.length !== other.length) return false
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return false
  return true
}

/** Names of fields hold no control characters, so setting the bit of lower case mixes up none of them. */
function isNamed(field: Buffer, name: string): boolean {
  for (let at = 0; at < name.length; at++) if ((field[at]! | 0x20) !== name.charCodeAt(at)) return false
  return true
}
