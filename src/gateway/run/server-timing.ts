/** Where the time of an answer went, as a `Server-Timing` header (W3C Server Timing): milliseconds per phase. */
import type { RoutedRequest } from '../formats/canonical.js'
import type { ConnectionWaits } from '../providers/port/provider.js'
import type { Attempt, Generation } from './generation.js'

const NO_WAITS: ConnectionWaits = { queueMs: 0, connectMs: 0 }

/**
 * How much of the time until the caller got the first of its answer was ours, in milliseconds; null for a call that has
 * got nothing of a provider.
 */
export function ownTime(generation: Generation<RoutedRequest>): number | null {
  const { startedAt, attempts, served } = generation
  if (served === null) return null
  const serving = attempts.at(-1)!
  // From the first attempt on: those that failed, the pauses behind them, and the wait before one was asked beside another.
  const elsewhere = serving.startedAt - firstStartOf(attempts)
  return Math.max(0, serving.startedAt - startedAt - elsewhere + (serving.waits?.preparedMs ?? 0))
}

/** They stand in the order in which they ended. */
function firstStartOf(attempts: readonly Attempt[]): number {
  return attempts.reduce((first, { startedAt }) => Math.min(first, startedAt), Number.POSITIVE_INFINITY)
}

function latestEndOf(attempts: readonly Attempt[]): number {
  return attempts.reduce((latest, { endedAt }) => Math.max(latest, endedAt), 0)
}

/**
 * How long attempts were under way before `until`, each moment counted once, and how long none of them was. One may run
 * beside another.
 */
function timeBefore(attempts: readonly Attempt[], until: number): { failed: number; pause: number } {
  const times = { failed: 0, pause: 0 }
  if (attempts.length === 0) return times
  let at = Math.min(until, firstStartOf(attempts))
  for (const { startedAt, endedAt } of attempts.toSorted((one, other) => one.startedAt - other.startedAt)) {
    const from = Math.min(until, Math.max(at, startedAt))
    times.pause += from - at
    at = Math.max(from, Math.min(until, endedAt))
    times.failed += at - from
  }
  times.pause += Math.max(0, until - at)
  return times
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
  const answeredAt = serving === null ? now : firstEventAt > 0 ? firstEventAt : serving.endedAt
  const begunAt = serving?.startedAt ?? attemptedAt
  // Nothing is under way before the first attempt, nor during a pause.
  const isUnderWay = serving !== null || (begunAt > 0 && begunAt !== attempts.at(-1)?.startedAt)
  const before = serving === null ? attempts : attempts.slice(0, -1)
  const { failed, pause } = timeBefore(before, isUnderWay ? begunAt : latestEndOf(before))
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
