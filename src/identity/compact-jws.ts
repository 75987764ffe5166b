/** The compact form of a signed token (RFC 7515 section 7.1), read strictly: every character of it matters. */

/** Longest token that is looked at (contract/decisions 14). */
export const LONGEST_TOKEN = 16_384

export interface CompactJws {
  readonly header: Buffer
  readonly payload: Buffer
  readonly signature: Buffer
  /** What the signature is over: the first two parts as they came. */
  readonly signed: string
}

const THREE_PARTS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/

/** Whether a text has the shape: at most 16,384 characters, three parts of the url-safe alphabet, none empty. */
export function looksCompact(token: string): boolean {
  return token.length <= LONGEST_TOKEN && THREE_PARTS.test(token)
}

/** The decoded parts of a text that `looksCompact`; null when one is not the one encoding of its bytes. */
export function decodeCompact(token: string): CompactJws | null {
  const first = token.indexOf('.')
  const second = token.indexOf('.', first + 1)
  const header = decodeBase64url(token.slice(0, first))
  const payload = decodeBase64url(token.slice(first + 1, second))
  const signature = decodeBase64url(token.slice(second + 1))
  if (header === null || payload === null || signature === null) return null
  return { header, payload, signature, signed: token.slice(0, second) }
}

/** Characters at the end of a text that leave none of their bits over, when it is two or three beyond a multiple of four. */
const LAST_OF_TWO = 'AQgw'
const LAST_OF_THREE = 'AEIMQUYcgkosw048'

/**
 * Bytes of a text in the url-safe alphabet (RFC 4648 section 5); null when it is not the one encoding of them: a length
 * that no bytes have, or bits at the end that do not count (section 3.5).
 */
function decodeBase64url(text: string): Buffer | null {
  const beyond = text.length % 4
  const last = text.at(-1)!
  if (beyond === 1) return null
  if (beyond === 2 && !LAST_OF_TWO.includes(last)) return null
  if (beyond === 3 && !LAST_OF_THREE.includes(last)) return null
  return Buffer.from(text, 'base64url')
}
