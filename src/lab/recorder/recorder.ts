import { mergeWorkerParts } from '../summary/merge.js'
import {
  type ArrivalTimes,
  type LabRunPlan,
  type RunSpan,
  STEP_MS,
  STEPS_KEPT,
  type WindowChoice,
  type WorkerSeriesSnapshot,
  type WorkerWindowSnapshot,
} from '../worker-snapshots.js'
import { ArrivalProcess } from './arrival-process.js'
import { ArrivalRing } from './arrival-ring.js'
import { OperationRecorder } from './operation-recorder.js'
import type { RecorderClock } from './recorder-clock.js'
import { RecordingWindow, type WindowPosition } from './recording-window.js'
import { sliceRing } from './series-ring.js'
import { StallLog } from './stall-log.js'

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

/** Shorter than any two calls are apart, longer than a rounding. */
const MOMENT_MS = 0.001

interface ScheduledAction {
  readonly time: number
  readonly action: () => void
}

/**
 * The truth of one worker: every call that arrives and how it ends, by operation and window, and a series of 100 ms
 * steps. Windows are never cleared in place: at an edge the recorders move on to fresh ones.
 *
 * Time comes in with the calls, so that a call is never counted on the wrong side of an edge that its own time has
 * passed; `tick` brings it up to date while nothing arrives.
 */
export class LabRecorder implements RecorderClock {
  readonly total: ArrivalProcess
  readonly stalls: StallLog
  readonly inFlightMax = new Uint32Array(STEPS_KEPT)
  readonly ring = new ArrivalRing()
  nextEdge: number
  slot: number
  window: RecordingWindow
  /** End of the last stall of the loop that was made on purpose: the probe need not report it. */
  blockedUntil = Number.NEGATIVE_INFINITY
  /** How late the probe fired last, ms. */
  lastLag = 0
  readonly #options: LabRecorderOptions
  readonly #operations = new Map<string, OperationRecorder>()
  readonly #connections = new Uint32Array(STEPS_KEPT)
  readonly #lagMax = new Float32Array(STEPS_KEPT)
  readonly #cpuShare = new Float32Array(STEPS_KEPT)
  /** In the order of their times. */
  #marks: ScheduledAction[] = []
  /** Number of the step under way, on the shared clock. */
  #step: number
  readonly #firstStep: number
  #stepEnd: number
  #cpuAtStep: number
  #openConnections = 0
  #connectionsSince: number
  #busyConnections: number | null = null
  #run: string | null = null
  readonly #runMarks = new Map<string, Set<string>>()

  constructor(options: LabRecorderOptions) {
    this.#options = options
    const now = options.now()
    const cpu = options.cpuMs()
    this.window = new RecordingWindow(null, now, null, 0, cpu)
    this.total = new ArrivalProcess(now, this.window.total)
    this.#step = Math.floor((now + options.toMonotonic) / STEP_MS)
    this.#firstStep = this.#step
    this.slot = this.#step % STEPS_KEPT
    this.#stepEnd = this.#endOf(this.#step)
    this.#cpuAtStep = cpu
    this.#connectionsSince = now
    this.nextEdge = this.#stepEnd
    this.stalls = new StallLog({
      arrivals: () => this.ring.count,
      connections: () => this.#openConnections,
      schedule: (time, action) => this.schedule(time, action),
    })
  }

