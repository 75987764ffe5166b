import { randomBytes } from 'node:crypto'
import type { DelayShape } from '../delay-shape.js'
import type { LoadToolReport, LoadToolVerdict, RunSummary } from '../run-summary.js'
import type { MergedGaps } from '../summary/merge.js'
import {
  type LabRunPlan,
  STEP_MS,
  type WindowChoice,
  type WorkerWindowSnapshot,
} from '../worker-snapshots.js'
import { LabRequestError, type RunRequest } from './requests.js'
import { SeriesStore } from './series-store.js'

/** Between the order and the begin, so that every worker has heard of it. */
const LEAD_MS = 20
const MOST_SLICES = 60
const LEAST_SLICE_MS = 1_000

/** A window of a run, by the name under which its snapshots are kept. */
export interface RunWindow {
  readonly key: string
  readonly choice: WindowChoice
  readonly fromMs: number
  readonly toMs: number
}

const BOUNDS = /^([0-9]+(?:\.[0-9]+)?)\.\.([0-9]+(?:\.[0-9]+)?)$/

/** What came of a client's report. */
interface JudgedReport {
  readonly report: LoadToolReport
  readonly verdict: LoadToolVerdict
  readonly validity: string
}

/** CPU time that other processes of the machine had used at a moment; null where that is unknown. */
interface CpuReading {
  readonly atMs: number
  readonly cpuMs: number | null
}

/** One run as the supervisor keeps it. */
export class LabRun {
  readonly request: RunRequest
  readonly plan: LabRunPlan
  readonly series: SeriesStore
  readonly marks = new Set<string>()
  /** What the workers last said, by window as it was asked for, and worker. */
  readonly lastSnapshots = new Map<string, Map<number, WorkerWindowSnapshot>>()
  stoppedMs: number | null = null
  /** Of the machine, over the run: at its begin, and at its stop. */
  readonly cpuFrom: CpuReading
  cpuTo: CpuReading | null = null
  judged: JudgedReport | null = null
  /** Gaps of the measurement over all workers; null while they are not known. */
  gaps: MergedGaps | null = null

  constructor(request: RunRequest, now: number, machineCpuMs: number | null) {
    const measureMs = request.measureS * 1000
    this.request = request
    this.cpuFrom = { atMs: now, cpuMs: machineCpuMs }
    this.plan = {
      id: randomBytes(4).toString('hex'),
      // On the edge of a step, so that the steps of a window add up to it.
      startMs: Math.ceil((now + LEAD_MS) / STEP_MS) * STEP_MS,
      warmupMs: request.warmupS * 1000,
      measureMs,
      sliceMs: Math.max(LEAST_SLICE_MS, Math.ceil(measureMs / MOST_SLICES / 1000) * 1000),
      connections: request.expect?.connections ?? null,
      byHeader: request.byHeader,
    }
    this.series = new SeriesStore(this.plan.startMs)
  }

  get id(): string {
    return this.plan.id
  }

  get measureFromMs(): number {
    return this.plan.startMs + this.plan.warmupMs
  }

  get measureToMs(): number {
    return this.measureFromMs + this.plan.measureMs
  }

  /** Until when calls belong to it. */
  endMs(now: number): number {
    return this.stoppedMs ?? now
  }

  /** Number of the step behind its last one, as far as that is known: a stopped run has the whole of its last. */
  get endStep(): number {
    return this.stoppedMs === null ? Number.POSITIVE_INFINITY : Math.ceil(this.stoppedMs / STEP_MS)
  }

  /** Cores that processes other than the supervisor kept busy since the begin of the run; null where that is unknown. */
  machineUse(until: CpuReading): { readonly seconds: number; readonly cores: number } | null {
    const { atMs, cpuMs } = this.cpuFrom
    const to = this.cpuTo ?? until
    const seconds = (to.atMs - atMs) / 1000
    if (cpuMs === null || to.cpuMs === null || seconds <= 0) return null
    return { seconds, cores: (to.cpuMs - cpuMs) / 1000 / seconds }
  }

  get slices(): { readonly seconds: number; readonly count: number } {
    const { sliceMs, measureMs } = this.plan
    return { seconds: sliceMs / 1000, count: Math.ceil(measureMs / sliceMs) }
  }

  get delayShape(): DelayShape | null {
    const { delayShape, delays, seed } = this.request
    if (delayShape !== undefined) return delayShape
    return delays === undefined ? null : { shape: delays, seed }
  }

  state(now: number): RunSummary['state'] {
    if (this.stoppedMs !== null || now >= this.measureToMs) return 'stopped'
    return now < this.measureFromMs ? 'warm-up' : 'measuring'
  }

  /**
   * `measure` (the default), `all`, or `a..b` in seconds from the begin of the measurement. The latter is widened to
   * whole slices: the answer says what it really covers. Throws a 400.
   */
  window(text: string, now: number): RunWindow {
    const { measureFromMs, measureToMs, plan } = this
    const windowOf = (key: string, choice: WindowChoice, fromMs: number, toMs: number): RunWindow => {
      return { key, choice, fromMs, toMs: Math.max(fromMs, Math.min(toMs, this.endMs(now))) }
    }
    if (text === 'measure') return windowOf(text, { spans: ['measure'] }, measureFromMs, measureToMs)
    if (text === 'all') {
      return windowOf(
        text,
        { spans: ['warm-up', 'measure', 'after'] },
        plan.startMs,
        Number.POSITIVE_INFINITY,
      )
    }
    const [from, to] = this.#parseSlices(text)
    const at = (slice: number): number => measureFromMs + Math.min(slice * plan.sliceMs, plan.measureMs)
    return windowOf(`${from}..${to}`, { spans: ['measure'], slices: [from, to] }, at(from), at(to))
  }

  #parseSlices(text: string): readonly [from: number, to: number] {
    const refuse = (sentence: string) => LabRequestError.ofField('window', sentence)
    const match = BOUNDS.exec(text)
    if (match === null) throw refuse('must be "measure", "all" or seconds such as 2..5')
    const { sliceMs, measureMs } = this.plan
    const [fromMs, toMs] = [Number(match[1]) * 1000, Number(match[2]) * 1000]
    if (toMs <= fromMs) throw refuse('must end after it begins')
    if (toMs > measureMs) throw refuse(`the measurement ends after ${measureMs / 1000} seconds`)
    return [Math.floor(fromMs / sliceMs), Math.ceil(toMs / sliceMs)]
  }
}
