/** The compact form of a signed token (RFC 7515 section 7.1), read strictly: every character of it matters. */
import { type CryptoKey, compactVerify, errors, type JWK } from 'jose'

/** Longest token that is looked at (contract/decisions 14). */
export const LONGEST_TOKEN = 16_384

interface CompactJws {
  readonly header: Buffer
  readonly payload: Buffer
}

const THREE_PARTS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/

/** Whether a text has the shape: at most 16,384 characters, three parts of the url-safe alphabet, none empty. */
export function isCompactJws(token: string): boolean {
  return token.length <= LONGEST_TOKEN && THREE_PARTS.test(token)
}

/**
 * Header and payload of a text that `isCompactJws`; null when one of the three parts is not the one encoding of its
 * bytes. The signature has not been looked at.
 */
export function decodeCompactJws(token: string): CompactJws | null {
  const first = token.indexOf('.')
  const second = token.indexOf('.', first + 1)
  const header = token.slice(0, first)
  const payload = token.slice(first + 1, second)
  if (
    !isCanonicalBase64url(header) ||
    !isCanonicalBase64url(payload) ||
    !isCanonicalBase64url(token.slice(second + 1))
  )
    return null
  return { header: Buffer.from(header, 'base64url'), payload: Buffer.from(payload, 'base64url') }
}

/** Characters at the end of a text that leave none of their bits over, when it is two or three beyond a multiple of four. */
const LAST_OF_TWO = 'AQgw'
const LAST_OF_THREE = 'AEIMQUYcgkosw048'

/**
 * Whether a text in the url-safe alphabet (RFC 4648 section 5) is the one encoding of its bytes: no length that no bytes
 * have, and no bits at the end that do not count (section 3.5). `jose` takes those.
 */
function isCanonicalBase64url(text: string): boolean {
  const beyond = text.length % 4
  const last = text.at(-1)!
  if (beyond === 2) return LAST_OF_TWO.includes(last)
  if (beyond === 3) return LAST_OF_THREE.includes(last)
  return beyond === 0
}

/**
 * Whether a key has signed a token that `decodeCompactJws` has read. The key belongs to one algorithm, and the token's has
 * to be that one: the caller makes sure of it. `jose` imports a JWK once, for as long as the object is kept.
 */
export async function isJwsSignedWith(token: string, key: CryptoKey | JWK): Promise<boolean> {
  try {
    await compactVerify(token, key)
    return true
  } catch (error) {
    if (error instanceof errors.JOSEError) return false
    throw error
  }
}
