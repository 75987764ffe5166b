/** A comparison put together from the reference measurements, with series and curves as a run would have them. */
import type {
  ComparisonRun,
  CurvePoint,
  HeatCells,
  Repetition,
} from '../../bench/loadlab/report/repetition.js'
import type { LoadToolReport, LoadToolVerdict, RunSummary, SeriesStep } from '../../src/lab/run-summary.js'
import { judgeReport } from '../../src/lab/verdict/judge.js'
import { FIXED_RATES, OUTAGES, type ReferenceRun, SATURATIONS } from '../lab/verdict/reference-runs.js'

const ROUNDS = 6

/** Small differences between rounds that are the same in every run of the tests. */
const wobble = (round: number, seed: number): number => 1 + 0.012 * Math.sin(round * 2.3 + seed * 1.7)

function repetition(scenario: string, run: ReferenceRun, round: number, seed: number): Repetition {
  const factor = wobble(round, seed)
  const report: LoadToolReport = {
    ...run.report,
    tool: run.name,
    version: '1.2.3',
    rps: run.report.rps * factor,
    argv: ['tool', '--connections', '20', 'http://127.0.0.1:8080/'],
  }
  const series = seriesOf(run.truth)
  return {
    tool: run.name,
    round,
    scenario,
    report,
    truth: run.truth,
    series,
    histograms: {
      client: curveOf(report.percentiles, report.max),
      server: curveOf(run.truth.total.service.percentiles, run.truth.total.service.max),
    },
    verdict: verdictOf(run),
    argv: report.argv,
    cpu: { generator: report.cpuShare * factor, server: 0.31 * factor },
    ...(round === 1 && { heat: heatOf(run.truth) }),
  }
}

function curveOf(percentiles: Readonly<Record<string, number>>, max?: number): CurvePoint[] {
  const points = Object.entries(percentiles).map(([name, ms]) => ({ percentile: Number(name.slice(1)), ms }))
  return max === undefined ? points : [...points, { percentile: 100, ms: max }]
}

const verdicts = new Map<ReferenceRun, LoadToolVerdict>()

function verdictOf(run: ReferenceRun): LoadToolVerdict {
  const verdict = verdicts.get(run) ?? judgeReport(run.truth, [], run.report)
  verdicts.set(run, verdict)
  return verdict
}

/** An even load with its stall: held requests complete at its end. */
function seriesOf(truth: RunSummary): SeriesStep[] {
  const steps = Math.round(truth.window.seconds * 10)
  const usual = truth.total.arrivals / steps
  const held = (index: number) => truth.stalls.length > 0 && index >= 30 && index < 40
  const open = (truth.stalls[0]?.arrivalsDuring ?? 0) >= 200
  return Array.from({ length: steps }, (_, index) => {
    const arrivals =
      held(index) && !open ? (index === 30 ? 20 : 0) : Math.round(usual + Math.sin(index) * usual * 0.02)
    return {
      atMs: index * 100,
      arrivals,
      completions: held(index)
        ? 0
        : arrivals + (index === 40 && truth.stalls.length > 0 ? (open ? 200 : 20) : 0),
      errors: index % 37 === 36 ? 1 : 0,
      inFlightMax: held(index) ? (open ? (index - 29) * 20 : 20) : 2 + (index % 3),
      connections: 20,
      lagMax: 0.3 + (index % 11 === 0 ? 1.1 : 0) + Math.abs(Math.sin(index * 7)) * 0.4,
      cpuShare: 0.3,
      p50: 0.03,
      p99: 0.1,
    }
  })
}

function heatOf(truth: RunSummary): HeatCells {
  const edgesMs = Array.from({ length: 33 }, (_, i) => 0.01 * 10 ** (i / 6))
  const counts = Array.from({ length: Math.round(truth.window.seconds * 10) }, (_, step) => {
    const row = edgesMs.slice(1).map(() => 0)
    const put = (ms: number, count: number) => {
      const band = edgesMs.findIndex((edge, i) => ms >= edge && ms < (edgesMs[i + 1] ?? Infinity))
      row[band] = (row[band] ?? 0) + count
    }
    put(0.02 + 0.03 * Math.exp(-step / 12), 14)
    put(0.04, 5)
    if (step % 9 === 0) put(0.3, 1)
    if (truth.stalls.length > 0 && step >= 30 && step < 40) put(Math.max(30, 1000 - (step - 30) * 100), 20)
    return row
  })
  return { stepMs: 100, edgesMs, counts }
}

