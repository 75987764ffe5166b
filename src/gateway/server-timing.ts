/** Where the time of an answer went, as a `Server-Timing` header (W3C Server Timing): milliseconds per phase. */
import type { RoutedRequest } from './canonical.js'
import type { Generation } from './generation.js'

/**
 * `auth` is everything before the plan: credential, body, validation; `plan` the choice of endpoints; `admit` limits and credit; `queue` and `connect`
 * the waits for a connection, of the attempt that serves; `first` from the sent request to the first of the answer;
 * `failed` the attempts before it; `overhead` what is ours of it all.
 */
export function serverTiming(generation: Generation<RoutedRequest>, now: number): string {
  const { startedAt, decodedAt, plannedAt, admittedAt, attempts, served, firstEventAt } = generation
  const serving = served === null ? null : attempts.at(-1)!
  const { queueMs, connectMs } = serving?.waits ?? { queueMs: 0, connectMs: 0 }
  const failed = attempts.reduce(
    (sum, each) => (each === serving ? sum : sum + each.endedAt - each.startedAt),
    0,
  )
  const answeredAt = firstEventAt > 0 ? firstEventAt : (serving?.endedAt ?? now)
  const first = serving === null ? 0 : answeredAt - serving.startedAt - queueMs - connectMs
  const phases = {
    auth: decodedAt - startedAt,
    plan: plannedAt - decodedAt,
    admit: admittedAt - plannedAt,
    queue: queueMs,
    connect: connectMs,
    first,
    failed,
    total: now - startedAt,
    overhead: now - startedAt - queueMs - connectMs - first - failed,
  }
  return Object.entries(phases)
    .map(([name, ms]) => `${name};dur=${Math.max(0, ms).toFixed(3)}`)
    .join(', ')
}
