import { type HistogramSnapshot, mergeHistograms } from '../../base/histogram.js'
import type { LabPorts } from '../lab-command.js'
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

/** Begins a run. Like all functions here it throws a `LabRequestError` for what its caller did wrong. */
export async function createRun(runs: LabRuns, ports: LabPorts, body: unknown): Promise<LabResponse> {
  const request = validateInput(runRequest, body)
  if (request.byHeader && !ports.faults) {
    const sentence = 'headers are obeyed only with --lab or SLUICE_LAB_FAULTS=on'
    throw LabRequestError.ofField('byHeader', sentence, 403)
  }
  const { run, armed } = await runs.create(request)
  return jsonResponse(201, { ...runOutline(run, ports.now()), armed, marks: [...run.marks] })
}

export async function stopRun(runs: LabRuns, run: LabRun): Promise<LabResponse> {
  await runs.stop(run)
  return readSummary(runs, run, 'measure')
}

export async function readSummary(runs: LabRuns, run: LabRun, window: string): Promise<LabResponse> {
  const summary = await runs.summary(run, runs.window(run, window))
  return jsonResponse(200, { ...summary, ...(run.judged && { verdict: run.judged.verdict }) })
}

/** Lists of the steps of one operation or of all together. */
export async function readSeries(runs: LabRuns, run: LabRun, query: URLSearchParams): Promise<LabResponse> {
  const stepMs = Number(query.get('stepMs') ?? STEP_MS)
  if (!Number.isInteger(stepMs) || stepMs < STEP_MS || stepMs % STEP_MS !== 0 || stepMs > 600_000) {
    throw LabRequestError.ofField('stepMs', `must be a multiple of ${STEP_MS}, at most 600000`)
  }
  const operation = query.get('op') ?? '*'
  const steps = await runs.steps(run, stepMs, operation === '*' ? undefined : operation)
  return jsonResponse(200, { id: run.id, op: operation, stepMs, warmupMs: run.plan.warmupMs, steps })
}

export async function readHistogram(
  runs: LabRuns,
  run: LabRun,
  query: URLSearchParams,
): Promise<LabResponse> {
  const operation = query.get('op') ?? '*'
  const metric = query.get('metric') ?? 'service'
  const parts = await runs.parts(run, runs.window(run, query.get('window') ?? 'measure'))
  const [histograms, unit] = histogramsOf(parts, operation, metric)
  const snapshot = mergeHistograms(histograms).snapshot()
  return formatHistogram(query.get('format') ?? 'json', { operation, metric }, snapshot, unit)
}

/** Judges what a tool says about the run by what the server knows. */
export async function judgeRun(runs: LabRuns, run: LabRun, body: unknown): Promise<LabResponse> {
  const report = validateInput(loadToolReport, body)
  const window = runs.window(run, 'measure')
  const truth = await runs.summary(run, window)
  const series = runs
    .knownSteps(run, window.fromMs, STEP_MS)
    .map((step) => ({ ...step, atMs: step.atMs - run.plan.warmupMs }))
    .filter(({ atMs }) => atMs < window.toMs - window.fromMs)
  const verdict = judgeReport(truth, series, report)
  const validity = formatValidityReport(truth, report, verdict, series)
  run.judged = { report, verdict, validity }
  return jsonResponse(200, { ...verdict, validity })
}

/** A run in a list of runs. */
export function runOutline(run: LabRun, now: number): Record<string, unknown> {
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
  const known = ['service', 'gap', 'inflight', 'lag', ...RARE_MEASURES]
  throw LabRequestError.ofField('metric', `must be one of ${known.join(', ')}`)
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
      throw LabRequestError.ofField('format', 'must be json, hgrm or v2')
  }
}
