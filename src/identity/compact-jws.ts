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
  const isCanonical =
    isOneEncoding(token, 0, first) &&
    isOneEncoding(token, first + 1, second) &&
    isOneEncoding(token, second + 1, token.length)
  if (!isCanonical) return null
  const header = Buffer.from(token.slice(0, first), 'base64url')
  return { header, payload: Buffer.from(token.slice(first + 1, second), 'base64url') }
}

/** What may stand last where two characters are left over, which is one byte: its four lowest bits count for nothing. */
const LAST_OF_TWO = 'AQgw'
/** Where three are left over, two bytes: the two lowest bits. */
const LAST_OF_THREE = 'AEIMQUYcgkosw048'

/**
 * Whether a part in the url-safe alphabet is the one encoding of its bytes (RFC 4648 section 3.5): no bits at the end
 * that do not count, no length that no bytes have. `jose` takes those.
 */
function isOneEncoding(token: string, start: number, end: number): boolean {
  switch ((end - start) % 4) {
    case 0:
      return true
    case 2:
      return LAST_OF_TWO.includes(token[end - 1]!)
    case 3:
      return LAST_OF_THREE.includes(token[end - 1]!)
    default:
      return false
  }
}

/**
 * Whether a key has signed a token that `decodeCompactJws` has read. The key belongs to one algorithm, and the
 * token's has to be that one: the caller makes sure of it. `jose` imports a JWK once, for as long as the object is
 * kept.
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
