import { pbkdf2Sync } from 'node:crypto'
import type { TaskInput, TaskOutcome } from './tasks.js'

const KEY_BYTES = 32

/** PBKDF2-HMAC-SHA-256 over the UTF-8 bytes of `data` (RFC 8018 section 5.2); 32 bytes, lower-case hex. */
export function pbkdf2(input: TaskInput<'pbkdf2'>): TaskOutcome<'pbkdf2'> {
  const begun = performance.now()
  const key = pbkdf2Sync(input.data, input.salt, input.rounds, KEY_BYTES, 'sha256')
  return { ok: true, value: { hash: key.toString('hex'), elapsedMs: performance.now() - begun } }
}
