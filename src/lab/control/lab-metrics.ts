import type { WorkerSnapshot } from '../../telemetry/counters/worker-stats.js'
import { formatWorkerMetrics } from '../../telemetry/prometheus/prometheus.js'
import type { RunSummary } from '../run-summary.js'

/** The counters of the workers, and what the latest run says, in the Prometheus text format. */
export function formatLabMetrics(snapshots: readonly WorkerSnapshot[], run: RunSummary | null): string {
  return formatWorkerMetrics(snapshots) + (run === null ? '' : formatRunMetrics(run))
}

function formatRunMetrics({ id, total, stalls, operations, connections }: RunSummary): string {
  const labels = `run="${id}"`
  const faults = Object.entries(operations).flatMap(([operation, { faults }]) =>
    Object.entries(faults).map(
      ([kind, n]) => `sluice_lab_faults{${labels},operation="${operation}",kind="${kind}"} ${n}\n`,
    ),
  )
  return [
    gauge(
      'sluice_lab_arrivals',
      'Calls that arrived in the run’s measurement.',
      `{${labels}} ${total.arrivals}`,
    ),
    gauge('sluice_lab_completed', 'Those that were answered.', `{${labels}} ${total.completed}`),
    gauge('sluice_lab_aborted', 'Those whose callers left.', `{${labels}} ${total.aborted}`),
    gauge('sluice_lab_in_flight', 'Those under way.', `{${labels}} ${total.inFlight}`),
    gauge('sluice_lab_stalls', 'Stalls of the run.', `{${labels}} ${stalls.length}`),
    gauge('sluice_lab_connections_peak', 'Most connections.', `{${labels}} ${connections.peak}`),
    '# HELP sluice_lab_faults Faults made on purpose.\n# TYPE sluice_lab_faults gauge\n',
    ...faults,
  ].join('')
}

function gauge(name: string, help: string, sample: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name}${sample}\n`
}
