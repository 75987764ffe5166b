/** The ingest of journals into the ledger: every line once, whatever is repeated, torn, left behind or refused. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { type Test, test } from 'tap'
import { type Clock, systemClock } from '../../src/base/clock.js'
import { newGenerationId } from '../../src/base/ids.js'
import { createLog } from '../../src/base/log.js'
import { type LedgerIntake, openLedger } from '../../src/compose/ledger.js'
import { JournalWriter } from '../../src/ledger/journal/journal-writer.js'
import { journalName, listJournals, segmentPath } from '../../src/ledger/journal/segment-format.js'
import { JournalIngest } from '../../src/ledger/journal-ingest.js'
import type { UsageDelta } from '../../src/store/ledger/ledger-batch.js'
import {
  encodeClosedLine,
  encodeLostLine,
  encodeOpenLine,
  encodePayerLine,
} from '../../src/store/ledger/row-text.js'
import {
  keyPayer,
  type LedgerRow,
  type LostAttemptRow,
  NO_LIMIT_COVERAGE,
  NOTHING_TOLD,
  organizationPayer,
} from '../../src/store/ledger-store.js'
import { hashOf, idOf } from '../support/data/accounts.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'
import { SharedLedgers } from '../support/servers/shared-ledger.js'
import { eventually } from '../support/timing/eventually.js'

/** Nobody has this process id. */
const NOBODY = 2 ** 22 + 1
const NOW = Date.parse('2026-11-20T12:00:00Z')

function rowOf(at: number, cost: number, key = 1): LedgerRow {
  return {
    id: newGenerationId(at),
    keyHash: hashOf(key),
    organizationId: idOf(1),
    workspaceId: null,
    createdAt: at,
    coverage: NO_LIMIT_COVERAGE,
    outcome: 'settled',
    cost,
    promptTokens: 1,
    completionTokens: 2,
    units: {},
    detail: {
      model: 'acme/large',
      requested: 'acme/large',
      provider: 'acme',
      api: 'completions',
      streamed: false,
      attempts: 1,
      durationMs: 5,
      firstEventMs: null,
      sessionId: null,
      estimated: false,
      guessed: false,
      fault: null,
      finish: 'stop',
      nativeFinish: 'stop',
      serviceTier: null,
      mediaParts: 0,
      audioParts: 0,
      why: NOTHING_TOLD,
    },
    lost: [],
    parts: [],
  }
}

function append(journal: JournalWriter, line: string, row: LedgerRow): void {
  journal.append(line, encodePayerLine(row))
}

function open(journal: JournalWriter, row: LedgerRow, estimate: number): void {
  const { model, provider, api } = row.detail
  append(journal, encodeOpenLine({ ...row, estimate, model, provider, api }), row)
}

function close(journal: JournalWriter, row: LedgerRow): void {
  append(journal, encodeClosedLine(row), row)
}

/** Where rows go, and the journals that they come from. */
type OpenIntake = (dataDir: string) => LedgerIntake

interface LedgerKind {
  /** An empty ledger for one test. */
  prepare(t: Test): Promise<OpenIntake>
  /** Its start does not wait for the journals of earlier runs. */
  readonly startsBehind: boolean
}

