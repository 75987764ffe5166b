/** What the log says of calls that failed or were refused. */
import type { Fault } from '../base/fault.js'
import type { Log } from '../base/log.js'
import type { HttpCall } from '../transport/exchange.js'

/** Refusals that are told in a second; they come in floods (contract/decisions 57). */
const REFUSALS_PER_SECOND = 10
const SECOND_MS = 1_000
const LONGEST_TEXT = 200

type RunLater = (ms: number, task: () => void) => void

export class FaultLog {
  readonly #log: Log
  readonly #runLater: RunLater
  /** Of this second, and beyond what is told. */
  #refused = 0

  constructor(log: Log, runLater: RunLater = (ms, task) => void setTimeout(task, ms).unref()) {
    this.#log = log
    this.#runLater = runLater
  }

  /**
   * Our own failures are errors, a deadline of ours is a warning, what callers do wrong is told up to a number.
   * Saturation, and how a provider failed (which the log of calls tells), are for debugging only.
   */
  record(fault: Fault, status: number, operation: string, call: HttpCall): void {
    const log = this.#log
    const ofProvider = fault.generation !== null && fault.kind !== 'internal'
    const ours = status >= 500 && !ofProvider && (fault.kind !== 'unavailable' || fault.cause !== undefined)
    const isRefusal = status < 500 && !ofProvider
    if (isRefusal) {
      if (!log.isLevelEnabled('info') || !this.#isTold()) return
    } else if (!ours && !log.isLevelEnabled('debug')) return
    const line = { request: call.requestId, operation, fault: fault.kind, status }
    const { detail } = fault
    if (fault.kind === 'deadline-exceeded') log.warn({ ...line, detail }, 'call took too long')
    else if (ours) log.error({ ...line, detail, err: fault.cause ?? fault }, 'call failed')
    else if (log.isLevelEnabled('debug'))
      log.debug({ ...line, detail, ...describeFault(fault) }, 'call refused')
    else log.info({ ...line, ...describeFault(fault) }, 'call refused')
  }

  #isTold(): boolean {
    if (this.#refused === 0) this.#runLater(SECOND_MS, () => this.#endSecond())
    return ++this.#refused <= REFUSALS_PER_SECOND
  }

  #endSecond(): void {
    const leftOut = this.#refused - REFUSALS_PER_SECOND
    this.#refused = 0
    if (leftOut > 0) this.#log.info({ leftOut }, 'further calls were refused')
  }
}

/** Which field, and what was wrong with it; of several the first. */
function describeFault({ issues, note }: Fault) {
  const [issue] = issues
  if (issue === undefined) return note === undefined ? {} : { message: note.slice(0, LONGEST_TEXT) }
  const { loc, rule, bound, note: said } = issue
  const message = said ?? (bound === undefined ? rule : `${rule} ${bound}`)
  return { field: loc.join('.').slice(0, LONGEST_TEXT), message: message.slice(0, LONGEST_TEXT) }
}
