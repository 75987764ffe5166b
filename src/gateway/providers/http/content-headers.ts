/** What the headers of an answer say of its body. */
import type { ResponseHeaders } from '../port/failure.js'

/** In lower case; `''` where there is none. */
export function contentCodingOf(headers: ResponseHeaders): string {
  const header = headers['content-encoding']
  if (header === undefined) return ''
  const coding = String(header).trim().toLowerCase()
  return coding === 'identity' ? '' : coding
}

/** Media type without parameters, lower case; `''` when there is none. */
export function mediaTypeOf(headers: ResponseHeaders): string {
  const header = headers['content-type']
  if (header === 'application/json') return header
  const text = (Array.isArray(header) ? header[0] : header) ?? ''
  return text.split(';', 1)[0]!.trim().toLowerCase()
}

export function isJsonType(type: string): boolean {
  return type === 'application/json' || (type.startsWith('application/') && type.endsWith('+json'))
}