async function place(t: Test, kind: LedgerKind, now = NOW) {
  const dataDir = tempFolder(t)
  const open = await kind.prepare(t)
  const journals = join(dataDir, 'ledger', 'journals')
  const deltas: UsageDelta[] = []
  const finished: string[] = []
  const ingest = (clock: Partial<Clock> = {}): JournalIngest =>
    new JournalIngest({
      ...open(dataDir),
      days: 30,
      clock: { ...systemClock, unixSeconds: () => now / 1000, ...clock },
      log: createLog('fatal', 'test'),
      onCommitted: (_journal, shares) => deltas.push(...shares),
      onFinished: (journal) => finished.push(journal),
    })
  const started = async (): Promise<JournalIngest> => {
    const books = ingest()
    await books.start()
    if (kind.startsBehind) await books.sync()
    return books
  }
  const writer = (journal: string, segmentBytes?: number): JournalWriter =>
    new JournalWriter({
      folder: journals,
      journal,
      onFailing: (error) => t.fail(String(error)),
      onRecovered: () => {},
      ...(segmentBytes !== undefined && { segmentBytes }),
    })
  /** A whole journal of these rows. */
  const writeJournal = (name: string, rows: readonly LedgerRow[]): void => {
    const journal = writer(name)
    for (const row of rows) close(journal, row)
    journal.close()
  }
  return { journals, deltas, finished, ingest, started, writer, writeJournal }
}

/** Journals whose process is gone, as far as anybody can tell. */
const [DEAD, DEAD_LATER] = [0, 1].map((number) => journalName(NOW, NOBODY, number)) as [string, string]

const EMBEDDED: LedgerKind = { prepare: async () => openLedger, startsBehind: false }

/** Cases that every ledger passes. */
const cases = new Map<string, (t: Test, kind: LedgerKind) => Promise<void>>()
const suite = (name: string, run: (t: Test, kind: LedgerKind) => Promise<void>): void =>
  void cases.set(name, run)

suite('what a dead process has left is taken before anything else, and its open calls are closed', async (t, kind) => {
  const { journals, finished, started, writer } = await place(t, kind)
  const [settled, cut] = [rowOf(NOW, 70), rowOf(NOW + 1, 0)]
  const journal = writer(DEAD)
  open(journal, settled, 99)
  open(journal, cut, 30)
  close(journal, settled)
  journal.close()
  const books = await started()
  t.same(await books.ledger.row(settled.id), settled)
  t.match(await books.ledger.row(cut.id), {
    cost: 30,
    outcome: 'aborted-estimated',
    detail: { model: 'acme/large' },
  })
  const expected = { total: 100, daily: 100, weekly: 100, monthly: 100 }
  t.same((await books.ledger.spending([keyPayer(hashOf(1))], NOW))[0], expected)
  t.same((await books.ledger.spending([organizationPayer(idOf(1))], NOW))[0], expected)
  t.equal(listJournals(journals).size, 0)
  t.equal(finished.length, 1)
  await books.close()
})

/** Attempts that come to nothing, one with each of these upstream costs. */
const lostAttempts = (...costs: readonly number[]): LostAttemptRow[] =>
  costs.map((upstreamCost) => ({
    model: 'acme/large',
    provider: 'Acme',
    status: 0,
    fault: 'provider-failed',
    upstreamCost,
    promptTokens: 3,
    completionTokens: 0,
    estimated: true,
    durationMs: 7,
  }))

suite('lost attempts outlive the process that has lost them, are in no sum, and are told with their call', async (t, kind) => {
  const { journals, started, writer } = await place(t, kind)
  const [served, cut, other] = [rowOf(NOW, 70), rowOf(NOW + 1, 0), rowOf(NOW + 2, 5)]
  // A live journal, so that what was lost comes with an earlier batch than the end of its call.
  const name = journalName(NOW, process.pid, 0)
  const books = await started()
  books.expectJournal(name)
  const journal = writer(name)
  for (const row of [served, cut, other]) open(journal, row, 30)
  const lost = lostAttempts(11, 12)
  for (const each of lost) append(journal, encodeLostLine({ ...served, ...each }), served)
  append(journal, encodeLostLine({ ...cut, ...lost[0]! }), cut)
  await journal.whenWritten()
  await books.sync()
  t.equal(await books.ledger.row(served.id), null, 'it is not over')
  close(journal, served)
  close(journal, other)
  journal.close()
  books.writerDied(name)
  await books.sync()
  const told = lost.map((each) => ({ ...each, id: served.id }))
  t.same(await books.ledger.row(served.id), { ...served, lost: told })
  t.same((await books.ledger.row(other.id))?.lost, [])
  t.match(await books.ledger.row(cut.id), {
    outcome: 'aborted-estimated',
    cost: 30,
    lost: [{ upstreamCost: 11 }],
  })
  t.equal((await books.ledger.spending([keyPayer(hashOf(1))], NOW))[0]!.total, 70 + 5 + 30)
  t.same([...listJournals(journals)], [])
  await books.close()
})

