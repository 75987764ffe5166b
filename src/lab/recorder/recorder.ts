import { mergeWorkerParts } from '../summary/merge.js'
import type {
  ArrivalTimes,
  LabRunPlan,
  WindowChoice,
  WorkerSeriesSnapshot,
  WorkerWindowSnapshot,
} from '../worker-snapshots.js'
import { ArrivalProcess } from './arrival-process.js'
import { ArrivalRing } from './arrival-ring.js'
import { CallLog, type CallLogReader } from './call-log.js'
import { ConnectionCount } from './connection-count.js'
import { OperationRecorder, type RecorderClock } from './operation-recorder.js'
import { RecordingWindow, type WindowPosition } from './recording-window.js'
import { StallLog } from './stall-log.js'
import { StepSeries } from './step-series.js'

interface LabRecorderOptions {
  readonly worker: number
  readonly pid: number
  /** `performance.now()`. */
  readonly now: () => number
  /** Milliseconds to add to `now` for the clock that all processes of the machine share. */
  readonly toMonotonic: number
  /** CPU time of the process so far, milliseconds. */
  readonly cpuMs: () => number
}

/** Windows that are kept, the time between runs included: six runs with 60 slices and more. */
const WINDOWS_KEPT = 400
/** Runs whose marks are kept. */
const RUNS_KEPT = 400

/** Shorter than any two calls are apart, longer than a rounding. */
const MOMENT_MS = 0.001

interface ScheduledAction {
  readonly time: number
  readonly act: () => void
}

/**
 * Records one worker: every call that arrives and how it ends, by operation and window, and a series of 100 ms
 * steps. Windows are never cleared in place: at an edge the recorders move on to fresh ones.
 *
 * Time comes in with the calls, so that a call is never counted on the wrong side of an edge that its own time has
 * passed; `catchUp` brings it up to date while nothing arrives.
 */
export class LabRecorder implements RecorderClock, CallLogReader {
  readonly total: ArrivalProcess
  readonly stalls: StallLog
  readonly ring = new ArrivalRing()
  readonly log = new CallLog(this)
  readonly steps: StepSeries
  nextEdge: number
  window: RecordingWindow
  /** Those that are kept, the one under way last. */
  readonly #windows: RecordingWindow[]
  /** End of the last stall of the loop that was made on purpose: the probe need not report it. */
  blockedUntil = Number.NEGATIVE_INFINITY
  /** How late the probe fired last, ms. */
  lastLag = 0
  readonly #options: LabRecorderOptions
  readonly #operations = new Map<string, OperationRecorder>()
  /** The same, by their numbers. */
  readonly #numbered: OperationRecorder[] = []
  readonly #connections: ConnectionCount
  /** In the order of their times. */
  readonly #scheduled: ScheduledAction[] = []
  #run: string | null = null
  readonly #marks = new Map<string, Set<string>>()

  constructor(options: LabRecorderOptions) {
    this.#options = options
    const now = options.now()
    const cpu = options.cpuMs()
    this.window = new RecordingWindow(null, now, 0, cpu)
    this.#windows = [this.window]
    this.total = new ArrivalProcess(now, this.window.total)
    this.#connections = new ConnectionCount(now)
    this.steps = new StepSeries(now + options.toMonotonic, cpu)
    this.nextEdge = this.#stepEnd
    this.stalls = new StallLog({
      arrivals: () => this.arrivals,
      connections: () => this.#connections.open,
      schedule: (time, act) => this.schedule(time, act),
    })
  }

