/**
 * The tasks of the CPU pool: what goes in, what comes out, and the flags both sides read. No code of a task.
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

/** What pool and thread tell each other of a job outside of messages. */
export enum JobFlag {
  /** Handed over, and not running: it has not begun, or it is done. */
  Resting = 0,
  /** Its caller has gone: it need not begin. Set by the pool. */
  Cancelled = 1,
  /** The thread works on it. Set by the thread; left standing by a thread that dies of it. */
  Running = 2,
}

/** What every thread is given when it starts. */
export interface PoolThreadData {
  /**
   * One `JobFlag` per job a thread may hold. Shared memory, because a caller's departure has to reach a job that
   * stands in a thread's queue already, and because a thread that dies tells nothing in any other way; given once,
   * because sending it costs more than a job.
   */
  readonly flags: Int32Array
}

/** What a thread reports about one job. */
export interface PoolJobReport {
  readonly outcome: TaskOutcome<PoolTaskName> | null
  readonly thread: number
  /** Start of the work on the clock that all threads share, nanoseconds. */
  readonly startedNs: bigint
  readonly busyMs: number
}
