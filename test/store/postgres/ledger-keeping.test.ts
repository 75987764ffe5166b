/** What the shared ledger does besides taking rows: days that come and go, and what operators read of it. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { systemClock } from '../../../src/base/clock.js'
import { newGenerationId } from '../../../src/base/ids.js'
import { createLog } from '../../../src/base/log.js'
import { JournalWriter } from '../../../src/ledger/journal/journal-writer.js'
import { journalName } from '../../../src/ledger/journal/segment-format.js'
import { JournalIngest } from '../../../src/ledger/journal-ingest.js'
import { encodeClosedLine, encodeOpenLine, encodePayerLine } from '../../../src/store/ledger/row-text.js'
import { keyPayer, type LedgerRow, NO_LIMIT_COVERAGE, NOTHING_TOLD } from '../../../src/store/ledger-store.js'
import { hashOf, idOf } from '../../support/data/accounts.js'
import { tempFolder } from '../../support/data/temp-folder.js'
import { WITHOUT_POSTGRES } from '../../support/servers/postgres-cluster.js'
import { type LedgerFleet, SharedLedgers } from '../../support/servers/shared-ledger.js'

const DAY_MS = 24 * 60 * 60 * 1000
/** Nobody has this process id. */
const NOBODY = 2 ** 22 + 1

function rowAt(at: number, cost: number): LedgerRow {
  return {
    ...{
      id: newGenerationId(at),
      keyHash: hashOf(1),
      organizationId: idOf(1),
      workspaceId: null,
      createdAt: at,
    },
    ...{ coverage: NO_LIMIT_COVERAGE, outcome: 'settled', cost, promptTokens: 1, completionTokens: 2 },
    ...{ units: { cached_tokens: 3 }, lost: [], parts: [] },
    detail: {
      ...{ model: 'acme/größe', requested: 'acme/größe', provider: 'o\'neil \\ {x,"y"}', api: 'completions' },
      ...{ streamed: true, attempts: 2, durationMs: 5, firstEventMs: 4, sessionId: null, estimated: false },
      ...{ guessed: false, fault: null, finish: 'stop', nativeFinish: 'stop', serviceTier: null },
      ...{
        mediaParts: 0,
        audioParts: 0,
        why: { ...NOTHING_TOLD, metadata: { zero: 'a\0b', half: '\ud800', text: '\\u0000' } },
      },
    },
  }
}

/** A machine whose intake does nothing but what it is asked for. */
function machineOf(fleet: LedgerFleet, name: string, dataDir: string) {
  const intake = fleet.intake(name, dataDir)
  const ingest = new JournalIngest({
    ...intake,
    days: 30,
    clock: { ...systemClock, runAfter: () => () => {} },
    log: createLog('silent' as 'fatal', 'test'),
    onCommitted: () => {},
    onFinished: () => {},
  })
  const write = (number: number, rows: readonly LedgerRow[], isOver = true): string => {
    const journal = journalName(Date.now(), NOBODY, number)
    const folder = join(dataDir, 'ledger', 'journals')
    const writer = new JournalWriter({ folder, journal, onFailing: () => {}, onRecovered: () => {} })
    for (const row of rows) {
      const { model, provider, api } = row.detail
      writer.append(
        encodeOpenLine({ ...row, estimate: row.cost, model, provider, api }),
        encodePayerLine(row),
      )
      if (isOver) writer.append(encodeClosedLine(row), encodePayerLine(row))
    }
    writer.close()
    return journal
  }
  return { ingest, write, ledger: intake.ledger }
}

async function partitions(fleet: LedgerFleet): Promise<string[]> {
  const found = await fleet.sql<{ name: string }>(
    `SELECT relname AS name FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
     WHERE inhparent = 'sluice.ledger_rows'::regclass ORDER BY name`,
  )
  return found.map(({ name }) => name)
}

const partitionOf = (at: number): string =>
  `ledger_rows_${new Date(at).toISOString().slice(0, 10).replaceAll('-', '')}`

