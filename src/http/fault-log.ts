/** What the log says of calls that failed or were refused. */
import type { Fault } from '../base/fault.js'
import type { Log } from '../base/log.js'
import type { HttpCall } from '../transport/exchange.js'
import { ruleSentence } from './dialects/gateway.js'

/** Lines of a kind that comes in floods, in a second (contract/decisions 57). */
const LINES_PER_SECOND = 10
const SECOND_MS = 1_000
const LONGEST_TEXT = 200

type RunLater = (ms: number, task: () => void) => void

export class FaultLog {
  readonly #log: Log
  readonly #tellsRefusals: boolean
  readonly #refusals: LineBudget
  /** A full disk, say: every call that writes fails of it. */
  readonly #outages: LineBudget

  constructor(
    log: Log,
    tellsRefusals = true,
    runLater: RunLater = (ms, task) => void setTimeout(task, ms).unref(),
  ) {
    this.#log = log
    this.#tellsRefusals = tellsRefusals && log.isLevelEnabled('info')
    this.#refusals = new LineBudget(runLater, (leftOut) =>
      log.info({ leftOut }, 'further calls were refused'),
    )
    this.#outages = new LineBudget(runLater, (leftOut) => log.error({ leftOut }, 'further calls failed'))
  }

  /**
   * Our own failures are errors, a deadline of ours is a warning, what callers do wrong is told up to a number.
   * Saturation, and how a provider failed an inference (which the log of calls tells), are for debugging only; how it
   * failed another call is told as a refusal. `path`: of a call that no operation answers.
   */
  record(fault: Fault, status: number, operation: string, call: HttpCall, path?: string): void {
    const log = this.#log
    const { generation, kind, metadata, cause } = fault
    const ofInference = generation !== null && kind !== 'internal'
    const ofProvider = !ofInference && kind !== 'internal' && metadata?.provider_name !== undefined
    // What this server says it does not do is no failure of its own.
    const isRefusal = (status < 500 || kind === 'not-implemented' || ofProvider) && !ofInference
    const ours = !isRefusal && !ofInference && (kind !== 'unavailable' || cause !== undefined)
    if (isRefusal) {
      if (!this.#tellsRefusals || !this.#refusals.take()) return
    } else if (!ours && !log.isLevelEnabled('debug')) return
    if (ours && fault.kind === 'unavailable' && !this.#outages.take()) return
    const where = path === undefined ? {} : { path: withoutKeys(path).slice(0, LONGEST_TEXT) }
    const line = { request: call.requestId, operation, fault: fault.kind, status, ...where }
    const { detail } = fault
    if (fault.kind === 'deadline-exceeded') log.warn({ ...line, detail }, 'call took too long')
    else if (ours) log.error({ ...line, detail, err: fault.cause ?? fault }, 'call failed')
    else if (log.isLevelEnabled('debug'))
      log.debug({ ...line, detail, ...describeFault(fault) }, 'call refused')
    else log.info({ ...line, ...(ofProvider && { detail }), ...describeFault(fault) }, 'call refused')
  }
}

/** Some write a key where none belongs, as this server's and others' begin. */
function withoutKeys(path: string): string {
  return path.replace(/sk-[\w-]+/g, 'sk-…')
}

/** So many lines a second, and at its end how many more there would have been. */
class LineBudget {
  readonly #runLater: RunLater
  readonly #tell: (leftOut: number) => void
  #asked = 0

  constructor(runLater: RunLater, tell: (leftOut: number) => void) {
    this.#runLater = runLater
    this.#tell = tell
  }

  /** Whether there is room for one more line in this second. */
  take(): boolean {
    if (this.#asked === 0) this.#runLater(SECOND_MS, () => this.#endSecond())
    return ++this.#asked <= LINES_PER_SECOND
  }

  #endSecond(): void {
    const leftOut = this.#asked - LINES_PER_SECOND
    this.#asked = 0
    if (leftOut > 0) this.#tell(leftOut)
  }
}

/** Which field, and what was wrong with it; of several the first. */
function describeFault({ issues, note }: Fault) {
  const [issue] = issues
  if (issue === undefined) return note === undefined ? {} : { message: note.slice(0, LONGEST_TEXT) }
  const field = issue.loc.join('.').slice(0, LONGEST_TEXT)
  return { field, message: ruleSentence(issue).slice(0, LONGEST_TEXT) }
}
