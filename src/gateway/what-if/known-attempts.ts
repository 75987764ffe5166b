/** How the attempts of a call ended, and what a plan comes to by that. */
import type { LedgerRow, RowAttempt } from '../../store/ledger-store.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import { endpointName, nameOfEndpoint, type PlanAgain } from './plan-again.js'

/**
 * `failed`: before it had answered anything, so that the next one was asked. `broken`: in the middle of its answer,
 * which ended the call. `left`: by the caller. `overtaken`: by another one that was asked as well. The last two say
 * neither that the endpoint answers nor that it does not.
 */
type AttemptEnd = 'answered' | 'failed' | 'broken' | 'left' | 'overtaken'

/** What an attempt came to; from its own begin on, milliseconds. */
export interface KnownAttempt {
  readonly end: AttemptEnd
  readonly firstMs: number
  readonly totalMs: number
}

/** The attempts of a call, by the names of their endpoints; each endpoint once, by the last one it had. */
export function attemptsOf({
  outcome,
  promptTokens,
  completionTokens,
  detail,
}: LedgerRow): ReadonlyMap<string, KnownAttempt> {
  const { attempts } = detail.why
  const hasBegun = outcome !== 'failed' || detail.firstEventMs !== null || promptTokens + completionTokens > 0
  const known = new Map<string, KnownAttempt>()
  /** Of attempts that came one after another; rows of before do not say when each began. */
  let before = 0
  for (const [at, attempt] of attempts.entries()) {
    const end = endOf(attempt, outcome === 'failed', hasBegun && at === detail.attempts - 1)
    const isWhole = end === 'answered' || end === 'broken'
    known.set(endpointName(attempt.provider, attempt.model), {
      end,
      ...(isWhole ? timesFrom(detail, attempt.startMs ?? before) : bothTimes(attempt.durationMs)),
    })
    if (end === 'failed') before += attempt.durationMs
  }
  const unlisted = detail.attempts > attempts.length ? endOfUnlisted(attempts, outcome, detail) : null
  if (unlisted !== null)
    known.set(endpointName(detail.provider, detail.model), { end: unlisted, ...timesFrom(detail, before) })
  return known
}

/**
 * How the last attempt ended where the row does not list it; null where that stands nowhere. A plain row lists nothing:
 * it had one attempt, which answered. A list has an end, and whoever had begun to answer beyond it is named by the row.
 */
function endOfUnlisted(
  listed: readonly RowAttempt[],
  outcome: LedgerRow['outcome'],
  { firstEventMs }: LedgerRow['detail'],
): AttemptEnd | null {
  if (outcome !== 'failed') return 'answered'
  return listed.length > 0 && firstEventMs !== null ? 'broken' : null
}

/** `isFinal`: the last one, and its endpoint had begun to answer. */
function endOf({ fault }: RowAttempt, hasFailed: boolean, isFinal: boolean): AttemptEnd {
  if (fault === null) return 'answered'
  if (fault === 'aborted') return 'left'
  if (fault === 'overtaken') return 'overtaken'
  if (!isFinal) return 'failed'
  // An answer that came whole and says itself that it broke off is told as it is.
  return hasFailed ? 'broken' : 'answered'
}

function timesFrom({ firstEventMs, durationMs }: LedgerRow['detail'], startMs: number) {
  return {
    firstMs: Math.max(0, (firstEventMs ?? durationMs) - startMs),
    totalMs: Math.max(0, durationMs - startMs),
  }
}

const bothTimes = (ms: number) => ({ firstMs: ms, totalMs: ms })

/** Where going down a plan ends, by what the call itself has met. */
export interface KnownEnd {
  /** Whose attempt was the last; null where all have failed. */
  readonly last: { readonly endpoint: ModelEndpoint; readonly attempt: KnownAttempt } | null
  /** Of those that have failed before. */
  readonly elapsedMs: number
  /** It meets all that the call has spent time on, so that the call has gone this way. */
  readonly isWholeWay: boolean
}

/** Null where the call has not met enough to tell. */
export function endOfPlan(
  { endpoints }: PlanAgain,
  known: ReadonlyMap<string, KnownAttempt>,
): KnownEnd | null {
  const met = new Set<string>()
  let elapsedMs = 0
  let isOvertaken = false
  const endWith = (last: KnownEnd['last']): KnownEnd | null => {
    const isWholeWay = [...known].every(([name, { end }]) => met.has(name) || end === 'overtaken')
    // Whether the one that was late would have answered shows only where the same one has overtaken it.
    return isOvertaken && (last === null || !isWholeWay) ? null : { last, elapsedMs, isWholeWay }
  }
  for (const endpoint of endpoints) {
    const name = nameOfEndpoint(endpoint)
    const attempt = known.get(name)
    if (attempt === undefined) return null
    met.add(name)
    if (attempt.end === 'overtaken') isOvertaken = true
    else if (attempt.end === 'failed') elapsedMs += attempt.totalMs
    else return endWith({ endpoint, attempt })
  }
  return endWith(null)
}
