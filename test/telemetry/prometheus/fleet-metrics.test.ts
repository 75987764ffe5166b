import parsePrometheusTextFormat from 'parse-prometheus-text-format'
import { test } from 'tap'
import { FleetFigureBook } from '../../../src/compose/fleet-figures.js'
import type { FleetMachine, FleetOverview } from '../../../src/store/fleet-view.js'
import { formatMetrics } from '../../../src/telemetry/prometheus/fleet-metrics.js'
import { formatWorkerMetrics } from '../../../src/telemetry/prometheus/prometheus.js'
import { workerSnapshot } from '../../support/models/worker-snapshot.js'
import { FakeClock } from '../../support/timing/fake-clock.js'

const ANT: FleetMachine = {
  ...{ name: 'ant', state: 'live', epoch: 3, release: '0.1.0', applied: 17, beatAgeMs: 412 },
  ...{ leases: 2, leased: 1_500_000_000, frozen: 0, journalBytes: 100, clockDifferenceMs: -3 },
}
const BEE: FleetMachine = { ...ANT, name: 'bee', state: 'expired', applied: 12, frozen: 1_500_000_000 }
const OVERVIEW: FleetOverview = { store: 'postgresql', version: 17, machines: [ANT, BEE] }

/** A machine whose database can be taken away; `asked` counts what it was asked for. */
function machine() {
  const clock = new FakeClock()
  const database = { isAway: false, statementsByKind: () => ({ membership: 40, bank: 7 }) }
  const asked = { times: 0 }
  const view = {
    read: async () => {
      asked.times++
      return OVERVIEW
    },
  }
  return { clock, database, asked, book: new FleetFigureBook({ machine: 'ant', database, view, clock }) }
}

/** Values by the name of the metric and its labels but for `le`. */
function samplesOf(text: string): Record<string, string | undefined> {
  const samples = parsePrometheusTextFormat(text).flatMap(({ name, metrics }) =>
    metrics.map(({ labels = {}, value }) => [`${name} ${Object.values(labels).join(' ')}`.trim(), value]),
  )
  return Object.fromEntries(samples)
}

test('a machine that stands alone has no metrics of a fleet', async (t) => {
  const workers = [workerSnapshot(0)]
  t.equal(formatMetrics({ workers, fleet: null }), formatWorkerMetrics(workers))
})

test('every machine is told with its state, its lag and its money, and statements by what they were for', async (t) => {
  const { book } = machine()
  const workers = [workerSnapshot(0, { statements: { practice: 5 } })]
  const samples = samplesOf(formatMetrics({ workers, fleet: await book.read() }))
  t.match(samples, {
    'sluice_fleet_store_up ant': '1',
    'sluice_fleet_machine_state ant live': '1',
    'sluice_fleet_machine_state bee expired': '1',
    'sluice_fleet_beat_age_seconds ant': '0.412',
    'sluice_fleet_version_lag ant': '0',
    'sluice_fleet_version_lag bee': '5',
    'sluice_fleet_leased_dollars bee': '1.5',
    'sluice_fleet_frozen_dollars ant': '0',
    'sluice_fleet_frozen_dollars bee': '1.5',
    'sluice_fleet_journal_backlog_bytes ant': '100',
    'sluice_fleet_clock_difference_seconds ant': '-0.003',
    'sluice_store_statements_total supervisor membership': '40',
    'sluice_store_statements_total supervisor bank': '7',
    'sluice_store_statements_total 0 practice': '5',
  })
})

test('the store is asked once a second at most, and not while it is away', async (t) => {
  const { clock, database, asked, book } = machine()
  await book.read()
  await book.read()
  t.equal(asked.times, 1)
  clock.advance(1_000)
  await book.read()
  t.equal(asked.times, 2)
  clock.advance(1_000)
  database.isAway = true
  const figures = await book.read()
  t.equal(asked.times, 2)
  t.match(figures, { isStoreAway: true, machines: [], statements: { membership: 40 } })
  t.match(formatMetrics({ workers: [], fleet: figures }), 'sluice_fleet_store_up{machine="ant"} 0\n')
})

test('a change that waits for all machines is counted while it waits, and timed when it has passed or failed', async (t) => {
  const { clock, book } = machine()
  let pass = (): void => {}
  const waiting = book.timeBarrier(() => new Promise<void>((resolve) => (pass = resolve)))
  t.equal((await book.read()).barrierWaiting, 1)
  clock.advance(40)
  pass()
  await waiting
  await t.rejects(
    book.timeBarrier(() => Promise.reject(new Error('no'))),
    { message: 'no' },
  )
  const { barrierWaiting, barrierMs } = await book.read()
  t.match({ barrierWaiting, barrierMs }, { barrierWaiting: 0, barrierMs: { count: 2, sum: 40 } })
})
