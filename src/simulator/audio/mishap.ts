import type { ProviderFailure } from '../../gateway/providers/port/provider.js'
import type { CompiledBehaviour } from '../compiled-behaviour.js'
import { createProviderFailure, type SimulatedFailureName } from '../provider-failures.js'

/** How a call of a voice or of ears goes wrong. */
export interface Mishap {
  readonly failure: ProviderFailure
  /** Silence before. */
  readonly waitMs: number
  /** Pieces of sound that still go out; ears answer whole, so that for them it is none. */
  readonly after: number
}

/** `calls` counts the calls of the endpoint in this worker, from 0; only a flap looks at it. */
export function mishapOf({ fault }: CompiledBehaviour, calls: number, providerName: string): Mishap | null {
  if (fault === null) return null
  const made = (name: SimulatedFailureName, waitMs = 0, after = 0, retryAfter?: number): Mishap => ({
    failure: createProviderFailure(name, providerName, retryAfter),
    waitMs,
    after,
  })
  switch (fault.kind) {
    case 'rate-limited':
      return made('rate-limited', 0, 0, fault.retry_after)
    case 'error':
    case 'refused':
    case 'reset':
    case 'context-length':
      return made(fault.kind)
    case 'flap':
      return calls % 2 === 0 ? made('unavailable') : null
    case 'overloaded':
      return made('overloaded')
    case 'silence':
      return made('silence', fault.limit_ms)
    case 'slow-first-token': {
      const { delay_ms: delay, limit_ms: limit } = fault
      return limit !== undefined && delay >= limit ? made('silence', limit) : null
    }
    case 'cut':
    case 'malformed':
      return made(fault.kind, 0, fault.after)
    case 'stall':
      return made('stall', fault.limit_ms, fault.after)
    case 'no-terminator':
      return made('no-terminator', 0, Number.POSITIVE_INFINITY)
    case 'content-filter':
      return null
  }
}
