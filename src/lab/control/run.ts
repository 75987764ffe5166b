import { randomBytes } from 'node:crypto'
import type { DelayShape } from '../delay-shape.js'
import type { LoadToolReport, LoadToolVerdict, RunSummary } from '../run-summary.js'
import type { MergedGaps } from '../summary/merge.js'
import { type LabRunPlan, STEP_MS, type WorkerWindowSnapshot } from '../worker-snapshots.js'
import type { RunRequest } from './requests.js'
import { SeriesStore } from './series-store.js'

/** Between the order and the begin, so that every worker has heard of it. */
const LEAD_MS = 20
const MOST_SLICES = 60
const LEAST_SLICE_MS = 1_000

/** What came of a client's report. */
interface JudgedReport {
  readonly report: LoadToolReport
  readonly verdict: LoadToolVerdict
  readonly validity: string
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
  judged: JudgedReport | null = null
  /** Gaps of the measurement over all workers; null while they are not known. */
  gaps: MergedGaps | null = null

  constructor(request: RunRequest, now: number) {
    const measureMs = request.measureS * 1000
    this.request = request
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
}