suite('parts of a request are told with it, are charged once, and are no calls of their own, also where its process died', async (t, kind) => {
  const { journals, started, writer } = await place(t, kind)
  const root = rowOf(NOW, 0)
  const turns = Array.from({ length: 11 }, (_, at) => ({
    ...rowOf(NOW, at + 1),
    id: `${root.id}.${at + 1}`,
  }))
  const cut = { ...rowOf(NOW, 0), id: `${root.id}.12` }
  const name = journalName(NOW, process.pid, 0)
  const books = await started()
  books.expectJournal(name)
  const journal = writer(name)
  open(journal, root, 0)
  for (const turn of turns) open(journal, turn, 500)
  open(journal, cut, 30)
  for (const turn of turns) close(journal, turn)
  const [lost] = lostAttempts(11)
  append(journal, encodeLostLine({ ...turns[0]!, ...lost! }), turns[0]!)
  await journal.whenWritten()
  await books.sync()
  t.equal(await books.ledger.row(root.id), null, 'it is not over')
  t.equal((await books.ledger.row(turns[1]!.id))?.cost, 2, 'its parts can be read already')
  journal.close()
  books.writerDied(name)
  await books.sync()
  const told = await books.ledger.row(root.id)
  t.match(told, { outcome: 'aborted-estimated', cost: 0, lost: [{ upstreamCost: 11 }] })
  t.strictSame(
    told?.parts.slice(0, -1),
    turns.map((turn) => ({ ...turn, lost: [] })),
    'in their order',
  )
  t.match(told?.parts.at(-1), { id: cut.id, cost: 30, outcome: 'aborted-estimated' })
  t.equal((await books.ledger.spending([keyPayer(hashOf(1))], NOW))[0]!.total, 66 + 30)
  t.same([...listJournals(journals)], [])
  await books.close()
})

suite('a call counts in the periods in which it was dispatched', async (t, kind) => {
  const { started, writeJournal } = await place(t, kind)
  const times = [
    '2026-11-20T00:00:00Z',
    '2026-11-19T23:59:59Z',
    '2026-11-16T00:00:00Z',
    '2026-11-15T23:59:59Z',
    '2026-11-01T00:00:00Z',
    '2026-10-31T23:59:59Z',
  ]
  writeJournal(
    DEAD,
    times.map((at) => rowOf(Date.parse(at), 1)),
  )
  const books = await started()
  t.same((await books.ledger.spending([keyPayer(hashOf(1))], NOW))[0], {
    total: 6,
    daily: 1,
    weekly: 3,
    monthly: 5,
  })
  t.equal(await books.ledger.spentIn(keyPayer(hashOf(1)), null), 6)
  t.same((await books.ledger.spending([keyPayer(hashOf(2))], NOW))[0], {
    total: 0,
    daily: 0,
    weekly: 0,
    monthly: 0,
  })
  await books.close()
})

