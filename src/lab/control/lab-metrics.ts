import type { WorkerSnapshot } from '../../telemetry/counters/worker-stats.js'
import { formatWorkerMetrics } from '../../telemetry/prometheus/prometheus.js'
import { formatMetricFamily, type MetricSample } from '../../telemetry/prometheus/text-format.js'
import type { RunSummary } from '../run-summary.js'

/** The counters of the workers, and what the latest run says, in the Prometheus text format. */
export function formatLabMetrics(snapshots: readonly WorkerSnapshot[], run: RunSummary | null): string {
  return formatWorkerMetrics(snapshots) + (run === null ? '' : formatRunMetrics(run))
}

function formatRunMetrics({ id, total, stalls, operations, connections }: RunSummary): string {
  const faults = Object.entries(operations).flatMap(([operation, { faults }]) =>
    Object.entries(faults).map(([kind, n]): MetricSample => [{ run: id, operation, kind }, n]),
  )
  const gauge = (name: string, help: string, value: number): string =>
    formatMetricFamily(name, 'gauge', help, [[{ run: id }, value]])
  return [
    gauge('sluice_lab_arrivals', 'Calls that arrived in the run’s measurement.', total.arrivals),
    gauge('sluice_lab_completed', 'Those that were answered.', total.completed),
    gauge('sluice_lab_aborted', 'Those whose callers left.', total.aborted),
    gauge('sluice_lab_in_flight', 'Those under way.', total.inFlight),
    gauge('sluice_lab_stalls', 'Stalls of the run.', stalls.length),
    gauge('sluice_lab_connections_peak', 'Most connections.', connections.peak),
    formatMetricFamily('sluice_lab_faults', 'gauge', 'Faults made on purpose.', faults),
  ].join('')
}
