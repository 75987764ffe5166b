import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { FLEET_SCENARIOS } from '../../src/drill/fleet/fleet-scenarios.js'
import { FAILURE_COLUMNS, failureTable } from '../../src/store/fleet-failures.js'
import { failurePageTable, tableOfPage } from './failure-page.js'

const TABLE = failureTable({ fleetStalenessMs: 10_000, fleetWhenStoreIsAway: 'refuse' })

test('the table has a row for each failure that there may be, and each row says all', async (t) => {
  t.strictSame(
    TABLE.map(({ id }) => id),
    [
      ...['database-down', 'database-frozen', 'database-slow', 'database-restarted', 'database-failed-over'],
      ...['machine-killed', 'machine-frozen', 'machine-cut-off', 'machine-back', 'machine-disk-full'],
      ...['same-name', 'wrong-clock', 'two-releases'],
    ],
  )
  for (const row of TABLE)
    for (const [member] of FAILURE_COLUMNS) t.ok(row[member].length > 1, `${row.id} ${member}`)
})

test('what the drill plays are rows of the table', async (t) => {
  const ids = new Set(TABLE.map(({ id }) => id))
  for (const { id, row } of FLEET_SCENARIOS) t.ok(ids.has(row), `${id}: ${row}`)
})

test('times and words follow the settings', async (t) => {
  const [down] = failureTable({ fleetStalenessMs: 30_000, fleetWhenStoreIsAway: 'serve' })
  t.match(down!.keys, 'as last known, for as long as it takes')
  t.match(down!.keys, 'from 30 s on')
  const killed = failureTable({ fleetStalenessMs: 30_000, fleetWhenStoreIsAway: 'serve' }).find(
    ({ id }) => id === 'machine-killed',
  )
  t.match(killed!.keys, 'after 36 s at most')
})

test('the guide shows the table; `node dist/test/store/failure-page.js` writes it there', async (t) => {
  t.equal(tableOfPage(), failurePageTable())
})

test('the metrics that the table names are those of the program', async (t) => {
  const metrics = readFileSync('src/telemetry/prometheus/fleet-metrics.ts', 'utf8')
  for (const row of TABLE)
    for (const [name] of row.seen.matchAll(/sluice_\w+/g)) t.match(metrics, `'${name}'`, name)
})
