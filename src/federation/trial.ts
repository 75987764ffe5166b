/** Two ways to go through the steps of an exchange: until the first that fails, or through all of them. */
import { Fault } from '../base/fault.js'
import type { Soon } from '../base/soon.js'
import { isRefusal, REFUSALS, type Refusal } from './refusal.js'

/** The steps in their order. */
export const STEPS = [
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
type Step = (typeof STEPS)[number]

/** What is told the outcome of each step, and decides whether there is another. */
export interface Trial {
  /** What the step has brought; null when it failed and the trial goes on. */
  took<T extends object>(step: Step, outcome: T | Refusal): T | null
  /** Whether the step has passed. */
  checked(step: Step, refusal: Refusal | null): boolean
  /** What a step brings that depends on others; null when they failed and the trial goes on. */
  attempted<T>(step: Step, attempt: () => Soon<T>): Soon<T | null>
}

/** Ends with a fault at the first refusal. All of them look the same on the wire. */
export class Judgement implements Trial {
  /** Why it ended; null while it has not, or when it ended for a reason outside. */
  refusal: Refusal | null = null
  private last: Step | null = null

  took<T extends object>(step: Step, outcome: T | Refusal): T {
    this.last = step
    return isRefusal(outcome) ? this.refuse(outcome) : outcome
  }

  checked(step: Step, refusal: Refusal | null): true {
    this.last = step
    return refusal === null ? true : this.refuse(refusal)
  }

  attempted<T>(step: Step, attempt: () => Soon<T>): Soon<T> {
    this.last = step
    return attempt()
  }

  refuse(refusal: Refusal): never {
    this.refusal = refusal
    throw new Fault('invalid-grant', { detail: REFUSALS[refusal] })
  }

  /** Whether it came as far as this step. */
  reached(step: Step): boolean {
    return this.last !== null && STEPS.indexOf(this.last) >= STEPS.indexOf(step)
  }
}

export interface StepReport {
  readonly step: Step
  /** `skipped` when the step does not apply, or cannot be taken because of one that failed. */
  readonly outcome: 'passed' | 'failed' | 'skipped'
  /** Stable name of the reason; null when the step has not failed, or failed for a reason outside. */
  readonly refusal: Refusal | null
  /** A sentence for people; null when the step has not failed. */
  readonly reason: string | null
}

/** Goes on, and remembers. */
export class Examination implements Trial {
  private readonly reports = new Map<Step, StepReport>()

  took<T extends object>(step: Step, outcome: T | Refusal): T | null {
    if (!isRefusal(outcome)) {
      this.checked(step, null)
      return outcome
    }
    this.checked(step, outcome)
    return null
  }

  checked(step: Step, refusal: Refusal | null): boolean {
    const outcome = refusal === null ? 'passed' : 'failed'
    this.reports.set(step, { step, outcome, refusal, reason: refusal === null ? null : REFUSALS[refusal] })
    return refusal === null
  }

  async attempted<T>(step: Step, attempt: () => Soon<T>): Promise<T | null> {
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

  report(): readonly StepReport[] {
    return STEPS.map(
      (step) => this.reports.get(step) ?? { step, outcome: 'skipped', refusal: null, reason: null },
    )
  }
}
