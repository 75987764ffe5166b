/** What a run of the HTTP driver reports: the lab's common form, and what only a driver of our own can say. */
import type { HistogramSnapshot } from '../../../src/base/histogram.js'
import type { LoadToolReport } from '../../../src/lab/run-summary.js'
import type { SampleQuantiles } from '../../harness/figures/sample-set.js'
import type { LoadOutcome } from '../../harness/http/load-figures.js'
import type { HeatCells } from '../report/repetition.js'

export interface DriveReport {
  readonly report: LoadToolReport
  /** Interrupted: the figures are those of the time until then. */
  readonly partial: boolean
  readonly due: number
  /** Under way when the run was interrupted. */
  readonly cut: number
  readonly connectionsOpened: number
  readonly lateness: SampleQuantiles
  readonly latency: SampleQuantiles
  /** By kind of request, where there are several. */
  readonly kinds: Readonly<Record<string, SampleQuantiles>>
  readonly histogram: HistogramSnapshot
  /** Where it was asked for. */
  readonly heat?: HeatCells
}

interface DriveSettings {
  readonly argv: readonly string[]
  readonly kinds: readonly string[]
  readonly loop: 'open' | 'closed'
  readonly rate?: number
  readonly connections: number
  readonly timeoutMs: number
}

/** Clock readings are good to a microsecond or so. */
const QUANTUM_MS = 0.001
export const DRIVER_NAME = 'sluice-drive'
export const DRIVER_VERSION = '1'

export function driveReport(outcome: LoadOutcome, facts: DriveSettings): DriveReport {
  const { figures, partial } = outcome
  const latency = figures.latency.quantiles()
  const lateness = figures.lateness.quantiles()
  return {
    report: clientReport(outcome, facts, latency, lateness),
    partial,
    due: figures.due,
    cut: figures.cut,
    connectionsOpened: figures.connectionsOpened,
    lateness,
    latency,
    kinds: Object.fromEntries(facts.kinds.map((name, i) => [name, figures.byKind[i]!.quantiles()])),
    histogram: figures.latency.histogram(),
  }
}

function clientReport(
  { figures, startNs, endNs, seconds, busyShare }: LoadOutcome,
  facts: DriveSettings,
  latency: SampleQuantiles,
  lateness: SampleQuantiles,
): LoadToolReport {
  const open = facts.loop === 'open'
  return {
    tool: DRIVER_NAME,
    version: DRIVER_VERSION,
    argv: facts.argv,
    loop: facts.loop,
    // An open loop has as many as the server's slowness makes it need.
    connections: open ? figures.connectionsPeak : facts.connections,
    ...(facts.rate !== undefined && { rate: facts.rate }),
    startNs: String(startNs),
    endNs: String(endNs),
    durationS: seconds,
    sent: figures.sent,
    done: figures.done,
    errors: { ...figures.losses, ...(figures.cut > 0 && { cut: figures.cut }) },
    statuses: { ...figures.statuses },
    rps: seconds === 0 ? 0 : figures.done / seconds,
    mean: latency.mean,
    percentiles: latency.percentiles,
    max: latency.max,
    quantum: QUANTUM_MS,
    censor: facts.timeoutMs,
    corrected: false,
    samples: latency.count,
    ...(open && { latenessP99: lateness.percentiles.p99 ?? 0 }),
    pipelining: 1,
    cpuShare: busyShare,
    cpuCores: 1,
    wallS: seconds,
  }
}

const NAMES = ['p50', 'p90', 'p99', 'p99.9']

/** The report for a person: a few lines. */
export function driveText({ report, partial, due, cut, latency, lateness, kinds }: DriveReport): string {
  const lines = [
    `${partial ? 'PARTIAL, interrupted: ' : ''}${report.done} of ${due} requests answered in ${report.durationS.toFixed(2)} s, ${report.rps.toFixed(1)}/s`,
    `statuses ${formatCounts(report.statuses)}; without an answer ${formatCounts(report.errors)}${cut > 0 ? ` (${cut} cut by the end)` : ''}`,
    `latency from the due time, ms: ${quantileText(latency, NAMES, 3)}`,
    `sent after it was due, ms:     ${quantileText(lateness, NAMES, 3)}`,
    `connections ${report.connections}; the driver was busy ${(report.cpuShare * 100).toFixed(0)} % of a core`,
  ]
  const named = Object.entries(kinds)
  if (named.length > 1)
    for (const [name, own] of named) lines.push(`  ${name}: n ${own.count}, ${quantileText(own, NAMES, 3)}`)
  return `${lines.join('\n')}\n`
}

/** Mean, the named percentiles and the greatest, with so many digits. */
export function quantileText(
  { count, mean, percentiles, max }: SampleQuantiles,
  names: readonly string[],
  digits: number,
): string {
  if (count === 0) return 'none'
  const of = (name: string) => `${name} ${(percentiles[name] ?? 0).toFixed(digits)}`
  return `mean ${mean.toFixed(digits)}  ${names.map(of).join('  ')}  max ${max.toFixed(digits)}`
}

/** `200 7, 503 1`, or `none`. */
export function formatCounts(counts: Readonly<Record<string, number>>): string {
  const entries = Object.entries(counts).map(([name, count]) => `${name} ${count}`)
  return entries.join(', ') || 'none'
}
