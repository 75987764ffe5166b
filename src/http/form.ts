/**
 * Bodies of `application/x-www-form-urlencoded`, read strictly (RFC 6749 sections 3.2 and 4.1, appendix B): what one
 * reader might take for something else than another is refused.
 */
import { isUtf8 } from 'node:buffer'
import { ValidationIssue } from '../base/fault.js'

/** Fields an operation knows, by name; those that are absent or empty are missing. */
type UrlEncodedFields = Readonly<Record<string, string | undefined>>

const BODY = ['body'] as const
const FORM_TYPE = 'application/x-www-form-urlencoded'
const UTF_8 = /^charset="?utf-?8"?$/i

/** A field with an empty value counts as omitted, an unknown field as nothing; a known one may come once. */
export function parseForm(
  body: Uint8Array,
  contentType: string,
  known: readonly string[],
): UrlEncodedFields | ValidationIssue {
  if (!isForm(contentType))
    return new ValidationIssue(BODY, 'object', undefined, `must be sent as ${FORM_TYPE}`)
  if (!isUtf8(body)) return new ValidationIssue(BODY, 'other', undefined, 'must be UTF-8')
  const found: Record<string, string> = Object.create(null)
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString()
  for (const pair of text.split('&')) {
    const equals = pair.indexOf('=')
    const name = decodeFormText(equals < 0 ? pair : pair.slice(0, equals))
    const value = equals < 0 ? '' : decodeFormText(pair.slice(equals + 1))
    if (name === null || value === null)
      return new ValidationIssue(BODY, 'other', undefined, 'must be well encoded')
    if (!known.includes(name)) continue
    if (found[name] !== undefined)
      return new ValidationIssue(['body', name], 'other', undefined, 'must come once')
    found[name] = value
  }
  for (const name in found) if (found[name] === '') delete found[name]
  return found
}

/** A form is taken as UTF-8; one that says it is something else is not guessed at. */
function isForm(contentType: string): boolean {
  if (contentType === FORM_TYPE) return true
  const [essence = '', ...parameters] = contentType.split(';').map((part) => part.trim())
  if (essence.toLowerCase() !== FORM_TYPE) return false
  return parameters.every((each) => !/^charset=/i.test(each) || UTF_8.test(each))
}

/** Null for a percent sign that encodes nothing, and for bytes that are no UTF-8. */
function decodeFormText(raw: string): string | null {
  const spaced = raw.includes('+') ? raw.replaceAll('+', ' ') : raw
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    return null
  }
}
