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

/** A part of a condition with what it came to for one token. */
export interface ConditionPart {
  /** As the language writes it. */
  readonly text: string
  readonly kind: ConditionPartKind
  /** Type of its value. */
  readonly type: string
  /** As the language writes it; null when it has none. */
  readonly value: string | null
  /** Code of ours for why it has no value; quotes nothing. */
  readonly error: string | null
  /** Text, value or children are not all there. */
  readonly shortened: boolean
  readonly children: readonly ConditionPart[]
}

export type ConditionPartKind =
  | ('literal' | 'name' | 'list' | 'map' | 'entry' | 'and' | 'or' | 'not' | 'choice')
  | ('comparison' | 'membership' | 'arithmetic' | 'call' | 'macro' | 'turn')

export interface ConditionExplanation {
  readonly tree: ConditionPart
  /** What of the token would have to be otherwise; each alone is enough. Empty when it is met, or none was found. */
  readonly wouldPassIf: readonly string[]
}

/** Why a document cannot be read; goes on from "it": "is no PDF". */
export interface UnreadableDocument {
  readonly readable: false
  readonly reason: string
}

/** What a page says, or a PDF. */
export interface ReadHtml {
  readonly readable: true
  /** May be empty. */
  readonly title: string
  /** Markdown; relative links are made absolute. */
  readonly text: string
  /** There was more text than was asked for. */
  readonly isCut: boolean
  /** As the page says it, in no certain format; null where it does not. */
  readonly publishedAt: string | null
}

export interface ReadPdf {
  readonly readable: true
  readonly title: string
  /** Text of each page, of the first ones where it is cut. A page may have none: a scan. */
  readonly pages: readonly string[]
  /** Pages of the document. */
  readonly pageCount: number
  readonly isCut: boolean
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
  readonly 'explain-condition': {
    readonly input: { readonly text: string; readonly claims: ConditionClaims }
    /** Null for what `evaluate-condition` does not run. */
    readonly output: ConditionExplanation | null
  }
  readonly 'count-tokens': {
    readonly input: { readonly texts: readonly string[] }
    /** Tokens of each text. */
    readonly output: { readonly counts: readonly number[] }
  }
  readonly 'read-html': {
    readonly input: {
      readonly bytes: Uint8Array
      /** As the head of the answer says; null leaves it to the page. */
      readonly charset: string | null
      /** Where the page stands: its relative links go on from there. */
      readonly url: string
      readonly maxChars: number
    }
    readonly output: ReadHtml | UnreadableDocument
  }
  readonly 'read-pdf': {
    readonly input: { readonly bytes: Uint8Array; readonly maxPages: number; readonly maxChars: number }
    readonly output: ReadPdf | UnreadableDocument
  }
  readonly 'repair-json': {
    readonly input: { readonly text: string }
    /** What it may have been meant to be, as JSON, the likeliest first. */
    readonly output: { readonly candidates: readonly string[] }
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
