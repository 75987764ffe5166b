/** What a run of the HTTP driver reports: the lab's common form, and what only a driver of our own can say. */
import type { LoadToolReport } from '../../../src/lab/run-summary.js'
import type { SampleQuantiles } from '../../harness/figures/sample-set.js'
import type { LoadOutcome, LoadPlan } from '../../harness/http/http-load.js'
import { ownCpuMs } from '../../harness/machine/proc.js'
import type { HeatCells } from '../report/repetition.js'

export interface DriveReport extends ReturnType<typeof driveReport> {
  /** Where it was asked for. */
  readonly heat?: HeatCells
}

/** Clock readings are good to a microsecond or so. */
const QUANTUM_MS = 0.001
export const DRIVER_NAME = 'sluice-drive'
export const DRIVER_VERSION = '1'

/** `rate`: of an open loop, as it was asked for. */
export function driveReport(
  { figures, partial, startNs, endNs, seconds, busyShare }: LoadOutcome,
  { schedule, connections, timeoutMs, kinds }: LoadPlan,
  argv: readonly string[],
  rate: number | null,
) {
  const latency = figures.latency.quantiles()
  const lateness = figures.lateness.quantiles()
  const open = schedule !== null
  const report: LoadToolReport = {
    tool: DRIVER_NAME,
    version: DRIVER_VERSION,
    argv,
    loop: open ? 'open' : 'closed',
    // An open loop has as many as the server's slowness makes it need.
    connections: open ? figures.connectionsPeak : connections,
    ...(open && rate !== null && { rate }),
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
    censor: timeoutMs,
    corrected: false,
    samples: latency.count,
    ...(open && { latenessP99: lateness.percentiles.p99 ?? 0 }),
    pipelining: 1,
    cpuShare: busyShare,
    cpuCores: 1,
    cpuS: ownCpuMs() / 1000,
    wallS: seconds,
  }
  const ofKind = (name: string, index: number) => [name, figures.byKind[index]!.quantiles()] as const
  return {
    report,
    /** Interrupted: the figures are those of the time until then. */
    partial,
    due: figures.due,
    /** Under way when the run was interrupted. */
    cut: figures.cut,
    connectionsOpened: figures.connectionsOpened,
    lateness,
    latency,
    /** By kind of request, where there are several. */
    kinds: Object.fromEntries(kinds.map(ofKind)) as Readonly<Record<string, SampleQuantiles>>,
    histogram: figures.latency.histogram(),
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