suite('a live journal is taken as it grows, over its segments, each line once', async (t, kind) => {
  const { journals, deltas, started, writer } = await place(t, kind)
  const books = await started()
  const name = journalName(NOW, process.pid, 7)
  books.expectJournal(name)
  const journal = writer(name, 4096)
  const ids: string[] = []
  for (let turn = 0; turn < 40; turn++) {
    const row = rowOf(NOW + turn, 1)
    ids.push(row.id)
    open(journal, row, 5)
    await journal.whenWritten()
    if (turn % 5 === 0) await books.sync()
    close(journal, row)
    await journal.whenWritten()
  }
  t.equal(await books.sync(), true)
  for (const id of ids) t.equal((await books.ledger.row(id))?.cost, 1)
  t.equal((await books.ledger.spending([keyPayer(hashOf(1))], NOW))[0]!.total, 40)
  t.equal(
    deltas.reduce((sum, { cost }) => sum + cost, 0),
    40,
  )
  t.ok((listJournals(journals).get(name)?.length ?? 9) <= 2, 'segments that are taken go')
  journal.close()
  books.writerDied(name)
  await books.sync()
  t.equal(listJournals(journals).size, 0)
  await books.close()
})

suite('several that take the same journals at the same time count nothing twice and lose nothing', async (t, kind) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ cost: fc.nat(100), closed: fc.boolean(), later: fc.boolean() }), {
        minLength: 1,
        maxLength: 20,
      }),
      fc.integer({ min: 1, max: 3 }),
      async (calls, rivals) => {
        const { ingest, writer } = await place(t, kind)
        const journal = writer(DEAD, 2048)
        const held: LedgerRow[] = []
        for (const { cost, closed, later } of calls) {
          const row = rowOf(NOW, cost)
          open(journal, row, cost)
          if (closed && !later) close(journal, row)
          if (closed && later) held.push(row)
          await journal.whenWritten()
        }
        for (const row of held) close(journal, row)
        journal.close()
        const expected = calls.reduce((sum, { cost }) => sum + cost, 0)
        const ingests = Array.from({ length: rivals }, ingest)
        await Promise.all(ingests.map((each) => each.start()))
        if (kind.startsBehind) await Promise.all(ingests.map((each) => each.sync()))
        for (const { ledger } of ingests)
          t.equal((await ledger.spending([keyPayer(hashOf(1))], NOW))[0]!.total, expected)
        for (const each of ingests) await each.close()
      },
    ),
    { numRuns: 25 },
  )
})

suite('a journal whose files come back after it was taken is not taken again, and forgotten after some weeks', async (t, kind) => {
  const { journals, ingest, writer, started } = await place(t, kind)
  const journal = writer(DEAD)
  close(journal, rowOf(NOW, 7))
  journal.close()
  const path = segmentPath(journals, DEAD, 0)
  const lines = readFileSync(path)
  await (await started()).close()
  t.notOk(existsSync(path))
  // A loss of power undoes what the disk has not been told to keep, as the removal of a file.
  writeFileSync(path, lines)
  const books = await started()
  t.equal((await books.ledger.spending([keyPayer(hashOf(1))], NOW))[0]!.total, 7)
  t.notOk(existsSync(path))
  await books.close()
  if (kind !== EMBEDDED) return
  const { ledger } = ingest()
  t.equal((await ledger.readJournal(DEAD)).mark.done, true)
  await ledger.prune({ days: 30, now: NOW + 29 * 24 * 60 * 60 * 1000 })
  t.equal((await ledger.readJournal(DEAD)).mark.done, true)
  await ledger.prune({ days: 30, now: NOW + 31 * 24 * 60 * 60 * 1000 })
  t.same((await ledger.readJournal(DEAD)).mark, { segment: 0, offset: 0, done: false })
  await ledger.close()
})

suite('rows go when they are too old, and what was spent stays', async (t, kind) => {
  // A database goes by its own clock.
  const now = Date.now()
  const { started, writeJournal } = await place(t, kind, now)
  const day = 24 * 60 * 60 * 1000
  const old = Array.from({ length: 450 }, (_, n) => rowOf(now - 31 * day - n * 100, 1))
  const young = rowOf(now - 29 * day, 1)
  writeJournal(DEAD, [...old, young])
  const books = await started()
  const gone = async (): Promise<boolean> => {
    for (const { id } of old) if ((await books.ledger.row(id)) !== null) return false
    return true
  }
  await eventually(gone)
  t.ok((await books.ledger.row(young.id)) !== null)
  t.equal((await books.ledger.spending([keyPayer(hashOf(1))], NOW))[0]!.total, 451)
  await books.close()
})

