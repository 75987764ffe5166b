/**
 * The tasks of the CPU pool: what goes in and what comes out. Types only.
 * Error classes do not survive the jump between threads, so tasks return outcomes.
 */

/** Why a condition is refused. */
export interface ConditionDefect {
  /** A sentence for the admin who wrote it, without a full stop. */
  readonly reason: string
  /** Where, in code points from the begin of the text. */
  readonly position: number
}

/** What a condition sees of a subject token; members are named as in the condition. */
export interface ConditionClaims {
  readonly subject: string
  readonly audience: readonly string[]
  /** Empty when the claim is absent, as is `token_type`. */
  readonly scopes: readonly string[]
  readonly token_type: string
}

export interface ConditionOutcome {
  readonly met: boolean
  /** Why no value came out, for the log; null when one did. Holds no text of the token. */
  readonly failure: string | null
}

/** Name, input and output of every task. */
export interface PoolTasks {
  readonly 'check-condition': {
    readonly input: { readonly text: string }
    readonly output: { readonly defect: ConditionDefect | null }
  }
  readonly 'evaluate-condition': {
    readonly input: { readonly text: string; readonly claims: ConditionClaims }
    readonly output: ConditionOutcome
  }
  readonly 'count-tokens': {
    readonly input: { readonly texts: readonly string[] }
    /** Tokens of each text. */
    readonly output: { readonly counts: readonly number[] }
  }
  readonly pbkdf2: {
    readonly input: { readonly data: string; readonly salt: string; readonly rounds: number }
    /** Milliseconds spent deriving. */
    readonly output: { readonly hash: string; readonly elapsedMs: number }
  }
}

export type PoolTaskName = keyof PoolTasks
export type TaskInput<N extends PoolTaskName> = PoolTasks[N]['input']

export type TaskOutcome<N extends PoolTaskName> =
  | { readonly ok: true; readonly value: PoolTasks[N]['output'] }
  | { readonly ok: false; readonly reason: string }

/** One task on its way into a thread. */
export interface PoolJob {
  readonly task: PoolTaskName
  readonly input: TaskInput<PoolTaskName>
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
  readonly outcome: TaskOutcome<PoolTaskName> | null
  readonly thread: number
  /** Start of the work on the clock that all threads share, nanoseconds. */
  readonly startedNs: bigint
  readonly busyMs: number
}
