import { Histogram } from '../../base/histogram.js'
import type { OperationWindowSnapshot, RareMeasure } from '../worker-snapshots.js'
import { ArrivalFigures } from './arrival-process.js'

const LEAST_STATUS = 100
const STATUSES = 500

/** Everything counted for one operation in one window: of the calls that arrived in it, whenever they end. */
export class OperationWindow {
  readonly flow = new ArrivalFigures()
  readonly service = new Histogram()
  readonly #statuses = new Uint32Array(STATUSES)
  #rare: Partial<Record<RareMeasure, Histogram>> | null = null
  #faults: Map<string, number> | null = null
  arrivals = 0
  completed = 0
  aborted = 0
  inFlight = 0
  bytesIn = 0
  bytesOut = 0

  /** An answer of the last byte; tells the bucket of its service time. */
  recordAnswer(serviceMs: number, status: number): number {
    this.completed++
    this.#statuses[status - LEAST_STATUS]!++
    return this.service.record(serviceMs)
  }

  /** @param value milliseconds */
  recordDuration(what: RareMeasure, value: number): void {
    this.#histogramOf(what).record(value)
  }

  recordCount(what: RareMeasure, n: number): void {
    this.#histogramOf(what).recordCount(n)
  }

  recordFault(kind: string): void {
    this.#faults ??= new Map()
    this.#faults.set(kind, (this.#faults.get(kind) ?? 0) + 1)
  }

  snapshot(name: string, toMonotonic: number): OperationWindowSnapshot {
    const { arrivals, completed, aborted, inFlight, bytesIn, bytesOut } = this
    const statuses: [number, number][] = []
    for (let i = 0; i < STATUSES; i++) {
      if (this.#statuses[i]! > 0) statuses.push([i + LEAST_STATUS, this.#statuses[i]!])
    }
    const rare = Object.entries(this.#rare ?? {}).map(([what, histogram]) => [what, histogram.snapshot()])
    return {
      name,
      arrivals,
      completed,
      aborted,
      inFlight,
      bytesIn,
      bytesOut,
      statuses,
      faults: [...(this.#faults ?? [])],
      service: this.service.snapshot(),
      rare: Object.fromEntries(rare),
      ...this.flow.snapshot(toMonotonic),
    }
  }

  #histogramOf(what: RareMeasure): Histogram {
    this.#rare ??= {}
    return (this.#rare[what] ??= new Histogram())
  }
}
