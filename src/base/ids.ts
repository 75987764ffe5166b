import { randomBytes } from 'node:crypto'

/** An id for one request in the log: 96 random bits, url-safe. Not a secret and not time-ordered. */
export function requestId(): string {
  return `req-${randomBytes(12).toString('base64url')}`
}
