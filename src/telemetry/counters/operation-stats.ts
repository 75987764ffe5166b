import { Histogram, type HistogramSnapshot } from '../../base/histogram.js'

/** Everything counted for one operation of one worker. Plain data: it travels between processes and merges. */
export interface OperationSnapshot {
  readonly name: string
  /** Calls that arrived. Always `answered + aborted + in_flight`. */
  readonly count: number
  readonly inFlight: number
  readonly aborted: number
  readonly bytesIn: number
  readonly bytesOut: number
  /** Pairs of status and number of answers. */
  readonly statuses: readonly (readonly [status: number, answers: number])[]
  readonly serviceMs: HistogramSnapshot
}

/** What all operations of a worker have in flight together; read for every call, so kept and not summed. */
export interface InFlightTotal {
  inFlight: number
}

const STATUSES = 600

/**
 * Exact counters of one operation. They change in two places only, when a call arrives and when it is settled,
 * and cost some nanoseconds each. One event loop owns them, so nothing needs to be atomic.
 */
export class OperationStats {
  readonly name: string
  readonly #load: InFlightTotal
  readonly #statuses = new Float64Array(STATUSES)
  readonly #serviceMs = new Histogram()
  #count = 0
  #inFlight = 0
  #aborted = 0
  #bytesIn = 0
  #bytesOut = 0

  constructor(name: string, load: InFlightTotal) {
    this.name = name
    this.#load = load
  }

  recordArrival(): void {
    this.#count++
    this.#inFlight++
    this.#load.inFlight++
  }

  /** `serviceMs` from the parsed request to the last byte handed to the socket. */
  recordSettled(
    serviceMs: number,
    status: number,
    bytesIn: number,
    bytesOut: number,
    aborted: boolean,
  ): void {
    this.#inFlight--
    this.#load.inFlight--
    this.#bytesIn += bytesIn
    this.#bytesOut += bytesOut
    if (aborted) {
      this.#aborted++
      return
    }
    this.#statuses[status]!++
    this.#serviceMs.record(serviceMs)
  }

  /** Adds its answers to those of each class: `[1xx, …, 5xx]`. */
  addClasses(answers: number[]): void {
    for (let status = 100; status < STATUSES; status++) {
      const n = this.#statuses[status]!
      if (n > 0) answers[Math.floor(status / 100) - 1]! += n
    }
  }

  snapshot(): OperationSnapshot {
    const statuses: (readonly [number, number])[] = []
    for (let status = 0; status < STATUSES; status++) {
      const answers = this.#statuses[status]!
      if (answers > 0) statuses.push([status, answers])
    }
    return {
      name: this.name,
      count: this.#count,
      inFlight: this.#inFlight,
      aborted: this.#aborted,
      bytesIn: this.#bytesIn,
      bytesOut: this.#bytesOut,
      statuses,
      serviceMs: this.#serviceMs.snapshot(),
    }
  }
}
