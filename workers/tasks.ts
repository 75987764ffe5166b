/**
 * The tasks of the CPU pool: what goes in and what comes out. Types only.
 * Error classes do not survive the jump between threads, so tasks return outcomes.
 */

export type Outcome<T> =
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

/** Name, input and output of every task. */
export interface Tasks {
  readonly pbkdf2: { readonly input: Pbkdf2Input; readonly output: Pbkdf2Output }
}

export type TaskName = keyof Tasks

/** One task on its way into a thread. */
export interface Job {
  readonly task: TaskName
  readonly input: Tasks[TaskName]['input']
  /** Index of the job's flag; see `PoolData`. */
  readonly flag: number
}

/** What every thread is given when it starts. */
export interface PoolData {
  /**
   * One flag per job a thread may hold, set to 1 when the job's caller has gone. Shared memory, because it has
   * to reach a job that stands in a thread's queue already; given once, because sending it costs more than a job.
   */
  readonly cancelled: Int32Array
}

/** What a thread reports about one job. */
export interface JobReport {
  readonly outcome: Outcome<Tasks[TaskName]['output']> | null
  readonly thread: number
  /** Start of the work on the clock that all threads share, nanoseconds. */
  readonly startedNs: bigint
  readonly busyMs: number
}
