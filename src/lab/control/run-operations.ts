import { type HistogramSnapshot, mergeHistograms } from '../../base/histogram.js'
import {
  type HistogramUnit,
  MILLISECONDS,
  percentileSpectrum,
  summarizeDistribution,
  THINGS,
  unitOf,
} from '../summary/quantiles.js'
import { nanosecondText } from '../summary/summarize.js'
import { judgeReport } from '../verdict/judge.js'
import { formatValidityReport } from '../verdict/validity-report.js'
import { RARE_MEASURES, STEP_MS, type WorkerWindowSnapshot } from '../worker-snapshots.js'
import { encodeHdrV2, formatHgrm } from './histogram-formats.js'
import type { LabPorts } from './ports.js'
import { LabRequestError, loadToolReport, runRequest, validateInput } from './requests.js'
import type { LabRun } from './run.js'
import type { LabRuns } from './runs.js'

/** An answer of the control listener. */
export interface LabResponse {
  readonly status: number
  readonly type: string
  readonly body: string | Uint8Array
}

export function jsonResponse(status: number, value: unknown): LabResponse {
  return { status, type: 'application/json', body: JSON.stringify(value) }
}

/** What can be asked about runs. Every function throws a `LabRequestError` for what its caller did wrong. */
export class RunOperations {
  readonly #runs: LabRuns
  readonly #ports: LabPorts

  constructor(runs: LabRuns, ports: LabPorts) {
    this.#runs = runs
    this.#ports = ports
  }

  list(): LabResponse {
    const now = this.#ports.now()
    return jsonResponse(200, { runs: this.#runs.list().map((run) => runOutline(run, now)) })
  }

  async create(body: unknown): Promise<LabResponse> {
    const request = validateInput(runRequest, body)
    if (request.byHeader && !this.#ports.faults) {
      throw new LabRequestError(
        403,
        'byHeader: headers are obeyed only with --lab or SLUICE_LAB_FAULTS=on',
        'byHeader',
      )
    }
    const { run, armed } = await this.#runs.create(request)
    return jsonResponse(201, { ...runOutline(run, this.#ports.now()), armed, marks: [...run.marks] })
  }

  async stop(id: string): Promise<LabResponse> {
    const run = this.#runs.find(id)
    await this.#runs.stop(run)
    return this.summary(id, 'measure')
  }

  async summary(id: string, window: string): Promise<LabResponse> {
    const run = this.#runs.find(id)
    const summary = await this.#runs.summary(run, this.#runs.window(run, window))
    return jsonResponse(200, { ...summary, ...(run.judged && { verdict: run.judged.verdict }) })
  }

  /** Lists of the steps of one operation or of all together. */
  async series(id: string, query: URLSearchParams): Promise<LabResponse> {
    const run = this.#runs.find(id)
    const stepMs = Number(query.get('stepMs') ?? STEP_MS)
    if (!Number.isInteger(stepMs) || stepMs < STEP_MS || stepMs % STEP_MS !== 0 || stepMs > 600_000) {
      throw new LabRequestError(400, `stepMs: must be a multiple of ${STEP_MS}, at most 600000`, 'stepMs')
    }
    const operation = query.get('op') ?? '*'
    const steps = await this.#runs.steps(run, stepMs, operation === '*' ? undefined : operation)
    return jsonResponse(200, { id: run.id, op: operation, stepMs, warmupMs: run.plan.warmupMs, steps })
  }

  async histogram(id: string, query: URLSearchParams): Promise<LabResponse> {
    const run = this.#runs.find(id)
    const operation = query.get('op') ?? '*'
    const metric = query.get('metric') ?? 'service'
    const window = this.#runs.window(run, query.get('window') ?? 'measure')
    const { parts } = await this.#runs.parts(run, window)
    const [histograms, unit] = histogramsOf(parts, operation, metric)
    const snapshot = mergeHistograms(histograms).snapshot()
    return formatHistogram(query.get('format') ?? 'json', { operation, metric }, snapshot, unit)
  }

  /** Judges what a tool says about the run by what the server knows. */
  async judgeReport(id: string, body: unknown): Promise<LabResponse> {
    const run = this.#runs.find(id)
    const report = validateInput(loadToolReport, body)
    const window = this.#runs.window(run, 'measure')
    const truth = await this.#runs.summary(run, window)
    const series = this.#runs
      .knownSteps(run, window.fromMs, STEP_MS)
      .map((step) => ({ ...step, atMs: step.atMs - run.plan.warmupMs }))
      .filter(({ atMs }) => atMs < window.toMs - window.fromMs)
    const verdict = judgeReport(truth, series, report)
    const validity = formatValidityReport(truth, report, verdict, series)
    run.judged = { report, verdict, validity }
    return jsonResponse(200, { ...verdict, validity })
  }
}

function runOutline(run: LabRun, now: number): Record<string, unknown> {
  const { id, request, plan, judged } = run
  return {
    id,
    label: request.label,
    state: run.state(now),
    startNs: nanosecondText(plan.startMs),
    measureNs: nanosecondText(run.measureFromMs),
    endNs: nanosecondText(run.measureToMs),
    warmupS: request.warmupS,
    measureS: request.measureS,
    ...(judged !== null && { tool: judged.report.tool, verdict: judged.verdict.verdict }),
  }
}

/** The histograms of a metric that the workers recorded, of one operation or (`*`) of all, and their unit. */
function histogramsOf(
  parts: readonly WorkerWindowSnapshot[],
  operation: string,
  metric: string,
): readonly [histograms: readonly (HistogramSnapshot | null)[], unit: HistogramUnit] {
  const all = parts.flatMap(({ operations }) => operations)
  const chosen = operation === '*' ? all : all.filter(({ name }) => name === operation)
  const arrivals = operation === '*' ? parts.map(({ total }) => total) : chosen
  if (metric === 'lag') return [parts.map(({ lag }) => lag), MILLISECONDS]
  if (metric === 'gap') return [arrivals.map(({ gap }) => gap), MILLISECONDS]
  if (metric === 'inflight') return [arrivals.map(({ seen }) => seen), THINGS]
  if (metric === 'service') return [chosen.map(({ service }) => service), MILLISECONDS]
  const measure = RARE_MEASURES.find((name) => name === metric)
  if (measure !== undefined) return [chosen.map(({ rare }) => rare[measure] ?? null), unitOf(measure)]
  const known = `service, gap, inflight, lag, ${RARE_MEASURES.join(', ')}`
  throw new LabRequestError(400, `metric: must be one of ${known}`, 'metric')
}

function formatHistogram(
  format: string,
  names: object,
  snapshot: HistogramSnapshot,
  scale: HistogramUnit,
): LabResponse {
  switch (format) {
    case 'json':
      return jsonResponse(200, {
        ...names,
        unit: scale.whole ? 'count' : 'ms',
        ...summarizeDistribution(snapshot, scale),
        points: percentileSpectrum(snapshot, scale),
      })
    case 'hgrm':
      return { status: 200, type: 'text/plain; charset=utf-8', body: formatHgrm(snapshot, scale) }
    case 'v2':
      return { status: 200, type: 'text/plain; charset=utf-8', body: `${encodeHdrV2(snapshot, scale)}\n` }
    default:
      throw new LabRequestError(400, 'format: must be json, hgrm or v2', 'format')
  }
}
