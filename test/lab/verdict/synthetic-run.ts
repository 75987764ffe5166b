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

interface RunFigures {
  readonly seconds: number
  readonly arrivals: number
  readonly inFlight?: number
  readonly aborted?: number
  readonly service?: DistributionSummary
  readonly inFlightMean?: number
  readonly cv?: number
  readonly dispersion?: number
  readonly connections?: number
  readonly opened?: number
  readonly shareBusy?: number | null
  readonly statuses?: Record<string, number>
  readonly faults?: Record<string, number>
  readonly lateness?: DistributionSummary
  readonly stalls?: readonly RunStall[]
  readonly marks?: readonly string[]
  readonly expect?: RunSummary['expect']
  readonly lag?: DistributionSummary
}

export function runOf(figures: RunFigures): RunSummary {
  const operation = operationOf(figures)
  return {
    id: '7f3a',
    label: 'reference',
    expect: figures.expect ?? null,
    state: 'stopped',
    seed: 1,
    delays: 'quasi',
    window: {
      fromNs: '1000000000',
      toNs: String(1_000_000_000 + figures.seconds * 1e9),
      seconds: figures.seconds,
    },
    marks: figures.marks ?? [],
    total: operation,
    operations: { hello: operation },
    connections: {
      peak: figures.connections ?? 20,
      opened: figures.opened ?? figures.connections ?? 20,
      closed: figures.connections ?? 20,
      mean: figures.connections ?? 20,
      shareBusy: figures.shareBusy ?? null,
    },
    workers: [{ worker: 1, cpuShare: 0.3, lag: figures.lag ?? quantilesOf(800, { p50: 0.1, p99: 1.2 }) }],
    stalls: figures.stalls ?? [],
    environment: {},
  }
}

function operationOf(figures: RunFigures): OperationSummary {
  const inFlight = figures.inFlight ?? 0
  const aborted = figures.aborted ?? 0
  const completed = figures.arrivals - inFlight - aborted
  return {
    arrivals: figures.arrivals,
    completed,
    aborted,
    inFlight,
    statuses: figures.statuses ?? { '200': completed },
    bytesIn: 0,
    bytesOut: 0,
    faults: figures.faults ?? {},
    rate: figures.arrivals / figures.seconds,
    service: figures.service ?? fastService(completed),
    delayError: EMPTY_DISTRIBUTION,
    gap: { ...EMPTY_DISTRIBUTION, cv: figures.cv ?? 0.05, dispersion: figures.dispersion ?? 0.05 },
    concurrency: { seen: EMPTY_DISTRIBUTION, max: 20, mean: figures.inFlightMean ?? 0 },
    lateness: figures.lateness ?? EMPTY_DISTRIBUTION,
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
