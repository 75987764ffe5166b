import type { RareMeasure } from '../worker-snapshots.js'
import { ArrivalFigures, ArrivalProcess } from './arrival-process.js'
import type { ArrivalRing } from './arrival-ring.js'
import type { CallLog } from './call-log.js'
import { OperationWindow, type RecordingWindow } from './recording-window.js'
import { OperationSeries, type StepSeries } from './step-series.js'

/** What the recorders of single operations share and touch with every call. */
export interface RecorderClock {
  /** The next moment at which something changes: a step or a window ends, an action is due. */
  readonly nextEdge: number
  /** Does what is due at or before `at`. */
  advanceTo(at: number): void
  /** What is not counted yet. */
  readonly log: CallLog
  /** All operations together. */
  readonly total: ArrivalProcess
  readonly ring: ArrivalRing
  readonly steps: StepSeries
  /** The window under way. */
  readonly window: RecordingWindow
  /** The window that was under way then; null when it has been forgotten. */
  windowAt(time: number): RecordingWindow | null
}

/**
 * Records one operation: no allocation per call, no clock of its own. What happens to calls goes into the log that all
 * operations share, and is counted from there. A call belongs to the window in which it arrived, for all its counters, also when it ends much later.
 */
export class OperationRecorder {
  readonly name: string
  readonly #number: number
  readonly #recorder: RecorderClock
  readonly #steps: StepSeries
  readonly #process: ArrivalProcess
  /** Null in a window in which it has had nothing to do. */
  #window: OperationWindow | null = null
  #series: OperationSeries | null = null

  /** @param number by which the log knows it */
  constructor(name: string, number: number, recorder: RecorderClock, now: number) {
    this.name = name
    this.#number = number
    this.#recorder = recorder
    this.#steps = recorder.steps
    this.#process = new ArrivalProcess(now, new ArrivalFigures())
  }

  /** @param at `performance.now()` when the call was parsed */
  recordArrival(at: number): void {
    const { log, nextEdge } = this.#recorder
    log.addArrival(this.#number, at)
    if (at >= nextEdge) log.read()
  }

  recordSettled(
    serviceMs: number,
    status: number,
    bytesIn: number,
    bytesOut: number,
    aborted: boolean,
    arrivedAt: number,
  ): void {
    const { log, nextEdge } = this.#recorder
    log.addSettled(this.#number, serviceMs, status, bytesIn, bytesOut, aborted, arrivedAt)
    if (arrivedAt + serviceMs >= nextEdge) log.read()
  }

  /** What the log says of an arrival. */
  countArrival(at: number): void {
    const recorder = this.#recorder
    if (at >= recorder.nextEdge) recorder.advanceTo(at)
    recorder.total.recordArrival(at)
    recorder.ring.add(at)
    const window = this.#window ?? this.#openWindow()
    const process = this.#process
    process.recordArrival(at)
    window.arrivals++
    window.inFlight++
    const series = (this.#series ??= new OperationSeries())
    const steps = this.#steps
    const { slot } = steps
    series.arrivals[slot]!++
    if (process.inFlight > series.inFlightMax[slot]!) series.inFlightMax[slot] = process.inFlight
    const all = recorder.total.inFlight
    if (all > steps.inFlightMax[slot]!) steps.inFlightMax[slot] = all
  }

  /** What the log says of an end. */
  countSettled(
    serviceMs: number,
    status: number,
    bytesIn: number,
    bytesOut: number,
    aborted: boolean,
    arrivedAt: number,
  ): void {
    const recorder = this.#recorder
    const now = arrivedAt + serviceMs
    if (now >= recorder.nextEdge) recorder.advanceTo(now)
    recorder.total.recordEnd(now)
    this.#process.recordEnd(now)
    const window = this.#windowOf(arrivedAt)
    const series = this.#series!
    const { slot } = this.#steps
    if (window !== null) {
      window.inFlight--
      window.bytesIn += bytesIn
      window.bytesOut += bytesOut
      if (aborted) window.aborted++
      else series.recordService(window.recordAnswer(serviceMs, status))
    }
    if (aborted || status >= 400) series.errors[slot]!++
    if (!aborted) series.completions[slot]!++
  }

  /** A measure in milliseconds of a call that arrived then. */
  recordDuration(arrivedAt: number, what: RareMeasure, ms: number): void {
    this.#currentWindowOf(arrivedAt)?.histogramOf(what).record(ms)
  }

  recordCount(arrivedAt: number, what: RareMeasure, n: number): void {
    this.#currentWindowOf(arrivedAt)?.histogramOf(what).recordCount(n)
  }

  recordFault(arrivedAt: number, kind: string): void {
    this.#currentWindowOf(arrivedAt)?.recordFault(kind)
  }

  get series(): OperationSeries | null {
    return this.#series
  }

  /** The window under way ended at `edge`. */
  startNextWindow(edge: number, isFirstOfSpan: boolean): void {
    this.#process.advanceTo(edge)
    if (isFirstOfSpan) this.#process.restart()
    this.#window = null
    if (this.#process.inFlight > 0) this.#openWindow()
  }

  endStep(slot: number, next: number): void {
    this.#series?.endStep(slot, next, this.#process.inFlight)
  }

  advanceTo(now: number): void {
    this.#process.advanceTo(now)
  }

  #openWindow(): OperationWindow {
    const window = new OperationWindow()
    this.#process.continueIn(window.arrivalFigures)
    this.#recorder.window.operations.set(this.name, window)
    this.#window = window
    return window
  }

  /** As `#windowOf`, once the arrival itself has been counted. */
  #currentWindowOf(arrivedAt: number): OperationWindow | null {
    this.#recorder.log.read()
    return this.#windowOf(arrivedAt)
  }

  /** Null when that window has been forgotten. */
  #windowOf(arrivedAt: number): OperationWindow | null {
    const recorder = this.#recorder
    if (arrivedAt >= recorder.window.from) return this.#window
    return recorder.windowAt(arrivedAt)?.operations.get(this.name) ?? null
  }
}
