/**
 * Conditions of policies, judged in the CPU pool (contract/decisions 20). The tasks are
 * `workers/cel/condition-tasks.ts`; here are their deadline, their price and the memory of what they said.
 */
import { hash } from 'node:crypto'
import type {
  ConditionClaims,
  ConditionDefect,
  ConditionExplanation,
  ConditionOutcome,
  PoolTasks,
  TaskInput,
} from '../../workers/tasks.js'

export type { ConditionPart, ConditionPartKind } from '../../workers/tasks.js'

import type { Cancellation } from '../base/cancellation.js'
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { MaybePromise } from '../base/maybe-promise.js'

/**
 * The CPU pool, as far as conditions need it. Costs are PBKDF2 rounds, a quarter of a microsecond each; callers are
 * organizations, which have equal shares of the lane.
 */
export interface ConditionPool {
  run<N extends 'check-condition' | 'evaluate-condition' | 'explain-condition'>(
    task: N,
    input: TaskInput<N>,
    order: PoolOrder,
  ): Promise<{ readonly value: PoolTasks[N]['output'] }>
}

interface PoolOrder {
  readonly cost: number
  readonly caller: string
  readonly cancellation: Cancellation
}

interface ConditionEvaluatorOptions {
  readonly clock: Clock
  /** From the call to the value, the wait in the pool's queue included. */
  readonly deadlineMs: number
}

/** Outcomes remembered at a time. An entry is a hash and a small object: half a megabyte in all. */
const MAX_OUTCOMES = 4096
/** Measured: a short condition takes some 80 µs to check, one of 2,000 characters a few milliseconds. */
const CHECK_COST = 400
const CHECK_COST_PER_CHARACTER = 8
/** Measured: a few microseconds once the thread knows the program. */
const EVALUATION_COST = 100
/** Every part is looked at and claims are tried. Measured: 1 ms for a usual condition, 40 for the worst. */
const EXPLANATION_COST = 40_000
const LATE = new Fault('unavailable', { retryAfter: 1, detail: 'the condition was not evaluated in time' })

/**
 * Remembers outcomes: a condition sees four claims, no clock and no chance, so the same text and the same claims give
 * the same value for ever. A workload that exchanges every few minutes brings the same claims each time, in a new
 * token. A remembered outcome takes no time by which callers could tell this refusal from others, and leaves the pool
 * free. It is not there for speed: see bench/RESULTS.md.
 */
export class ConditionEvaluator {
  readonly #pool: ConditionPool
  readonly #options: ConditionEvaluatorOptions
  /** Oldest first. */
  readonly #outcomes = new Map<string, ConditionOutcome>()

  constructor(pool: ConditionPool, options: ConditionEvaluatorOptions) {
    this.#pool = pool
    this.#options = options
  }

  /**
   * Null when the text may be saved as a condition. Rejects with `unavailable` when the pool is full or the caller
   * has gone.
   */
  async check(
    text: string,
    organizationId: string,
    cancellation: Cancellation,
  ): Promise<ConditionDefect | null> {
    const cost = CHECK_COST + CHECK_COST_PER_CHARACTER * Math.min(text.length, 4000)
    const order = { cost, caller: organizationId, cancellation }
    const { value } = await this.#pool.run('check-condition', { text }, order)
    return value.defect
  }

  /**
   * Whether a saved condition holds for a token, and if not, why. One that errs does not hold. Rejects with
   * `unavailable` when the pool is full, late or broken or the caller has gone: then nothing has been decided
   * (contract/decisions 63).
   * @param organizationId whose condition it is
   */
  evaluate(
    text: string,
    claims: ConditionClaims,
    organizationId: string,
    cancellation: Cancellation,
  ): MaybePromise<ConditionOutcome> {
    const key = outcomeKey(text, claims)
    const known = this.#outcomes.get(key)
    if (known !== undefined) return known
    const order = { cost: EVALUATION_COST, caller: organizationId, cancellation }
    return this.#evaluateInPool(key, { text, claims }, order)
  }

  /**
   * What each part of a saved condition comes to and what would make it hold, for the policy tester; null when it
   * cannot be run. Nothing of it is remembered. Rejects as `evaluate` does.
   */
  explain(
    text: string,
    claims: ConditionClaims,
    organizationId: string,
    cancellation: Cancellation,
  ): Promise<ConditionExplanation | null> {
    const order = { cost: EXPLANATION_COST, caller: organizationId, cancellation }
    return this.#runInTime('explain-condition', { text, claims }, order)
  }

  async #evaluateInPool(
    key: string,
    input: TaskInput<'evaluate-condition'>,
    order: PoolOrder,
  ): Promise<ConditionOutcome> {
    const outcome = await this.#runInTime('evaluate-condition', input, order)
    if (this.#outcomes.size >= MAX_OUTCOMES) this.#outcomes.delete(this.#outcomes.keys().next().value!)
    this.#outcomes.set(key, outcome)
    return outcome
  }

  async #runInTime<N extends 'evaluate-condition' | 'explain-condition'>(
    task: N,
    input: TaskInput<N>,
    order: PoolOrder,
  ): Promise<PoolTasks[N]['output']> {
    const { clock, deadlineMs } = this.#options
    // At the deadline the pool drops a task that has not begun, as it does when the caller leaves.
    let abortTask = (): void => {}
    const cancellation: Cancellation = {
      onAbort: (abort) => {
        abortTask = abort
        order.cancellation.onAbort(abort)
      },
    }
    let cancelDeadline = (): void => {}
    const late = new Promise<never>((_resolve, reject) => {
      cancelDeadline = clock.runAfter(deadlineMs, () => {
        reject(LATE)
        abortTask()
      })
    })
    try {
      const result = this.#pool.run(task, input, { ...order, cancellation })
      return await Promise.race([result.then(({ value }) => value, failUndecided), late])
    } finally {
      cancelDeadline()
    }
  }
}

/** Neither a full pool nor a dead thread has decided anything; the thread may have died of another's condition. */
function failUndecided(cause: unknown): never {
  if (cause instanceof Fault && cause.kind === 'unavailable') throw cause
  throw new Fault('unavailable', { retryAfter: 1, detail: 'the evaluation of the condition broke', cause })
}

/** Collision-free by SHA-256, and unambiguous: JSON tells where one text ends and the next begins. */
function outcomeKey(text: string, { subject, audience, scopes, token_type: type }: ConditionClaims): string {
  return hash('sha256', JSON.stringify([text, subject, audience, scopes, type]), 'base64')
}
