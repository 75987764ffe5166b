/**
 * Conditions of policies, judged in the CPU pool (contract/decisions 20). The tasks are `workers/cel/cel.ts`; this is
 * their deadline and their price.
 */
import type { Cancellation } from '../base/cancellation.js'
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { MaybePromise } from '../base/maybe-promise.js'

/** Why a condition cannot be saved. */
interface ConditionDefect {
  /** A sentence for the admin, without a full stop. */
  readonly reason: string
  /** Where, in code points from the begin of the text. */
  readonly position: number
}

/** What a condition sees of a subject token that has passed every other check. */
export interface ConditionClaims {
  readonly subject: string
  readonly audience: readonly string[]
  /** Empty when the claim is absent. */
  readonly scopes: readonly string[]
  /** Empty when the claim is absent. */
  readonly token_type: string
}

/** What came of an evaluation. */
export interface ConditionOutcome {
  readonly met: boolean
  /** Why there is no value, for the log and the policy tester; null when there is one. Holds no claim's text. */
  readonly failure: string | null
}

/** The CPU pool, as far as conditions need it. Costs are PBKDF2 rounds, a quarter of a microsecond each. */
export interface ConditionPool {
  run(
    task: 'check-condition',
    input: { readonly text: string },
    cost: number,
    caller: Cancellation,
  ): Promise<{ readonly value: { readonly refusal: ConditionDefect | null } }>
  run(
    task: 'evaluate-condition',
    input: { readonly text: string; readonly claims: ConditionClaims },
    cost: number,
    caller: Cancellation,
  ): Promise<{ readonly value: ConditionOutcome }>
}

export interface ConditionEvaluator {
  /**
   * Null when the text may be saved as a condition. Rejects with `unavailable` when the pool is full or the caller
   * has gone.
   */
  checkCondition(text: string, caller: Cancellation): Promise<ConditionDefect | null>
  /**
   * Whether a saved condition holds for a token. One that errs or runs late does not. Rejects with `unavailable`
   * when the pool is full or the caller has gone: then nothing has been decided.
   */
  evaluateCondition(text: string, claims: ConditionClaims, caller: Cancellation): Promise<boolean>
  /** The same with the reason, for the policy tester and the audit. */
  explainCondition(
    text: string,
    claims: ConditionClaims,
    caller: Cancellation,
  ): MaybePromise<ConditionOutcome>
}

interface ConditionEvaluatorOptions {
  readonly clock: Clock
  /**
   * From the call to the value, the wait in the pool's queue included. It is as long as what the pool lets wait, so
   * that a busy pool answers `unavailable` by its own measure and not `false` by ours.
   */
  readonly deadlineMs: number
}

/** Measured: a short condition takes some 80 µs to check, one of 2,000 characters a few milliseconds. */
const CHECK_COST = 400
const CHECK_COST_PER_CHARACTER = 8
/** Measured: a few microseconds once the thread knows the program. */
const EVALUATION_COST = 100
const RAN_LATE: ConditionOutcome = { met: false, failure: 'the condition ran late' }
const BROKEN: ConditionOutcome = { met: false, failure: 'the evaluation broke' }

/** Whether an outcome tells about its moment and not about the condition. */
export function isTransientOutcome({ failure }: ConditionOutcome): boolean {
  return failure === RAN_LATE.failure || failure === BROKEN.failure
}

export function createConditionEvaluator(
  pool: ConditionPool,
  { clock, deadlineMs }: ConditionEvaluatorOptions,
): ConditionEvaluator {
  const explainCondition = async (
    text: string,
    claims: ConditionClaims,
    caller: Cancellation,
  ): Promise<ConditionOutcome> => {
    const waiting = new CallerWithDeadline(caller)
    const late = new Promise<ConditionOutcome>((resolve) => {
      waiting.cancel = clock.runAfter(deadlineMs, () => {
        resolve(RAN_LATE)
        waiting.leave()
      })
    })
    try {
      const result = pool.run('evaluate-condition', { text, claims }, EVALUATION_COST, waiting)
      return await Promise.race([result.then(({ value }) => value, outcomeOfPoolError), late])
    } finally {
      waiting.cancel()
    }
  }
  return {
    explainCondition,
    async evaluateCondition(text, claims, caller) {
      const { met } = await explainCondition(text, claims, caller)
      return met
    },
    async checkCondition(text, caller) {
      const cost = CHECK_COST + CHECK_COST_PER_CHARACTER * Math.min(text.length, 4000)
      const { value } = await pool.run('check-condition', { text }, cost, caller)
      return value.refusal
    },
  }
}

/** A caller who leaves when the true one does, or when it gets late: the pool drops what has not begun. */
class CallerWithDeadline implements Cancellation {
  readonly #caller: Cancellation
  leave: () => void = () => {}
  cancel: () => void = () => {}

  constructor(caller: Cancellation) {
    this.#caller = caller
  }

  onAbort(leave: () => void): void {
    this.leave = leave
    this.#caller.onAbort(leave)
  }
}

/** A pool that had no place has decided nothing; a task that broke has: not met. */
function outcomeOfPoolError(error: unknown): ConditionOutcome {
  if (error instanceof Fault && error.kind === 'unavailable') throw error
  return BROKEN
}
