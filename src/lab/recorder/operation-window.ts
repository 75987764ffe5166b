import type { OperationPart, Rare } from '../wire.js'
import { FlowRecord } from './flow.js'
import { Tally } from './tally.js'

const LEAST_STATUS = 100
const STATUSES = 500

/** Everything counted for one operation in one window: of the calls that arrived in it, whenever they end. */
export class OperationWindow {
  readonly flow = new FlowRecord()
  readonly service = new Tally()
  readonly #statuses = new Uint32Array(STATUSES)
  #rare: Partial<Record<Rare, Tally>> | null = null
  #faults: Map<string, number> | null = null
  arrivals = 0
  completed = 0
  aborted = 0
  inFlight = 0
  bytesIn = 0
  bytesOut = 0

  /** An answer of the last byte; tells the bucket of its service time. */
  answered(serviceMs: number, status: number): number {
    this.completed++
    this.#statuses[status - LEAST_STATUS]!++
    return this.service.record(serviceMs)
  }

  /** @param value milliseconds */
  measured(what: Rare, value: number): void {
    this.#tallyOf(what).record(value)
  }

  counted(what: Rare, n: number): void {
    this.#tallyOf(what).recordCount(n)
  }

  faulted(kind: string): void {
    this.#faults ??= new Map()
    this.#faults.set(kind, (this.#faults.get(kind) ?? 0) + 1)
  }

  part(name: string, toMonotonic: number): OperationPart {
    const { arrivals, completed, aborted, inFlight, bytesIn, bytesOut } = this
    const statuses: [number, number][] = []
    for (let i = 0; i < STATUSES; i++) {
      if (this.#statuses[i]! > 0) statuses.push([i + LEAST_STATUS, this.#statuses[i]!])
    }
    const rare = Object.entries(this.#rare ?? {}).map(([what, tally]) => [what, tally.snapshot()])
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
      ...this.flow.part(toMonotonic),
    }
  }

  #tallyOf(what: Rare): Tally {
    this.#rare ??= {}
    return (this.#rare[what] ??= new Tally())
  }
}
