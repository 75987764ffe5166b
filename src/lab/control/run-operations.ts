import type { HistogramSnapshot } from '../../base/histogram.js'
import { byName, mergeHistograms } from '../summary/merge.js'
import { MILLISECONDS, quantiles, type Scale, spectrum, THINGS } from '../summary/quantiles.js'
import { added, nanoseconds } from '../summary/summarize.js'
import { RARE, type Rare, STEP_MS, type WorkerPart } from '../wire.js'
import { hdrV2 } from './hdr-encoding.js'
import { hgrm } from './histogram-text.js'
import type { LabPorts } from './ports.js'
import { Problem, read } from './problem.js'
import { clientReport, runRequest } from './requests.js'
import type { Run } from './run.js'
import type { Runs } from './runs.js'

/** An answer of the control listener. */
export interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string | Uint8Array
}

export function json(status: number, value: unknown): Answer {
  return { status, type: 'application/json', body: JSON.stringify(value) }
}

/** What can be asked about runs. Every function throws a `Problem` for what its caller did wrong. */
export class RunOperations {
  readonly #runs: Runs
  readonly #ports: LabPorts

  constructor(runs: Runs, ports: LabPorts) {
    this.#runs = runs
    this.#ports = ports
  }

  list(): Answer {
    const now = this.#ports.now()
    return json(200, { runs: this.#runs.list().map((run) => outline(run, now)) })
  }

  async create(body: unknown): Promise<Answer> {
    const request = read(runRequest, body)
    if (request.byHeader && !this.#ports.faults) {
      throw new Problem(
        403,
        'byHeader: headers are obeyed only with --lab or SLUICE_LAB_FAULTS=on',
        'byHeader',
      )
    }
    const { run, armed } = await this.#runs.create(request)
    return json(201, { ...outline(run, this.#ports.now()), armed, marks: [...run.marks] })
  }

  async stop(id: string): Promise<Answer> {
    const run = this.#runs.find(id)
    await this.#runs.stop(run)
    return this.summary(id, 'measure')
  }

  async summary(id: string, window: string): Promise<Answer> {
    const run = this.#runs.find(id)
    const summary = await this.#runs.summary(run, this.#runs.window(run, window))
    return json(200, { ...summary, ...(run.judged && { verdict: run.judged.verdict }) })
  }

  /** Lists of the steps of one operation or of all together. */
  async series(id: string, query: URLSearchParams): Promise<Answer> {
    const run = this.#runs.find(id)
    const stepMs = Number(query.get('stepMs') ?? STEP_MS)
    if (!Number.isInteger(stepMs) || stepMs < STEP_MS || stepMs % STEP_MS !== 0 || stepMs > 600_000) {
      throw new Problem(400, `stepMs: must be a multiple of ${STEP_MS}, at most 600000`, 'stepMs')
    }
    const operation = query.get('op') ?? '*'
    const steps = await this.#runs.steps(run, stepMs, operation === '*' ? undefined : operation)
    return json(200, { id: run.id, op: operation, stepMs, warmupMs: run.plan.warmupMs, steps })
  }

  async histogram(id: string, query: URLSearchParams): Promise<Answer> {
    const run = this.#runs.find(id)
    const operation = query.get('op') ?? '*'
    const metric = query.get('metric') ?? 'service'
    const window = this.#runs.window(run, query.get('window') ?? 'measure')
    const { parts } = await this.#runs.parts(run, window)
    const snapshot = histogramOf(parts, operation, metric)
    const scale = metric === 'inflight' || metric === 'chunks' ? THINGS : MILLISECONDS
    return shaped(query.get('format') ?? 'json', { operation, metric }, snapshot, scale)
  }

  /** Judges what a tool says about the run by what the server knows. */
  async client(id: string, body: unknown): Promise<Answer> {
    const run = this.#runs.find(id)
    const report = read(clientReport, body)
    const window = this.#runs.window(run, 'measure')
    const truth = await this.#runs.summary(run, window)
    const series = this.#runs
      .knownSteps(run, window.fromMs, STEP_MS)
      .map((step) => ({ ...step, atMs: step.atMs - run.plan.warmupMs }))
      .filter(({ atMs }) => atMs < window.toMs - window.fromMs)
    const verdict = this.#ports.judge(truth, series, report)
    const validity = this.#ports.validity(truth, report, verdict, series)
    run.judged = { report, verdict, validity }
    return json(200, { ...verdict, validity })
  }
}

function outline(run: Run, now: number): Record<string, unknown> {
  const { id, request, plan, judged } = run
  return {
    id,
    label: request.label,
    state: run.state(now),
    startNs: nanoseconds(plan.startMs),
    measureNs: nanoseconds(run.measureFromMs),
    endNs: nanoseconds(run.measureToMs),
    warmupS: request.warmupS,
    measureS: request.measureS,
    ...(judged !== null && { tool: judged.report.tool, verdict: judged.verdict.verdict }),
  }
}

/** Names of the interface for what the parts hold. */
const FLOWS = { gap: 'gap', inflight: 'seen' } as const

function histogramOf(parts: readonly WorkerPart[], operation: string, metric: string): HistogramSnapshot {
  if (metric === 'lag') return mergeHistograms(parts.map(({ lag }) => lag))
  const flow = metric === 'gap' || metric === 'inflight' ? FLOWS[metric] : null
  if (flow !== null && operation === '*') return mergeHistograms(parts.map(({ total }) => total[flow]))
  const all = byName(
    parts.flatMap(({ operations }) => operations),
    added,
  )
  const chosen = operation === '*' ? all : all.filter(({ name }) => name === operation)
  if (flow !== null) return mergeHistograms(chosen.map((part) => part[flow]))
  if (metric === 'service') return mergeHistograms(chosen.map(({ service }) => service))
  if (!(RARE as readonly string[]).includes(metric)) {
    throw new Problem(400, `metric: must be one of service, gap, inflight, lag, ${RARE.join(', ')}`, 'metric')
  }
  return mergeHistograms(chosen.flatMap(({ rare }) => rare[metric as Rare] ?? []))
}

function shaped(format: string, names: object, snapshot: HistogramSnapshot, scale: Scale): Answer {
  switch (format) {
    case 'json':
      return json(200, {
        ...names,
        unit: scale.whole ? 'count' : 'ms',
        ...quantiles(snapshot, scale),
        points: spectrum(snapshot, scale),
      })
    case 'hgrm':
      return { status: 200, type: 'text/plain; charset=utf-8', body: hgrm(snapshot, scale) }
    case 'v2':
      return { status: 200, type: 'text/plain; charset=utf-8', body: `${hdrV2(snapshot, scale)}\n` }
    default:
      throw new Problem(400, 'format: must be json, hgrm or v2', 'format')
  }
}