  /** The recorder of an operation; made at the first call with a name. */
  operation(name: string): OperationRecorder {
    let recorder = this.#operations.get(name)
    if (recorder === undefined) {
      recorder = new OperationRecorder(name, this.#numbered.length, this, this.#options.now())
      this.#operations.set(name, recorder)
      this.#numbered.push(recorder)
    }
    return recorder
  }

  onArrival(operation: number, at: number): void {
    this.#numbered[operation]!.countArrival(at)
  }

  onSettled(
    operation: number,
    serviceMs: number,
    status: number,
    bytesIn: number,
    bytesOut: number,
    aborted: boolean,
    arrivedAt: number,
  ): void {
    this.#numbered[operation]!.countSettled(serviceMs, status, bytesIn, bytesOut, aborted, arrivedAt)
  }

  /** All arrivals since the start. */
  get arrivals(): number {
    this.log.read()
    return this.ring.count
  }

  /** A connection was opened (1) or closed (-1). */
  recordConnection(change: number): void {
    const now = this.catchUp()
    const { steps, window } = this
    this.#connections.record(change, now, window)
    const { open, busyThreshold } = this.#connections
    if (open > steps.connections[steps.slot]!) steps.connections[steps.slot] = open
    this.total.threshold = busyThreshold
  }

  /** The event loop was late by so many milliseconds. */
  recordLag(ms: number, now: number): void {
    this.log.read()
    this.lastLag = Math.max(0, ms)
    if (now >= this.nextEdge) this.advanceTo(now)
    this.window.lag.record(ms)
    const { lagMax, slot } = this.steps
    if (ms > lagMax[slot]!) lagMax[slot] = ms
  }

  /** Does `act` when the clock passes `time`, before anything else of that moment is counted. */
  schedule(time: number, act: () => void): void {
    this.log.read()
    const later = this.#scheduled.findIndex((other) => other.time > time)
    this.#scheduled.splice(later < 0 ? this.#scheduled.length : later, 0, { time, act })
    this.#setEdge()
  }

  windowAt(time: number): RecordingWindow | null {
    return this.#windows.findLast(({ from }) => time >= from) ?? null
  }

  advanceTo(at: number): void {
    while (at >= this.nextEdge) {
      const [next] = this.#scheduled
      if (next !== undefined && next.time <= this.#stepEnd) {
        this.#scheduled.shift()
        next.act()
      } else this.#endStep()
      this.#setEdge()
    }
  }

  /**
   * Plans the windows of a run. What is already past begins now, and the run is marked: calls that arrived in between
   * were counted before it.
   */
  beginRun(plan: LabRunPlan): void {
    const now = this.catchUp()
    const start = plan.startMs - this.#options.toMonotonic
    if (start < now)
      this.addMark(plan.id, `worker ${this.#options.worker} joined ${(now - start).toFixed(1)} ms late`)
    this.schedule(Math.max(start, this.#edgeNow()), () => this.#attributeTo(plan.id, plan.connections))
    let previous = this.#edgeNow()
    for (const [time, place] of windowEdges(plan, start)) {
      previous = Math.max(time, previous)
      const edge = previous
      this.schedule(edge, () => {
        if (this.#run === plan.id) this.#openWindow(place, edge)
      })
    }
    this.catchUp()
  }

  /** Ends the run's last window now. Its calls still under way are counted in it when they end. */
  endRun(run: string): void {
    this.catchUp()
    if (this.#run !== run) return
    this.#attributeTo(null, null)
    const edge = this.#edgeNow()
    this.schedule(edge, () => this.#openWindow(null, edge))
    this.catchUp()
  }

  /** Notes why a run may not be believed; the run under way unless one is named. */
  addMark(run: string | null, reason: string): void {
    const id = run ?? this.#run
    if (id === null) return
    const marks = this.#marks.get(id) ?? new Set()
    this.#marks.set(id, marks.add(reason))
    if (this.#marks.size > RUNS_KEPT) this.#marks.delete(this.#marks.keys().next().value!)
  }

  /** What is known about some windows of a run; null when there is none of them. */
  readRun(run: string, choice: WindowChoice): WorkerWindowSnapshot | null {
    const now = this.catchUp()
    this.total.advanceTo(now)
    for (const operation of this.#operations.values()) operation.advanceTo(now)
    this.#connections.advanceTo(now, this.window)
    const marks = [...(this.#marks.get(run) ?? [])]
    const parts = this.#windows
      .filter(({ place }) => place?.run === run && isChosenWindow(place, choice))
      .map((window) => this.#snapshotOf(window, now, marks))
    return parts.length === 0 ? null : mergeWorkerParts(parts)
  }

  /** Steps from number `first` on, as far as they are kept; those that are over only. At most `limit`. */
  readSeries(first: number, limit: number): WorkerSeriesSnapshot {
    this.catchUp()
    return { worker: this.#options.worker, ...this.steps.snapshot(first, limit, this.#operations.values()) }
  }

  /** The moments of all arrivals of a stretch of time on the shared clock; null when too many came since. */
  arrivalTimes(fromMs: number, toMs: number): ArrivalTimes | null {
    this.log.read()
    const { toMonotonic } = this.#options
    return this.ring.between(fromMs - toMonotonic, toMs - toMonotonic, toMonotonic)
  }

  /** Catches up with the clock, and tells it. */
  catchUp(): number {
    this.log.read()
    const now = this.#options.now()
    if (now >= this.nextEdge) this.advanceTo(now)
    return now
  }

  #snapshotOf(window: RecordingWindow, now: number, marks: readonly string[]): WorkerWindowSnapshot {
    const { toMonotonic, worker, pid, cpuMs } = this.#options
    return {
      worker,
      pid,
      ...window.snapshot(now, cpuMs(), toMonotonic),
      connections: { ...window.connections, now: this.#connections.open },
      stalls: this.stalls.snapshot(window.from, window.endOr(now), toMonotonic),
      marks,
    }
  }

  #attributeTo(run: string | null, expectedConnections: number | null): void {
    this.#run = run
    this.#connections.expected = expectedConnections
    this.total.threshold = this.#connections.busyThreshold
  }

  #openWindow(place: WindowPosition | null, edge: number): void {
    const isFirstOfSpan = place === null || (place.span !== 'after' && place.slice === 0)
    const cpu = this.#options.cpuMs()
    this.#connections.advanceTo(edge, this.window)
    this.window.end(edge, cpu)
    this.window = new RecordingWindow(place, edge, this.#connections.open, cpu)
    this.#windows.push(this.window)
    if (this.#windows.length > WINDOWS_KEPT) this.#windows.shift()
    this.total.advanceTo(edge)
    if (isFirstOfSpan) this.total.restart()
    this.total.continueIn(this.window.total)
    for (const operation of this.#operations.values()) operation.startNextWindow(edge, isFirstOfSpan)
  }

  #endStep(): void {
    const ended = this.steps.slot
    this.steps.endStep(this.#options.cpuMs(), this.total.inFlight, this.#connections.open)
    for (const operation of this.#operations.values()) operation.endStep(ended, this.steps.slot)
  }

  #setEdge(): void {
    this.nextEdge = Math.min(this.#scheduled[0]?.time ?? Number.POSITIVE_INFINITY, this.#stepEnd)
  }

  get #stepEnd(): number {
    return this.steps.endMs - this.#options.toMonotonic
  }

  /** Now, but behind every call that has been counted: one of this very moment stays where it is. */
  #edgeNow(): number {
    const now = this.#options.now()
    return now > this.total.record.lastAt ? now : now + MOMENT_MS
  }
}

/** When the windows of a run begin, and where they belong. */
function* windowEdges(
  { id, warmupMs, measureMs, sliceMs }: LabRunPlan,
  start: number,
): Generator<readonly [time: number, place: WindowPosition]> {
  const measure = start + warmupMs
  if (warmupMs > 0) yield [start, { run: id, span: 'warm-up', slice: 0 }]
  for (let slice = 0; slice * sliceMs < measureMs; slice++) {
    yield [measure + slice * sliceMs, { run: id, span: 'measure', slice }]
  }
  yield [measure + measureMs, { run: id, span: 'after', slice: 0 }]
}

function isChosenWindow({ span, slice }: WindowPosition, { spans, slices }: WindowChoice): boolean {
  if (!spans.includes(span)) return false
  return span !== 'measure' || slices === undefined || (slice >= slices[0] && slice < slices[1])
}
