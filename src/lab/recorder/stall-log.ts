import type { StallSnapshot } from '../worker-snapshots.js'

/** What the log needs to see of the recorder. */
interface StallLogPorts {
  /** All arrivals since the start. */
  arrivals(): number
  connections(): number
  /** Does something when the clock passes a moment, before anything else of that moment is counted. */
  schedule(time: number, action: () => void): void
}

/** A stall whose times are still of this process. */
type StallEntry = { -readonly [K in keyof StallSnapshot]: StallSnapshot[K] } & {
  /** Arrivals before it. */
  readonly before: number
}

/** Stalls that are kept: a schedule of short ones may go on for hours. */
const KEPT = 1_000
const SOON_MS = 5
const LATER_MS = 100

/**
 * Stalls with what arrived during and after each. Arrivals are counted by reading one counter at exact moments, so a
 * call costs nothing more while a stall lasts.
 */
export class StallLog {
  readonly #ports: StallLogPorts
  readonly #entries: StallEntry[] = []

  constructor(ports: StallLogPorts) {
    this.#ports = ports
  }

  /**
   * A stall that is known beforehand. Both moments may have passed by a little. The returned function calls it off, or
   * ends it at the moment it is given.
   */
  planStall(kind: StallSnapshot['kind'], start: number, end: number): (now: number) => void {
    let entry: StallEntry | null = null
    let off = false
    this.#ports.schedule(start, () => {
      if (off) return
      const begun = this.#open(kind, start)
      entry = begun
      this.#ports.schedule(end, () => this.#close(begun, end))
    })
    return (now) => {
      off = true
      if (entry !== null) this.#close(entry, now)
    }
  }

  /** A stall of the event loop, found when it was over. Nothing was parsed while it lasted. */
  recordStall(kind: StallSnapshot['kind'], start: number, end: number): void {
    this.#close(this.#open(kind, start), end)
  }

  /** @param to infinite for no bound */
  snapshot(from: number, to: number, toMonotonic: number): StallSnapshot[] {
    return this.#entries
      .filter(({ startMs, endMs }) => startMs < to && (endMs === null || endMs > from))
      .map(({ before, ...stall }) => ({
        ...stall,
        startMs: stall.startMs + toMonotonic,
        endMs: stall.endMs === null ? null : stall.endMs + toMonotonic,
        arrivalsDuring: stall.endMs === null ? this.#ports.arrivals() - before : stall.arrivalsDuring,
      }))
  }

  #open(kind: StallSnapshot['kind'], startMs: number): StallEntry {
    const before = this.#ports.arrivals()
    const none = { arrivalsDuring: 0, arrivals5msAfter: 0, arrivals100msAfter: 0, connectionsAfter: 0 }
    const entry = { kind, startMs, endMs: null, ...none, before }
    this.#entries.push(entry)
    if (this.#entries.length > KEPT) this.#entries.shift()
    return entry
  }

  #close(entry: StallEntry, endMs: number): void {
    if (entry.endMs !== null) return
    const { arrivals, connections, schedule } = this.#ports
    entry.endMs = endMs
    const during = arrivals()
    entry.arrivalsDuring = during - entry.before
    if (endMs === Number.POSITIVE_INFINITY) return
    schedule(endMs + SOON_MS, () => {
      entry.arrivals5msAfter = arrivals() - during
    })
    schedule(endMs + LATER_MS, () => {
      entry.arrivals100msAfter = arrivals() - during
      // An upper bound: the native server does not tell which connection a call came on.
      entry.connectionsAfter = Math.min(entry.arrivals100msAfter, connections())
    })
  }
}
