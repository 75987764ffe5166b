import { Histogram } from '../../base/histogram.js'
import type {
  ConnectionSnapshot,
  OperationWindowSnapshot,
  RareMeasure,
  RunSpan,
  WorkerWindowSnapshot,
} from '../worker-snapshots.js'
import { ArrivalFigures } from './arrival-process.js'

/** Where a window belongs; null is the time between runs. */
export interface WindowPosition {
  readonly run: string
  readonly span: RunSpan
  /** Number of the slice of the measurement, else 0. */
  readonly slice: number
}

/** A stretch of time and everything of the calls that arrived in it. Times are of this process. */
export class RecordingWindow {
  readonly place: WindowPosition | null
  readonly from: number
  readonly operations = new Map<string, OperationWindow>()
  readonly total = new ArrivalFigures()
  readonly connections: { -readonly [K in Exclude<keyof ConnectionSnapshot, 'now'>]: number }
  readonly lag = new Histogram()
  /** Infinite while it is the one under way. */
  #to = Number.POSITIVE_INFINITY
  readonly #cpuFromMs: number
  #cpuToMs: number | null = null

  /** @param open connections that are there from before */
  constructor(place: WindowPosition | null, from: number, open: number, cpuMs: number) {
    this.place = place
    this.from = from
    this.connections = { opened: 0, closed: 0, peak: open, area: 0 }
    this.#cpuFromMs = cpuMs
  }

  end(edge: number, cpuMs: number): void {
    this.#to = edge
    this.#cpuToMs = cpuMs
  }

  /** When it ended; `now` for the window that is under way. */
  endOr(now: number): number {
    return Number.isFinite(this.#to) ? this.#to : now
  }

  /** @param cpuMs as of now, for the window that is under way */
  snapshot(
    now: number,
    cpuMs: number,
    toMonotonic: number,
  ): Omit<WorkerWindowSnapshot, 'worker' | 'pid' | 'stalls' | 'marks' | 'connections'> {
    const operations = [...this.operations].map(([name, each]) => each.snapshot(name, toMonotonic))
    return {
      fromMs: this.from + toMonotonic,
      toMs: this.endOr(now) + toMonotonic,
      operations: operations.filter(({ arrivals, area }) => arrivals > 0 || area > 0),
      total: this.total.snapshot(toMonotonic),
      cpuMs: (this.#cpuToMs ?? cpuMs) - this.#cpuFromMs,
      lag: this.lag.snapshot(),
    }
  }
}

const LEAST_STATUS = 100
const STATUSES = 500

/** Everything counted for one operation in one window: of the calls that arrived in it, whenever they end. */
export class OperationWindow {
  readonly arrivalFigures = new ArrivalFigures()
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

  histogramOf(what: RareMeasure): Histogram {
    this.#rare ??= {}
    return (this.#rare[what] ??= new Histogram())
  }

  recordFault(kind: string): void {
    this.#faults ??= new Map()
    this.#faults.set(kind, (this.#faults.get(kind) ?? 0) + 1)
  }

  snapshot(name: string, toMonotonic: number): OperationWindowSnapshot {
    const { arrivalFigures, service, ...counts } = this
    const statuses: [number, number][] = []
    for (let i = 0; i < STATUSES; i++) {
      if (this.#statuses[i]! > 0) statuses.push([i + LEAST_STATUS, this.#statuses[i]!])
    }
    const rare = Object.entries(this.#rare ?? {}).map(([what, histogram]) => [what, histogram.snapshot()])
    return {
      name,
      ...counts,
      statuses,
      faults: [...(this.#faults ?? [])],
      service: service.snapshot(),
      rare: Object.fromEntries(rare),
      ...arrivalFigures.snapshot(toMonotonic),
    }
  }
}