/** Curves of a stream driver: log-normal around a median. */
function lognormal(median: number, sigma: number): CurvePoint[] {
  return Array.from({ length: 100 }, (_, i) => {
    const p = (i + 0.5) / 100
    const z = Math.log(p / (1 - p)) * 0.5513
    return { percentile: p * 100, ms: median * Math.exp(sigma * z) }
  })
}

export function sampleComparison(): ComparisonRun {
  const rounds = Array.from({ length: ROUNDS }, (_, i) => i + 1)
  const tables: [string, readonly ReferenceRun[]][] = [
    ['hold', OUTAGES.slice(0, 12)],
    ['rate', FIXED_RATES],
    ['saturation', SATURATIONS],
  ]
  const repetitions = tables.flatMap(([scenario, runs]) =>
    runs.flatMap((run, seed) => rounds.map((round) => repetition(scenario, run, round, seed))),
  )
  const disturbed = repetitions.map((one) =>
    one.tool === 'wrk' && one.round === 3 ? { ...one, cpu: { ...one.cpu, generator: 0.38 } } : one,
  )
  const streams = rounds.map(
    (round): Repetition => ({
      ...repetition('streams', FIXED_RATES[3]!, round, 1),
      tool: 'drive-sse',
      streams: {
        firstToken: lognormal(201 * wobble(round, 1), 0.01),
        gap: lognormal(20.4, 0.06),
        tokensPerSecond: 24_800,
        streams: 500,
      },
    }),
  )
  return {
    id: '2026-11-20T16-00-00-sample',
    startedAt: '2026-11-20T16:00:00.000Z',
    finishedAt: '2026-11-20T16:21:00.000Z',
    command: 'npm run bench -- compare',
    machine: {
      cpu: 'Example CPU 3.0 GHz',
      cores: 2,
      smt: 'off',
      frequencyPolicy: 'performance',
      virtualMachine: 'kvm',
      memoryGiB: 24,
      kernel: 'Linux 6.1.0',
      node: 'v20.20.2',
      dataFileSystem: 'ext4',
      loadAverageBefore: '0.10 0.12 0.09',
    },
    source: { revision: 'a1b2c3d4e5', libraries: { 'uWebSockets.js': '20.0.8', echarts: '6.1.0' } },
    pinning: { serverCores: [0], generatorCores: [1], warnings: [] },
    warnings: ['the machine was busy: other programs used its cores in 3 of 90 repetitions'],
    server: { argv: ['node', 'dist/src/main.js', 'serve', '--lab'], workers: 1, recording: true },
    limits: { 'open files': '1048576', 'local ports': '32768 60999' },
    tools: [
      { tool: 'autocannon', version: '9.0.0' },
      { tool: 'wrk', version: '4.1.0' },
      { tool: 'vegeta', version: null, note: 'not installed' },
    ],
    rounds: ROUNDS,
    warmupRule: '3 s of the same load before each run, which then runs on without a pause',
    measureSeconds: 8,
    orderSeed: 20_261_120,
    order: rounds.map((round) => (round % 2 === 0 ? ['wrk', 'hey', 'k6'] : ['k6', 'wrk', 'hey'])),
    scenarios: [
      {
        name: 'hold',
        says: '200 requests/s for 8 s; for one second every answer is withheld. Users who call at that rate wait: p90 200, p99 920, p99.9 992 ms.',
      },
      {
        name: 'rate',
        says: '100 requests/s to the report operation, whose delays are even over 100 to 500 ms. Truth: p50 300, p90 460, p99 496 ms.',
      },
      { name: 'saturation', says: '64 connections ask the fastest operation as fast as the tool can.' },
      { name: 'streams', says: '500 streams of 32 tokens, the first after 200 ms, gaps of 20 ms.' },
    ],
    repetitions: [
      ...disturbed,
      ...streams,
      { ...disturbed[0]!, tool: 'siege', failure: 'siege printed nothing that its parser knows' },
    ],
    sweeps: [
      {
        scenario: 'health',
        capacity: 92_000,
        limitMs: 2,
        points: [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110].map((share) => ({
          target: share * 920,
          achieved: Math.min(share * 920, 91_500),
          p50: share < 95 ? 0.05 + 0.03 / (1.02 - share / 100) : 8 * (share - 90),
          p99: share < 95 ? 0.16 + 0.09 / (1.01 - share / 100) : 30 * (share - 90),
          errors: 0,
        })),
      },
    ],
  }
}