t.test('PostgreSQL', { skip: WITHOUT_POSTGRES }, async (t: Test) => {
  const shared = await SharedLedgers.start(t)

  t.test('a day is made once, however many meet its first row in one moment', async (t) => {
    const fleet = await shared.fleet(t)
    const days = Array.from({ length: 20 }, (_, at) => 30_000 + at)
    for (const day of days) {
      const atOnce = Array.from({ length: 8 }, () =>
        fleet.database.query('SELECT sluice.make_ledger_day($1)', [day]),
      )
      await Promise.all(atOnce)
    }
    t.same(
      await partitions(fleet),
      days.map((day) => partitionOf(day * DAY_MS)),
    )
  })

  t.test(
    'days are made ahead and go when they are too old; late rows of an old one find a place',
    async (t) => {
      const fleet = await shared.fleet(t)
      const { ingest, write, ledger } = machineOf(fleet, 'a', tempFolder(t))
      const now = Date.now()
      t.equal(await ledger.prune({ days: 30, now }), false)
      t.same(
        await partitions(fleet),
        [0, 1, 2].map((days) => partitionOf(now + days * DAY_MS)),
      )
      const [old, young] = [rowAt(now - 40 * DAY_MS, 5), rowAt(now - 29 * DAY_MS, 7)]
      write(0, [old, young])
      await ingest.start()
      await ingest.sync()
      t.ok(await ledger.row(old.id))
      t.ok((await partitions(fleet)).includes(partitionOf(now - 40 * DAY_MS)))
      for (let more = true; more; ) more = await ledger.prune({ days: 30, now: now + 1_000 * DAY_MS })
      t.equal(await ledger.row(old.id), null)
      t.same(await ledger.row(young.id), young, 'whatever the clock of this machine says')
      t.notOk((await partitions(fleet)).includes(partitionOf(now - 40 * DAY_MS)))
      const hours = await fleet.sql<{ cost: string }>('SELECT cost FROM sluice.ledger_hours')
      t.same(hours, [{ cost: '7' }])
      t.equal(await ledger.spentIn(keyPayer(hashOf(1)), null), 12, 'what was spent stays')
      await ingest.close()
    },
  )

  t.test('a day that somebody reads is removed another time, and nobody waits for it', async (t) => {
    const fleet = await shared.fleet(t)
    const { ingest, write, ledger } = machineOf(fleet, 'a', tempFolder(t))
    const now = Date.now()
    const old = rowAt(now - 40 * DAY_MS, 5)
    write(0, [old])
    await ingest.start()
    await ingest.sync()
    await fleet.database.transaction(async (query) => {
      await query('SELECT count(*) FROM sluice.ledger_rows')
      await t.rejects(fleet.database.query('SELECT sluice.keep_ledger(30)'), /unavailable|lock/)
    })
    t.ok(await ledger.row(old.id))
    t.equal(await ledger.prune({ days: 30, now }), true)
    t.equal(await ledger.row(old.id), null)
    await ingest.close()
  })

  t.test('an operator reads rows by name, whatever callers have put into them', async (t) => {
    const fleet = await shared.fleet(t)
    const { ingest, write } = machineOf(fleet, 'a', tempFolder(t))
    const row = rowAt(Date.now(), 1_500_000_000)
    write(0, [row])
    await ingest.start()
    await ingest.sync()
    const [seen] = await fleet.sql(
      'SELECT id, machine, model, provider, dollars::float8, streamed, attempts::int, units FROM sluice.ledger',
    )
    t.strictSame(seen, {
      ...{ id: row.id, machine: 'a', model: 'acme/größe', provider: 'o\'neil \\ {x,"y"}', dollars: 1.5 },
      ...{ streamed: true, attempts: 2, units: { cached_tokens: 3 } },
    })
    t.strictSame(await ingest.ledger.row(row.id), row)
    await ingest.close()
  })

  t.test(
    'what one machine has brought in all others read; a machine without anything new asks nothing',
    async (t) => {
      const fleet = await shared.fleet(t)
      const [a, b] = [machineOf(fleet, 'a', tempFolder(t)), machineOf(fleet, 'b', tempFolder(t))]
      const row = rowAt(Date.now(), 5)
      a.write(0, [row])
      await a.ingest.start()
      await a.ingest.sync()
      t.strictSame(await b.ledger.row(row.id), row)
      t.equal((await b.ledger.spending([keyPayer(hashOf(1))], Date.now()))[0]?.total, 5)
      const before = fleet.database.statements()
      for (let passes = 0; passes < 5; passes++) await Promise.all([a.ingest.sync(), b.ingest.sync()])
      t.equal(fleet.database.statements(), before)
      const writers = 20
      for (let number = 1; number <= writers; number++) a.write(number, [rowAt(Date.now(), 1)])
      await a.ingest.close()
    },
  )

  t.test(
    'two machines with journals of one name are two; a forgotten one that comes back is taken in once',
    async (t) => {
      const fleet = await shared.fleet(t)
      const folders = [tempFolder(t), tempFolder(t)]
      const started = Date.now()
      const rows = folders.map((_, at) => rowAt(started, at + 1))
      const cut = rowAt(started, 100)
      for (const [at, dataDir] of folders.entries()) {
        const { ingest, write } = machineOf(fleet, `m${at}`, dataDir)
        write(0, [rows[at]!])
        if (at === 0) write(1, [cut], false)
        await ingest.start()
        await ingest.sync()
        await ingest.close()
      }
      // Its leases are void, its rows are not; and it comes back with more.
      await fleet.sql(`SELECT sluice.void_leases('m0')`)
      const back = machineOf(fleet, 'm0', folders[0]!)
      const later = rowAt(started + 1, 1_000)
      back.write(2, [later])
      await back.ingest.start()
      await back.ingest.sync()
      for (const row of [...rows, later]) t.equal((await back.ledger.row(row.id))?.cost, row.cost)
      t.equal((await back.ledger.row(cut.id))?.outcome, 'aborted-estimated')
      t.equal(await back.ledger.spentIn(keyPayer(hashOf(1)), null), 1 + 2 + 100 + 1_000)
      await back.ingest.close()
    },
  )

  t.test('a machine that gets another name takes nothing twice out of its folder', async (t) => {
    const fleet = await shared.fleet(t)
    const dataDir = tempFolder(t)
    const before = machineOf(fleet, 'a', dataDir)
    const [row, cut] = [rowAt(Date.now(), 5), rowAt(Date.now(), 7)]
    // It is killed before its journals are finished.
    before.ingest.expectJournal(before.write(0, [row]))
    before.ingest.expectJournal(before.write(1, [cut], false))
    await before.ingest.sync()
    await before.ingest.close()
    const after = machineOf(fleet, 'b', dataDir)
    await after.ingest.start()
    await after.ingest.sync()
    t.equal(await after.ledger.spentIn(keyPayer(hashOf(1)), null), 12)
    const rows = await fleet.sql<{ id: string }>('SELECT id FROM sluice.ledger_rows ORDER BY cost')
    t.same(
      rows.map(({ id }) => id),
      [row.id, cut.id],
    )
    await after.ingest.close()
  })

  t.test('a journal whose files were not seen to go is known for ever', async (t) => {
    const fleet = await shared.fleet(t)
    const dataDir = tempFolder(t)
    const first = machineOf(fleet, 'a', dataDir)
    first.write(0, [rowAt(Date.now(), 5)])
    const disk = tempFolder(t)
    cpSync(dataDir, disk, { recursive: true })
    await first.ingest.start()
    await first.ingest.sync()
    await first.ingest.close()
    t.same(await fleet.sql('SELECT done, removed FROM sluice.ledger_journals'), [
      { done: true, removed: true },
    ])
    // As if it had died between the two, long ago; and its disk comes back.
    await fleet.sql(`UPDATE sluice.ledger_journals SET removed = false, taken_at = now() - interval '1 year'`)
    t.equal(await first.ledger.prune({ days: 30, now: Date.now() }), false)
    const back = machineOf(fleet, 'a', disk)
    await back.ingest.start()
    await back.ingest.sync()
    t.equal(await back.ledger.spentIn(keyPayer(hashOf(1)), null), 5)
    t.same(await fleet.sql('SELECT removed FROM sluice.ledger_journals'), [{ removed: true }])
    await back.ingest.close()
    const days = await partitions(fleet)
    await fleet.sql(`DROP TABLE sluice.${days.at(-1)}`)
    await fleet.sql(`UPDATE sluice.ledger_journals SET taken_at = now() - interval '1 year'`)
    await back.ledger.prune({ days: 30, now: Date.now() })
    t.same(await fleet.sql('SELECT 1 FROM sluice.ledger_journals'), [], 'those that are gone are forgotten')
  })

  t.test('sums that nothing reads any more go a part at a time', async (t) => {
    const fleet = await shared.fleet(t)
    const { ledger, ingest } = machineOf(fleet, 'a', tempFolder(t))
    const today = Math.floor(Date.now() / DAY_MS)
    await fleet.sql(
      `INSERT INTO sluice.ledger_sums
       SELECT 'k' || n, p, 1, 1, 1, 1 FROM generate_series(1, 1500) n,
         unnest(ARRAY['never', 'daily${today}', 'daily${today - 401}', 'weekly100', 'monthly100']) p`,
    )
    let parts = 1
    while (await ledger.prune({ days: 30, now: Date.now() })) parts++
    t.equal(parts, 3)
    const left = await fleet.sql<{ period: string; payers: string }>(
      'SELECT period, count(*) AS payers FROM sluice.ledger_sums GROUP BY period ORDER BY period',
    )
    t.same(left, [
      { period: `daily${today}`, payers: '1500' },
      { period: 'never', payers: '1500' },
    ])
    await ingest.close()
  })

  t.test('a row that is refused for good is put aside, and keeps no other from the ledger', async (t) => {
    const fleet = await shared.fleet(t)
    const { ingest, write, ledger } = machineOf(fleet, 'a', tempFolder(t))
    await ledger.prune({ days: 30, now: Date.now() })
    await fleet.sql('ALTER TABLE sluice.ledger_rows ADD CONSTRAINT odd CHECK (cost <> 13)')
    const rows = [1, 13, 2].map((cost) => rowAt(Date.now(), cost))
    write(0, rows)
    await ingest.start()
    t.equal(await ingest.sync(), true)
    t.same(await Promise.all(rows.map(({ id }) => ledger.row(id))), [rows[0], null, rows[2]])
    const refused = await fleet.sql<{ reason: string; content: { id: string; cost: number } }>(
      'SELECT * FROM sluice.ledger_refused',
    )
    t.match(refused, [{ machine: 'a', reason: /"odd"/, content: { id: rows[1]!.id, cost: 13 } }])
    t.equal(await ledger.spentIn(keyPayer(hashOf(1)), null), 16, 'its money counts')
    await ingest.close()
  })

  t.test('a journal that is refused keeps none of the others waiting', async (t) => {
    const fleet = await shared.fleet(t)
    const { ingest, write, ledger } = machineOf(fleet, 'a', tempFolder(t))
    const rows = [1, 2, 3].map((cost) => rowAt(Date.now(), cost))
    const journals = rows.map((row, at) => write(at, [row]))
    for (const journal of journals) ingest.expectJournal(journal)
    await fleet.sql(
      `ALTER TABLE sluice.ledger_journals ADD CONSTRAINT odd CHECK (journal <> '${journals[1]}' OR position = 0)`,
    )
    t.equal(await ingest.sync(), false)
    const costs = async () =>
      (await Promise.all(rows.map(({ id }) => ledger.row(id)))).map((row) => row?.cost)
    t.same(await costs(), [1, undefined, 3])
    await fleet.sql('ALTER TABLE sluice.ledger_journals DROP CONSTRAINT odd')
    t.equal(await ingest.sync(), true)
    t.same(await costs(), [1, 2, 3])
    await ingest.close()
  })
})
