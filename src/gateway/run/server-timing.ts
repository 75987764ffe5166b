/** Where the time of an answer went, as a `Server-Timing` header (W3C Server Timing): milliseconds per phase. */
import type { RoutedRequest } from '../formats/canonical.js'
import type { ConnectionWaits } from '../providers/port/provider.js'
import type { Generation } from './generation.js'

const NO_WAITS: ConnectionWaits = { queueMs: 0, connectMs: 0 }

/**
 * How much of the time until the caller got the first of its answer was ours, in milliseconds; null for a call that has
 * got nothing of a provider.
 */
export function ownTime(generation: Generation<RoutedRequest>): number | null {
  const { startedAt, attempts, served } = generation
  if (served === null) return null
  const serving = attempts.at(-1)!
  let elsewhere = 0
  for (const [at, { startedAt: from }] of attempts.entries()) {
    const next = attempts[at + 1]?.startedAt
    // An attempt that failed, and the pause behind it.
    if (next !== undefined) elsewhere += next - from
  }
  return Math.max(0, serving.startedAt - startedAt - elsewhere + (serving.waits?.preparedMs ?? 0))
}

/**
 * `auth` is everything before the plan: credential, body, validation; `plan` the choice of endpoints; `admit` limits
 * and credit; `queue` and `connect` the waits for a connection, of the attempt that serves; `first` from there to the
 * first of the answer, or to now while none has come; `failed` the attempts before it and `pause` the waits between
 * them; `overhead` what is ours of it all, the fetch of files that are sent along included. From `queue` to `pause` the phases and `overhead` add up to `total`.
 */
export function serverTiming(generation: Generation<RoutedRequest>, now: number): string {
  const { startedAt, decodedAt, plannedAt, admittedAt, attemptedAt } = generation
  const { attempts, served, firstEventAt } = generation
  const serving = served === null ? null : attempts.at(-1)!
  const { queueMs, connectMs, preparedMs = 0 } = serving?.waits ?? NO_WAITS
  const before = serving === null ? attempts.length : attempts.length - 1
  let failed = 0
  let pause = 0
  for (let at = 0; at < before; at++) {
    const { startedAt: from, endedAt: to } = attempts[at]!
    failed += to - from
    const next = attempts[at + 1]?.startedAt ?? attemptedAt
    if (next > to) pause += next - to
  }
  const answeredAt = serving === null ? now : firstEventAt > 0 ? firstEventAt : serving.endedAt
  const begunAt = serving?.startedAt ?? attemptedAt
  // Nothing is under way before the first attempt, nor during a pause.
  const isUnderWay = serving !== null || (begunAt > 0 && begunAt !== attempts.at(-1)?.startedAt)
  const first = isUnderWay ? answeredAt - begunAt - preparedMs - queueMs - connectMs : 0
  const phases = {
    auth: decodedAt - startedAt,
    plan: plannedAt - decodedAt,
    admit: admittedAt - plannedAt,
    queue: queueMs,
    connect: connectMs,
    first,
    failed,
    pause,
    overhead: now - startedAt - queueMs - connectMs - first - failed - pause,
    total: now - startedAt,
  }
  return Object.entries(phases)
    .map(([name, ms]) => `${name};dur=${Math.max(0, ms).toFixed(3)}`)
    .join(', ')
}
