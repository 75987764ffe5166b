/** Tokens of directory connections. A token itself is shown once and never kept. */
import { hash, randomBytes } from 'node:crypto'
import { newUuidV7 } from '../base/ids.js'
import { CONNECTION_TOKEN_PREFIX } from '../base/principal.js'
import type { ConnectionToken } from '../store/directory-store.js'

const SECRET_BYTES = 32
/** Characters of each end by which people tell tokens apart. */
const SHOWN = 3

/** A new token and its record. `now` and `expiresAt` are Unix times in milliseconds. */
export function createConnectionToken(
  now: number,
  expiresAt: number | null,
): { readonly token: string; readonly record: ConnectionToken } {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  const token = CONNECTION_TOKEN_PREFIX + secret
  const label = `${CONNECTION_TOKEN_PREFIX}${secret.slice(0, SHOWN)}...${secret.slice(-SHOWN)}`
  const record = { id: newUuidV7(now), hash: hash('sha256', token, 'hex'), label, createdAt: now, expiresAt }
  return { token, record }
}
