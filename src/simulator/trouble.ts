import type { ProviderFailure } from '../gateway/providers/port/provider.js'
import type { Answer } from './answer/script.js'
import type { SimulatedFault } from './behaviour.js'
import { type FailureName, providerFailure } from './provider-failures.js'

/** The failure that ends a call, and when. */
interface Trouble {
  /** Steps that still go out. With infinitely many it comes in the place of the end. */
  readonly after: number
  /** Silence before the failure in milliseconds; null for none beyond the wait for the next step. */
  readonly waitMs: number | null
  readonly failure: ProviderFailure
}

/** What a fault makes of one call: how it fails, if it does, and when its first token comes, if not as usual. */
export interface Course {
  readonly trouble: Trouble | null
  readonly firstTokenMs: number | null
}

const FAIR: Course = { trouble: null, firstTokenMs: null }

/**
 * The course of one call under a fault. `calls` counts the calls of the endpoint in this worker, from 0; only a
 * flap looks at it. Everything else depends on the request alone.
 */
export function courseOf(
  fault: SimulatedFault | null,
  answer: Answer,
  calls: number,
  providerName: string,
): Course {
  if (fault === null) return FAIR
  const fails = (name: FailureName, after: number, waitMs: number | null, retryAfter?: number): Course => {
    const failure = providerFailure(name, providerName, retryAfter)
    return { trouble: { after, waitMs, failure }, firstTokenMs: null }
  }
  switch (fault.kind) {
    case 'rate-limited':
      return fails('rate-limited', 0, 0, fault.retry_after)
    case 'error':
    case 'refused':
    case 'reset':
    case 'context-length':
      return fails(fault.kind, 0, 0)
    case 'flap':
      return calls % 2 === 0 ? fails('unavailable', 0, 0) : FAIR
    case 'overloaded':
      return overloaded(answer, fault.share) ? fails(overloadName(answer), 0, 0) : FAIR
    case 'silence':
      return fails('silence', 0, fault.limit_ms)
    case 'slow-first-token':
      return slow(fault.delay_ms, fault.limit_ms, () => fails('silence', 0, fault.limit_ms ?? 0))
    case 'cut':
    case 'malformed':
      return fails(fault.kind, fault.after, null)
    case 'stall':
      return fails('stall', fault.after, fault.limit_ms)
    case 'no-terminator':
      return fails('no-terminator', Number.POSITIVE_INFINITY, null)
    case 'content-filter':
      return FAIR
  }
}

function slow(delayMs: number, limitMs: number | undefined, late: () => Course): Course {
  return limitMs !== undefined && delayMs >= limitMs ? late() : { trouble: null, firstTokenMs: delayMs }
}

/** The same request is always on the same side of the share. */
function overloaded(answer: Answer, share: number): boolean {
  return (answer.seed.low >>> 0) / 2 ** 32 < share
}

function overloadName(answer: Answer): FailureName {
  return (answer.seed.high & 1) === 0 ? 'unavailable' : 'overloaded'
}
