import type { ArrivalProcess } from './arrival-process.js'
import type { ArrivalRing } from './arrival-ring.js'
import type { RecordingWindow } from './recording-window.js'

/** What the recorders of single operations share and touch with every call. */
export interface RecorderClock {
  /** The next moment at which something changes: a step or a window ends, a mark is due. */
  readonly nextEdge: number
  /** Does what is due at or before `at`. */
  advanceTo(at: number): void
  readonly total: ArrivalProcess
  /** The moments of arrivals. */
  readonly ring: ArrivalRing
  /** Slot of the step under way in all series. */
  readonly slot: number
  /** Most in flight in each step, over all operations. */
  readonly inFlightMax: Uint32Array
  /** The window under way. */
  readonly window: RecordingWindow
}
