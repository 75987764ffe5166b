/** Two ways to go through the steps of an exchange: until the first that fails, or through all of them. */
import { Fault } from '../base/fault.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import { type ExchangeRefusal, isExchangeRefusal, REFUSAL_SENTENCES } from './refusal.js'

/** The steps in their order. */
export const EXCHANGE_STEPS = [
  'policy',
  'enabled',
  'plan',
  'issuer',
  'token',
  'iss',
  'issuer-keys',
  'signing-key',
  'signature',
  'expiry',
  'not-before',
  'sizes',
  'subject',
  'audience',
  'scopes-check',
  'token-type-check',
  'condition',
  'target-key',
] as const
type ExchangeStep = (typeof EXCHANGE_STEPS)[number]

/** What is told the outcome of each step, and decides whether there is another. */
export interface StepRunner {
  /** What the step has brought; null when it failed and the trial goes on. */
  took<T extends object>(step: ExchangeStep, outcome: T | ExchangeRefusal): T | null
  /** Whether the step has passed. */
  checked(step: ExchangeStep, refusal: ExchangeRefusal | null): boolean
  /** What a step brings that depends on others; null when they failed and the trial goes on. */
  attempted<T>(step: ExchangeStep, attempt: () => MaybePromise<T>): MaybePromise<T | null>
}

/** Ends with a fault at the first refusal. All of them look the same on the wire. */
export class FailFast implements StepRunner {
  /** Why it ended; null while it has not, or when it ended for a reason outside. */
  refusal: ExchangeRefusal | null = null
  private last: ExchangeStep | null = null

  took<T extends object>(step: ExchangeStep, outcome: T | ExchangeRefusal): T {
    this.last = step
    return isExchangeRefusal(outcome) ? this.refuse(outcome) : outcome
  }

  checked(step: ExchangeStep, refusal: ExchangeRefusal | null): true {
    this.last = step
    return refusal === null ? true : this.refuse(refusal)
  }

  attempted<T>(step: ExchangeStep, attempt: () => MaybePromise<T>): MaybePromise<T> {
    this.last = step
    return attempt()
  }

  refuse(refusal: ExchangeRefusal): never {
    this.refusal = refusal
    throw new Fault('invalid-grant', { detail: REFUSAL_SENTENCES[refusal] })
  }

  /** Whether it came as far as this step. */
  reached(step: ExchangeStep): boolean {
    return this.last !== null && EXCHANGE_STEPS.indexOf(this.last) >= EXCHANGE_STEPS.indexOf(step)
  }
}

export interface ExchangeStepReport {
  readonly step: ExchangeStep
  /** `skipped` when the step does not apply, or cannot be taken because of one that failed. */
  readonly outcome: 'passed' | 'failed' | 'skipped'
  /** Stable name of the reason; null when the step has not failed, or failed for a reason outside. */
  readonly refusal: ExchangeRefusal | null
  /** A sentence for people; null when the step has not failed. */
  readonly reason: string | null
}

/** Goes on, and remembers. */
export class DryRun implements StepRunner {
  private readonly reports = new Map<ExchangeStep, ExchangeStepReport>()

  took<T extends object>(step: ExchangeStep, outcome: T | ExchangeRefusal): T | null {
    if (!isExchangeRefusal(outcome)) {
      this.checked(step, null)
      return outcome
    }
    this.checked(step, outcome)
    return null
  }

  checked(step: ExchangeStep, refusal: ExchangeRefusal | null): boolean {
    const outcome = refusal === null ? 'passed' : 'failed'
    this.reports.set(step, {
      step,
      outcome,
      refusal,
      reason: refusal === null ? null : REFUSAL_SENTENCES[refusal],
    })
    return refusal === null
  }

  async attempted<T>(step: ExchangeStep, attempt: () => MaybePromise<T>): Promise<T | null> {
    try {
      const found = await attempt()
      this.checked(step, null)
      return found
    } catch (error) {
      if (!(error instanceof Fault) || error.kind !== 'unavailable') throw error
      this.reports.set(step, { step, outcome: 'failed', refusal: null, reason: error.detail ?? error.kind })
      return null
    }
  }

  get passed(): boolean {
    return [...this.reports.values()].every(({ outcome }) => outcome === 'passed')
  }

  report(): readonly ExchangeStepReport[] {
    return EXCHANGE_STEPS.map(
      (step) => this.reports.get(step) ?? { step, outcome: 'skipped', refusal: null, reason: null },
    )
  }
}
