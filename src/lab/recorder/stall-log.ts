import type { StallSnapshot } from '../worker-snapshots.js'

/** What the log needs to see of the recorder. */
interface StallLogPorts {
  /** All arrivals since the start. */
  arrivals(): number
  connections(): number
  /** Does something when the clock passes a moment, before anything else of that moment is counted. */
  schedule(time: number, action: () => void): void
}

interface StallEntry {
  readonly kind: StallSnapshot['kind']
  readonly start: number
  end: number | null
  before: number
  during: number
  within5: number
  within100: number
  connections: number
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
      .filter(({ start, end }) => start < to && (end === null || end > from))
      .map((entry) => ({
        kind: entry.kind,
        startMs: entry.start + toMonotonic,
        endMs: entry.end === null ? null : entry.end + toMonotonic,
        arrivalsDuring: entry.end === null ? this.#ports.arrivals() - entry.before : entry.during,
        arrivals5msAfter: entry.within5,
        arrivals100msAfter: entry.within100,
        connectionsAfter: entry.connections,
      }))
  }

  #open(kind: StallSnapshot['kind'], start: number): StallEntry {
    const before = this.#ports.arrivals()
    const entry = { kind, start, end: null, before, during: 0, within5: 0, within100: 0, connections: 0 }
    this.#entries.push(entry)
    if (this.#entries.length > KEPT) this.#entries.shift()
    return entry
  }

  #close(entry: StallEntry, end: number): void {
    if (entry.end !== null) return
    const { arrivals, connections, schedule } = this.#ports
    entry.end = end
    const during = arrivals()
    entry.during = during - entry.before
    if (end === Number.POSITIVE_INFINITY) return
    schedule(end + SOON_MS, () => {
      entry.within5 = arrivals() - during
    })
    schedule(end + LATER_MS, () => {
      entry.within100 = arrivals() - during
      // An upper bound: the native server does not tell which connection a call came on.
      entry.connections = Math.min(entry.within100, connections())
    })
  }
}
