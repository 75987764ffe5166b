import { Histogram } from '../../base/histogram.js'
import type { RunSpan } from '../worker-snapshots.js'
import { ArrivalFigures } from './arrival-process.js'
import type { OperationWindow } from './operation-window.js'

/** Where a window belongs; null is the time between runs. */
export interface WindowPosition {
  readonly run: string
  readonly span: RunSpan
  /** Number of the slice of the measurement, else 0. */
  readonly slice: number
}

/** What happened to connections in one window. */
interface ConnectionRecord {
  opened: number
  closed: number
  peak: number
  area: number
}

/** A stretch of time and everything of the calls that arrived in it. Times are of this process. */
export class RecordingWindow {
  readonly place: WindowPosition | null
  readonly from: number
  /** Infinite while it is the one under way. */
  to = Number.POSITIVE_INFINITY
  previous: RecordingWindow | null
  readonly operations = new Map<string, OperationWindow>()
  readonly total = new ArrivalFigures()
  readonly connections: ConnectionRecord
  readonly lag = new Histogram()
  readonly cpuFromMs: number
  cpuToMs: number

  constructor(
    place: WindowPosition | null,
    from: number,
    previous: RecordingWindow | null,
    open: number,
    cpuMs: number,
  ) {
    this.place = place
    this.from = from
    this.previous = previous
    this.connections = { opened: 0, closed: 0, peak: open, area: 0 }
    this.cpuFromMs = cpuMs
    this.cpuToMs = cpuMs
  }

  /** The window that was under way then; null when it has been forgotten. */
  windowAt(time: number): RecordingWindow | null {
    let window: RecordingWindow | null = this
    while (window !== null && time < window.from) window = window.previous
    return window
  }

  /** This one and those before it, the newest first. */
  *newestFirst(): Generator<RecordingWindow> {
    for (let window: RecordingWindow | null = this; window !== null; window = window.previous) yield window
  }
}
