/**
 * The tasks of the CPU pool: what goes in and what comes out. Types only.
 * Error classes do not survive the jump between threads, so tasks return outcomes.
 */

export type TaskOutcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string }

export interface Pbkdf2Input {
  readonly data: string
  readonly salt: string
  readonly rounds: number
}

export interface Pbkdf2Output {
  readonly hash: string
  /** Milliseconds spent deriving. */
  readonly elapsedMs: number
}

export interface CountTokensInput {
  readonly texts: readonly string[]
}

export interface CountTokensOutput {
  /** Tokens of each text. */
  readonly counts: readonly number[]
}

export interface CheckConditionInput {
  readonly text: string
}

/** Why a condition is refused, as a sentence for the admin who wrote it. */
export interface ConditionDefect {
  readonly reason: string
  /** Where, in code points from the begin of the text. */
  readonly position: number
}

export interface CheckConditionOutput {
  readonly defect: ConditionDefect | null
}

/** What a condition sees of a subject token; members are named as in the condition. */
export interface ConditionClaims {
  readonly subject: string
  readonly audience: readonly string[]
  readonly scopes: readonly string[]
  readonly token_type: string
}

export interface EvaluateConditionInput {
  readonly text: string
  readonly claims: ConditionClaims
}

export interface EvaluateConditionOutput {
  readonly met: boolean
  /** Why no value came out, for the log; null when one did. Holds no text of the token. */
  readonly failure: string | null
}

/** Name, input and output of every task. */
export interface PoolTasks {
  readonly 'check-condition': { readonly input: CheckConditionInput; readonly output: CheckConditionOutput }
  readonly 'evaluate-condition': {
    readonly input: EvaluateConditionInput
    readonly output: EvaluateConditionOutput
  }
  readonly 'count-tokens': { readonly input: CountTokensInput; readonly output: CountTokensOutput }
  readonly pbkdf2: { readonly input: Pbkdf2Input; readonly output: Pbkdf2Output }
}

export type PoolTaskName = keyof PoolTasks

/** One task on its way into a thread. */
export interface PoolJob {
  readonly task: PoolTaskName
  readonly input: PoolTasks[PoolTaskName]['input']
  /** Index of the job's flag; see `PoolThreadData`. */
  readonly flag: number
}

/** What every thread is given when it starts. */
export interface PoolThreadData {
  /**
   * One flag per job a thread may hold, set to 1 when the job's caller has gone. Shared memory, because it has
   * to reach a job that stands in a thread's queue already; given once, because sending it costs more than a job.
   */
  readonly cancelled: Int32Array
}

/** What a thread reports about one job. */
export interface PoolJobReport {
  readonly outcome: TaskOutcome<PoolTasks[PoolTaskName]['output']> | null
  readonly thread: number
  /** Start of the work on the clock that all threads share, nanoseconds. */
  readonly startedNs: bigint
  readonly busyMs: number
}
