/** All metrics of a machine: those of its workers, and of the fleet when it is one of many. */
import type { FleetFigures, MachineFigures, MetricsSnapshot } from '../counters/fleet-figures.js'
import type { WorkerSnapshot } from '../counters/worker-stats.js'
import { formatWorkerMetrics } from './prometheus.js'
import { formatMetricFamily, histogramSamples, type MetricSample } from './text-format.js'

const NANOS_PER_DOLLAR = 1e9
/** Live machines confirm within milliseconds; one that cannot be reached takes seconds. */
const BARRIER_BOUNDS_MS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 15_000]

/** The text of `/metrics`. A machine that stands alone has nothing of a fleet in it. */
export function formatMetrics({ workers, fleet }: MetricsSnapshot): string {
  const text = formatWorkerMetrics(workers)
  return fleet === null ? text : text + formatFleetMetrics(fleet, workers)
}

type MachineFamily = readonly [name: string, help: string, figureOf: (machine: MachineFigures) => number]

/** Each machine tells of all that it knows of, also of one that is dead. */
const MACHINE_FAMILIES: readonly MachineFamily[] = [
  ['sluice_fleet_beat_age_seconds', 'Since the last beat of a machine.', (m) => m.beatAgeS],
  ['sluice_fleet_version_lag', 'Versions of the change log that a machine lacks.', (m) => m.versionLag],
  [
    'sluice_fleet_leased_dollars',
    'Money in leases of a machine, over all limits.',
    (m) => m.leasedNanos / NANOS_PER_DOLLAR,
  ],
  [
    'sluice_fleet_frozen_dollars',
    'Money of them that nobody can spend.',
    (m) => m.frozenNanos / NANOS_PER_DOLLAR,
  ],
  [
    'sluice_fleet_journal_backlog_bytes',
    'Bytes of journals that are not in the ledger yet, as the machine said last.',
    (m) => m.journalBytes,
  ],
  [
    'sluice_fleet_clock_difference_seconds',
    'How far the clock of a machine is ahead of that of the store.',
    (m) => m.clockDifferenceS,
  ],
]

function formatFleetMetrics(fleet: FleetFigures, workers: readonly WorkerSnapshot[]): string {
  const { machine, machines, isStoreAway, barrierMs, barrierWaiting } = fleet
  const perMachine = MACHINE_FAMILIES.map(([name, help, figureOf]) =>
    formatMetricFamily(
      name,
      'gauge',
      help,
      machines.map((each): MetricSample => [{ machine: each.name }, figureOf(each)]),
    ),
  )
  return [
    formatMetricFamily('sluice_fleet_store_up', 'gauge', 'Whether this machine reaches the store.', [
      [{ machine }, isStoreAway ? 0 : 1],
    ]),
    formatMetricFamily(
      'sluice_fleet_machine_state',
      'gauge',
      'Always 1; the label says the state of a machine.',
      machines.map(({ name, state }): MetricSample => [{ machine: name, state }, 1]),
    ),
    ...perMachine,
    formatMetricFamily(
      'sluice_fleet_barrier_waiting',
      'gauge',
      'Changes of this machine that wait until all live machines have them.',
      [[{ machine }, barrierWaiting]],
    ),
    formatMetricFamily(
      'sluice_fleet_barrier_seconds',
      'histogram',
      'How long changes of this machine waited for that.',
      histogramSamples({ machine }, barrierMs, BARRIER_BOUNDS_MS),
    ),
    formatMetricFamily(
      'sluice_store_statements_total',
      'counter',
      'Statements to the store, by what they were for; those of the bank draw and return leases.',
      [
        ...statementSamples('supervisor', fleet.statements),
        ...workers.flatMap(({ worker, statements }) => statementSamples(String(worker), statements)),
      ],
    ),
  ].join('')
}

/** @param worker its number, or `supervisor` */
function statementSamples(worker: string, statements: Readonly<Record<string, number>>): MetricSample[] {
  return Object.entries(statements).map(([kind, count]) => [{ worker, kind }, count])
}
