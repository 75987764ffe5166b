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
  const [header, payload, signature] = token.split('.').map(decodeCanonical)
  return header && payload && signature ? { header, payload } : null
}

/**
 * The bytes of a text in the url-safe alphabet; null when it is not their one encoding (RFC 4648 section 3.5): bits at
 * the end that do not count, or a length that no bytes have. `jose` takes those.
 */
function decodeCanonical(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : null
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
