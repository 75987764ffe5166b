/** When a call is tried again at an endpoint it has been at before. */
import type { RoutingConfig } from '../catalog/configuration.js'
import type { ProviderFailure } from '../providers/port/provider.js'

/** Faults of the request itself: every other endpoint would say the same, and a refusal is not routed around. */
const CALLER_FAULTS: ReadonlySet<string> = new Set([
  'bad-request',
  'invalid-input',
  'payload-too-large',
  'unprocessable',
])

/** Only what never arrived, or was turned away, is safe to send again: the rest may have been billed. */
export function isRetryable({ class: kind, fault }: ProviderFailure): boolean {
  // What one endpoint's format cannot say, another's may.
  if (kind === 'not-sent') return true
  if (kind === 'maybe-processed') return false
  return !CALLER_FAULTS.has(fault.kind) || isContextTooLong(fault)
}

/** The prompt outgrew the model; another one may take it, if it is made for more. */
export function isContextTooLong({ metadata }: ProviderFailure['fault']): boolean {
  return metadata?.error_type === 'context_length_exceeded'
}

/** What passes: a limit, a server that is down for a moment, a connection that failed. */
const TRANSIENT_FAULTS: ReadonlySet<string> = new Set([
  'rate-limited',
  'unavailable',
  'provider-overloaded',
  'provider-timeout',
  'provider-failed',
])
/** Our credential, our credit, our path: a second later they are no better. Nor is a redirect. */
const PERMANENT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308, 401, 402, 403, 404, 405])

const FIRST_PAUSE_MS = 100
/** A quiet worker may still try again now and then. */
const LEAST_BUDGET = 10

/** The retries of a process: a share of its calls, so that an outage is not multiplied. */
export class RetryBudget {
  readonly #config: () => RoutingConfig
  readonly #random: () => number
  #left = LEAST_BUDGET

  constructor(config: () => RoutingConfig, random: () => number) {
    this.#config = config
    this.#random = random
  }

  /** A call has begun. */
  recordCall(): void {
    this.#left = Math.min(LEAST_BUDGET, this.#left + this.#config().retryBudget)
  }

  /**
   * Milliseconds to wait before a call that has failed everywhere is tried again, `retries` times so far; null when
   * it is not. A provider's Retry-After is the least wait, and one beyond the configured longest ends the trying.
   * Takes one out of the budget unless it is null.
   */
  pauseAfter(failure: ProviderFailure, retries: number): number | null {
    const { retries: most, retryWaitMs, retryBudget } = this.#config()
    if (retries >= most || retryBudget === 0 || this.#left < 1) return null
    if (
      !isRetryable(failure) ||
      !TRANSIENT_FAULTS.has(failure.fault.kind) ||
      PERMANENT_STATUSES.has(failure.status)
    )
      return null
    const asked = retryAfterMs(failure)
    const backoff = FIRST_PAUSE_MS * 2 ** retries * (0.5 + this.#random())
    if (Math.max(asked, backoff) > retryWaitMs) return null
    this.#left--
    // A little later than asked: all who were turned away together would come back together.
    return asked > 0 ? asked + backoff * this.#random() : backoff
  }
}

/** A provider that is at its limit says when to come again; without a word it means soon. */
function retryAfterMs({ fault, status }: ProviderFailure): number {
  return status === 0 ? 0 : (fault.retryAfter ?? 0) * 1000
}
