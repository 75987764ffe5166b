import type { ProviderFailure } from '../gateway/providers/port/provider.js'
import type { SimulatedFault } from './behaviour.js'
import { createProviderFailure, type SimulatedFailureName } from './provider-failures.js'
import type { RandomSeed } from './random.js'

/** The failure that ends a call, and when. */
export interface FaultPoint {
  /** Steps that still go out. With infinitely many it comes in the place of the end. */
  readonly afterSteps: number
  /** Silence before the failure in milliseconds; null for none beyond the wait for the next step. */
  readonly waitMs: number | null
  readonly failure: ProviderFailure
}

/** What a fault makes of one call: how it fails, if it does, and when its first token comes, if not as usual. */
export interface FaultSchedule {
  readonly fault: FaultPoint | null
  readonly firstTokenMs: number | null
}

/** A failure that comes before anything else. */
export function failAtOnce(failure: ProviderFailure): FaultPoint {
  return { afterSteps: 0, waitMs: 0, failure }
}

const NO_FAULT: FaultSchedule = { fault: null, firstTokenMs: null }

/**
 * The course of one call under a fault. `calls` counts the calls of the endpoint in this worker, from 0; only a
 * flap looks at it. Everything else depends on the request alone: `seed` is that of its answer, null for an operation
 * without one, which is overloaded whatever the share.
 */
export function scheduleFault(
  fault: SimulatedFault | null,
  seed: RandomSeed | null,
  calls: number,
  providerName: string,
): FaultSchedule {
  if (fault === null) return NO_FAULT
  const fails = (
    name: SimulatedFailureName,
    after: number,
    waitMs: number | null,
    retryAfter?: number,
  ): FaultSchedule => {
    const failure = createProviderFailure(name, providerName, retryAfter)
    return { fault: { afterSteps: after, waitMs, failure }, firstTokenMs: null }
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
      return calls % 2 === 0 ? fails('unavailable', 0, 0) : NO_FAULT
    case 'overloaded':
      return isOverloaded(seed, fault.share) ? fails(overloadFailureName(seed), 0, 0) : NO_FAULT
    case 'silence':
      return fails('silence', 0, fault.limit_ms)
    case 'slow-first-token':
      return delayFirstToken(fault.delay_ms, fault.limit_ms, () => fails('silence', 0, fault.limit_ms ?? 0))
    case 'cut':
    case 'malformed':
      return fails(fault.kind, fault.after, null)
    case 'stall':
      return fails('stall', fault.after, fault.limit_ms)
    case 'no-terminator':
      return fails('no-terminator', Number.POSITIVE_INFINITY, null)
    case 'content-filter':
      return NO_FAULT
  }
}

function delayFirstToken(
  delayMs: number,
  limitMs: number | undefined,
  late: () => FaultSchedule,
): FaultSchedule {
  return limitMs !== undefined && delayMs >= limitMs ? late() : { fault: null, firstTokenMs: delayMs }
}

/** The same request is always on the same side of the share. */
function isOverloaded(seed: RandomSeed | null, share: number): boolean {
  return seed === null || (seed.low >>> 0) / 2 ** 32 < share
}

function overloadFailureName(seed: RandomSeed | null): SimulatedFailureName {
  return seed !== null && (seed.high & 1) === 0 ? 'unavailable' : 'overloaded'
}