  /** The recorder of an operation; made at the first call with a name. */
  operation(name: string): OperationRecorder {
    let recorder = this.#operations.get(name)
    if (recorder === undefined) {
      recorder = new OperationRecorder(name, this, this.#options.now())
      this.#operations.set(name, recorder)
    }
    return recorder
  }

  /** A connection was opened (1) or closed (-1). */
  recordConnection(change: number): void {
    const now = this.#options.now()
    if (now >= this.nextEdge) this.advanceTo(now)
    this.#settleConnections(now)
    this.#openConnections += change
    const { connections } = this.window
    if (change > 0) connections.opened++
    else connections.closed++
    if (this.#openConnections > connections.peak) connections.peak = this.#openConnections
    if (this.#openConnections > this.#connections[this.slot]!)
      this.#connections[this.slot]! = this.#openConnections
    this.#setThreshold()
  }

  /** The event loop was late by so many milliseconds. */
  recordLag(ms: number, now: number): void {
    this.lastLag = Math.max(0, ms)
    if (now >= this.nextEdge) this.advanceTo(now)
    this.window.lag.record(ms)
    if (ms > this.#lagMax[this.slot]!) this.#lagMax[this.slot] = ms
  }

  /** Does `action` when the clock passes `time`, before anything else of that moment is counted. */
  schedule(time: number, action: () => void): void {
    const later = this.#marks.findIndex((addMark) => addMark.time > time)
    const addMark = { time, action }
    if (later < 0) this.#marks.push(addMark)
    else this.#marks.splice(later, 0, addMark)
    this.#setEdge()
  }

  advanceTo(schedule: number): void {
    while (schedule >= this.nextEdge) {
      const [addMark] = this.#marks
      if (addMark !== undefined && addMark.time <= this.#stepEnd) {
        this.#marks.shift()
        addMark.action()
      } else this.#turnStep()
      this.#setEdge()
    }
  }

  /**
   * Plans the windows of a run. What is already past begins now, and the run is marked: calls that arrived in between
   * were counted before it.
   */
  beginRun(plan: LabRunPlan): void {
    const now = this.#options.now()
    if (now >= this.nextEdge) this.advanceTo(now)
    const start = plan.startMs - this.#options.toMonotonic
    if (start < now)
      this.addMark(plan.id, `worker ${this.#options.worker} joined ${(now - start).toFixed(1)} ms late`)
    this.schedule(Math.max(start, this.#edgeNow()), () => {
      this.#run = plan.id
      this.#busyConnections = plan.connections
      this.#setThreshold()
    })
    let previous = this.#edgeNow()
    for (const { time, place, fresh } of windowEdges(plan, start)) {
      previous = Math.max(time, previous)
      const edge = previous
      this.schedule(edge, () => {
        if (this.#run === plan.id) this.#openWindow(place, edge, fresh)
      })
    }
    this.catchUp()
  }

  /** Ends the run's last window now. Its calls still under way are counted in it when they end. */
  endRun(run: string): void {
    this.catchUp()
    if (this.#run !== run) return
    this.#run = null
    this.#busyConnections = null
    this.#setThreshold()
    const edge = this.#edgeNow()
    this.schedule(edge, () => this.#openWindow(null, edge, true))
    this.catchUp()
  }

  /** Notes why a run may not be believed; the run under way unless one is named. */
  addMark(run: string | null, reason: string): void {
    const id = run ?? this.#run
    if (id === null) return
    const marks = this.#runMarks.get(id) ?? new Set()
    this.#runMarks.set(id, marks.add(reason))
  }

  /** What is known about some windows of a run; null when there is none of them. */
  readRun(run: string, choice: WindowChoice): WorkerWindowSnapshot | null {
    this.catchUp()
    this.#settle(this.#options.now())
    const parts = [...this.window.newestFirst()]
      .filter(({ place }) => place?.run === run && isChosenWindow(place, choice))
      .map((window) => this.#snapshotOf(window, [...(this.#runMarks.get(run) ?? [])]))
    return parts.length === 0 ? null : mergeWorkerParts(parts.reverse())
  }

  /** Steps from number `first` on, as far as they are kept; those that are over only. At most `limit`. */
  readSeries(first: number, limit: number): WorkerSeriesSnapshot {
    this.catchUp()
    const from = Math.max(first, this.#firstStep, this.#step - STEPS_KEPT + 1)
    const count = Math.max(0, Math.min(limit, this.#step - from))
    const slot = from % STEPS_KEPT
    const operations = [...this.#operations.values()].flatMap(({ name, series: readSeries }) =>
      readSeries === null ? [] : [[name, readSeries.snapshot(slot, count)] as const],
    )
    return {
      worker: this.#options.worker,
      first: from,
      inFlightMax: sliceRing(this.inFlightMax, slot, count),
      connections: sliceRing(this.#connections, slot, count),
      lagMax: sliceRing(this.#lagMax, slot, count),
      cpuShare: sliceRing(this.#cpuShare, slot, count),
      operations: Object.fromEntries(operations),
    }
  }

  /** The moments of all arrivals of a stretch of time on the shared clock; null when too many came since. */
  arrivalTimes(fromMs: number, toMs: number): ArrivalTimes | null {
    const { toMonotonic } = this.#options
    return this.ring.between(fromMs - toMonotonic, toMs - toMonotonic, toMonotonic)
  }

  /** Catches up with the clock. */
  catchUp(): void {
    const now = this.#options.now()
    if (now >= this.nextEdge) this.advanceTo(now)
  }

  #snapshotOf(window: RecordingWindow, marks: readonly string[]): WorkerWindowSnapshot {
    const { toMonotonic, worker, pid, now, cpuMs } = this.#options
    const under = window === this.window
    const to = under ? now() : window.to
    const operations = [...window.operations].map(([name, each]) => each.snapshot(name, toMonotonic))
    const { opened, closed, peak, area } = window.connections
    return {
      worker,
      pid,
      fromMs: window.from + toMonotonic,
      toMs: to + toMonotonic,
      operations: operations.filter(({ arrivals, area }) => arrivals > 0 || area > 0),
      total: window.total.snapshot(toMonotonic),
      connections: { opened, closed, peak, area, now: this.#openConnections },
      cpuMs: (under ? cpuMs() : window.cpuToMs) - window.cpuFromMs,
      lag: window.lag.snapshot(),
      stalls: this.stalls.snapshot(window.from, to, toMonotonic),
      marks,
    }
  }

  #openWindow(place: WindowPosition | null, edge: number, fresh: boolean): void {
    this.#settleConnections(edge)
    const cpu = this.#options.cpuMs()
    const old = this.window
    old.to = edge
    old.cpuToMs = cpu
    const window = new RecordingWindow(place, edge, old, this.#openConnections, cpu)
    this.total.advanceTo(edge)
    if (fresh) this.total.restart()
    this.total.continueIn(window.total)
    this.window = window
    for (const operation of this.#operations.values()) operation.turnWindow(edge, fresh)
    this.#forgetOldest()
  }

  #forgetOldest(): void {
    let kept = 0
    for (const window of this.window.newestFirst()) if (++kept === WINDOWS_KEPT) window.previous = null
    if (this.#runMarks.size > WINDOWS_KEPT) this.#runMarks.delete(this.#runMarks.keys().next().value!)
  }

  #turnStep(): void {
    const slot = this.slot
    const next = (this.#step + 1) % STEPS_KEPT
    const cpu = this.#options.cpuMs()
    this.#cpuShare[slot] = (cpu - this.#cpuAtStep) / STEP_MS
    this.#cpuAtStep = cpu
    for (const operation of this.#operations.values()) operation.turnStep(slot, next)
    this.inFlightMax[next] = this.total.inFlight
    this.#connections[next] = this.#openConnections
    this.#lagMax[next] = 0
    this.slot = next
    this.#step++
    this.#stepEnd = this.#endOf(this.#step)
  }

  #settle(now: number): void {
    this.total.advanceTo(now)
    for (const operation of this.#operations.values()) operation.advanceTo(now)
    this.#settleConnections(now)
  }

  #settleConnections(now: number): void {
    const dt = now - this.#connectionsSince
    if (dt <= 0) return
    this.window.connections.area += this.#openConnections * dt
    this.#connectionsSince = now
  }

  /** Busy is a worker with at least 95 % of the connections it has, or of all that are expected if that is fewer. */
  #setThreshold(): void {
    const expected = this.#busyConnections
    const here = expected === null ? 0 : Math.min(expected, this.#openConnections)
    this.total.threshold = here === 0 ? Number.POSITIVE_INFINITY : 0.95 * here
  }

  #setEdge(): void {
    const [addMark] = this.#marks
    this.nextEdge = addMark === undefined ? this.#stepEnd : Math.min(addMark.time, this.#stepEnd)
  }

  /** Now, but behind every call that has been counted: one of this very moment stays where it is. */
  #edgeNow(): number {
    const now = this.#options.now()
    return now > this.total.record.lastAt ? now : now + MOMENT_MS
  }

  #endOf(step: number): number {
    return (step + 1) * STEP_MS - this.#options.toMonotonic
  }
}

interface WindowEdge {
  readonly time: number
  readonly place: WindowPosition
  readonly fresh: boolean
}

function* windowEdges(
  { id, warmupMs, measureMs, sliceMs }: LabRunPlan,
  start: number,
): Generator<WindowEdge> {
  const place = (span: RunSpan, slice = 0): WindowPosition => ({ run: id, span, slice })
  if (warmupMs > 0) yield { time: start, place: place('warm-up'), fresh: true }
  const measure = start + warmupMs
  for (let slice = 0; slice * sliceMs < measureMs; slice++) {
    yield { time: measure + slice * sliceMs, place: place('measure', slice), fresh: slice === 0 }
  }
  yield { time: measure + measureMs, place: place('after'), fresh: false }
}

function isChosenWindow({ span, slice }: WindowPosition, { spans, slices }: WindowChoice): boolean {
  if (!spans.includes(span)) return false
  return span !== 'measure' || slices === undefined || (slice >= slices[0] && slice < slices[1])
}
