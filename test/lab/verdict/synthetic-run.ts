/** Runs and reports put together from a few figures, for tests. */
import type {
  DistributionSummary,
  LoadToolReport,
  OperationSummary,
  RunStall,
  RunSummary,
} from '../../../src/lab/run-summary.js'

export const EMPTY_DISTRIBUTION: DistributionSummary = { count: 0, mean: 0, max: 0, percentiles: {} }

export function quantilesOf(
  count: number,
  percentiles: Record<string, number>,
  mean = percentiles.p50 ?? 0,
  max = Math.max(0, ...Object.values(percentiles)),
): DistributionSummary {
  return { count, mean, max, percentiles }
}

/** An answer of a fast operation on a quiet machine. */
export function fastService(count: number): DistributionSummary {
  return quantilesOf(
    count,
    { p50: 0.02, p75: 0.03, p90: 0.04, p95: 0.05, p99: 0.08, 'p99.9': 0.15 },
    0.02,
    0.15,
  )
}

/** What a run has unless a test says otherwise: nothing went wrong. */
const CLEAN = {
  inFlight: 0,
  aborted: 0,
  inFlightMean: 0,
  cv: 0.05,
  dispersion: 0.05,
  connections: 20,
  shareBusy: null as number | null,
  faults: {} as Readonly<Record<string, number>>,
  lateness: EMPTY_DISTRIBUTION,
  stalls: [] as readonly RunStall[],
  marks: [] as readonly string[],
  expect: null as RunSummary['expect'],
  lag: quantilesOf(800, { p50: 0.1, p99: 1.2 }),
  /** Cores that other programs kept busy besides the tool, which takes the 0.2 of `reportOf`. */
  foreign: 0,
}

type RunFigures = Partial<typeof CLEAN> & {
  readonly seconds: number
  readonly arrivals: number
  /** All that were completed, when absent. */
  readonly statuses?: Readonly<Record<string, number>>
  readonly service?: DistributionSummary
  /** As many as there are, when absent. */
  readonly opened?: number
}

export function runOf(given: RunFigures): RunSummary {
  const figures = { ...CLEAN, ...given }
  const {
    seconds,
    connections,
    opened = connections,
    shareBusy,
    lag,
    marks,
    stalls,
    expect,
    foreign,
  } = figures
  const operation = operationOf(figures)
  return {
    id: '7f3a',
    label: 'reference',
    expect,
    state: 'stopped',
    seed: 1,
    delays: 'quasi',
    window: { fromNs: '1000000000', toNs: String(1_000_000_000 + seconds * 1e9), seconds },
    marks,
    total: operation,
    operations: { hello: operation },
    connections: { peak: connections, opened, closed: connections, mean: connections, shareBusy },
    workers: [{ worker: 1, cpuShare: 0.3, lag }],
    others: { seconds, cores: foreign + 0.2 },
    stalls,
    environment: {},
  }
}

function operationOf(figures: RunFigures & typeof CLEAN): OperationSummary {
  const { seconds, arrivals, inFlight, aborted, faults, lateness, cv, dispersion, inFlightMean } = figures
  const completed = arrivals - inFlight - aborted
  const { statuses = { '200': completed }, service = fastService(completed) } = figures
  return {
    arrivals,
    completed,
    aborted,
    inFlight,
    statuses,
    bytesIn: 0,
    bytesOut: 0,
    faults,
    rate: arrivals / seconds,
    service,
    delayError: EMPTY_DISTRIBUTION,
    gap: { ...EMPTY_DISTRIBUTION, cv, dispersion },
    concurrency: { seen: EMPTY_DISTRIBUTION, max: 20, mean: inFlightMean },
    lateness,
    wait: EMPTY_DISTRIBUTION,
    firstChunk: EMPTY_DISTRIBUTION,
    chunkGap: EMPTY_DISTRIBUTION,
    chunks: EMPTY_DISTRIBUTION,
    backpressure: EMPTY_DISTRIBUTION,
  }
}

/** A stop of worker 1 `fromS` seconds into the window. */
interface StallFigures {
  readonly kind?: RunStall['kind']
  readonly during?: number
  readonly after5?: number
  readonly after100?: number
  readonly connections?: number
  readonly worker?: number
}

/** A stall of worker 1 unless told otherwise, `fromS` seconds into the window. */
export function stallOf(
  fromS: number,
  forS: number,
  { kind = 'hold', during = 0, after5 = 0, after100, connections = 20, worker = 1 }: StallFigures = {},
): RunStall {
  return {
    kind,
    worker,
    startNs: String(Math.round(1e9 + fromS * 1e9)),
    endNs: String(Math.round(1e9 + (fromS + forS) * 1e9)),
    arrivalsDuring: during,
    arrivals5msAfter: after5,
    arrivals100msAfter: after100 ?? after5,
    connectionsAfter: connections,
  }
}

/** A report of `done` answers; everything else as a careful tool would have it. */
export function reportOf(
  given: Partial<LoadToolReport> & { done: number; durationS: number },
): LoadToolReport {
  return {
    tool: 'tool',
    version: '1',
    argv: [],
    loop: 'closed',
    connections: 20,
    errors: {},
    statuses: { '200': given.done },
    rps: given.done / given.durationS,
    percentiles: {},
    quantum: 0.001,
    cpuShare: 0.2,
    cpuCores: 1,
    wallS: given.durationS,
    ...given,
  }
}