suite('a journal of an earlier process of the same number is taken, and one that cannot be read stops no other', async (t, kind) => {
  const { journals, ingest, writeJournal } = await place(t, kind)
  // In a container the processes of every run have the same numbers.
  const [same, other] = [rowOf(NOW, 1), rowOf(NOW, 2)]
  writeJournal(journalName(NOW, process.pid, 0), [same])
  mkdirSync(segmentPath(journals, journalName(NOW + 1, NOBODY, 0), 0))
  writeJournal(journalName(NOW + 2, NOBODY, 1), [other])
  // Who waits for an earlier process would do so for ever.
  const books = ingest({ monotonicMs: () => 0 })
  await books.start()
  if (kind.startsBehind) await books.sync()
  t.equal((await books.ledger.row(same.id))?.cost, 1)
  t.equal((await books.ledger.row(other.id))?.cost, 2)
  t.equal(await books.sync(), false)
  await books.close()
})

test('sums of days long gone are not kept for ever', async (t) => {
  const kind = EMBEDDED
  const { started, writeJournal } = await place(t, kind)
  const day = 24 * 60 * 60 * 1000
  const today = Math.floor(NOW / day)
  const spentOn = async (books: JournalIngest, number: number): Promise<number> =>
    books.ledger.spentIn(keyPayer(hashOf(1)), { name: 'daily', number })
  const rows = [500, 402, 401, 400, 399, 1].map((ago) => rowOf(NOW - ago * day, 1))
  writeJournal(DEAD, [...rows, rowOf(NOW - 450 * day, 1, 2)])
  const books = await started()
  t.equal(await spentOn(books, today - 401), 1)
  writeJournal(DEAD_LATER, [rowOf(NOW, 1)])
  await books.close()
  const later = await started()
  t.same(
    await Promise.all([500, 402, 401, 400, 399, 1, 0].map((ago) => spentOn(later, today - ago))),
    [0, 0, 0, 1, 1, 1, 1],
  )
  t.same((await later.ledger.spending([keyPayer(hashOf(1))], NOW))[0], {
    total: 7,
    daily: 1,
    weekly: 2,
    monthly: 2,
  })
  t.equal(await later.ledger.spentIn(keyPayer(hashOf(2)), { name: 'daily', number: today - 450 }), 1)
  await later.close()
})

suite('a clock that jumps back loses nothing: calls count in the day that it showed when they began', async (t, kind) => {
  const { started, writer } = await place(t, kind)
  const day = 24 * 60 * 60 * 1000
  const journal = writer(DEAD)
  const times = [NOW, NOW - day, NOW, NOW - 3_600_000]
  const rows = times.map((at) => rowOf(at, 1))
  for (const row of rows) open(journal, row, 5)
  for (const row of rows.toReversed()) close(journal, row)
  journal.close()
  const books = await started()
  for (const row of rows) t.same(await books.ledger.row(row.id), row)
  t.match((await books.ledger.spending([keyPayer(hashOf(1))], NOW))[0], { total: 4, daily: 3 })
  t.match((await books.ledger.spending([keyPayer(hashOf(1))], NOW - day))[0], { total: 4, daily: 1 })
  await books.close()
})

for (const [name, run] of cases) test(`embedded: ${name}`, (t) => run(t, EMBEDDED))

test('PostgreSQL', { skip: WITHOUT_POSTGRES }, async (t) => {
  const shared = await SharedLedgers.start(t)
  const kind: LedgerKind = {
    startsBehind: true,
    prepare: async (t) => {
      const fleet = await shared.fleet(t)
      return (dataDir) => fleet.intake('a', dataDir)
    },
  }
  for (const [name, run] of cases) await t.test(name, (t) => run(t, kind))
})
