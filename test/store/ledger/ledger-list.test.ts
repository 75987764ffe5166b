/** Lists and sums of hours: both ledgers answer what a plain reading of all rows says, page by page. */
import fc from 'fast-check'
import { type Test, t } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import { newGenerationId } from '../../../src/base/ids.js'
import { LedgerBatch } from '../../../src/store/ledger/ledger-batch.js'
import { isInScope } from '../../../src/store/ledger/ledger-query.js'
import { rollupName } from '../../../src/store/ledger/line-names.js'
import { encodeClosedLine, encodeLostLine, encodePayerLine } from '../../../src/store/ledger/row-text.js'
import { UsageTable } from '../../../src/store/ledger/usage-table.js'
import type { WritableLedger } from '../../../src/store/ledger/writable-ledger.js'
import {
  LEDGER_OUTCOMES,
  type LedgerFilter,
  type LedgerListQuery,
  type LedgerRow,
  USAGE_DIMENSIONS,
  type UsageQuery,
} from '../../../src/store/ledger-store.js'
import { LmdbEnvironment } from '../../../src/store/lmdb/environment.js'
import { LEDGER_BOOKS_TABLE, openLmdbLedger } from '../../../src/store/lmdb/ledger.js'
import { openPostgresLedger } from '../../../src/store/postgres/ledger.js'
import { ledgerRow } from '../../support/arbitraries/ledger-rows.js'
import { hashOf, idOf } from '../../support/data/accounts.js'
import { tempFolder } from '../../support/data/temp-folder.js'
import { WITHOUT_POSTGRES } from '../../support/servers/postgres-cluster.js'
import { SharedLedgers } from '../../support/servers/shared-ledger.js'

const NOW = Date.parse('2026-11-20T12:00:00Z')
const HOUR_MS = 60 * 60 * 1000
const END = Date.parse('2100-01-01T00:00:00Z')
const JOURNAL = 'j'

const agos = fc.constantFrom(0, 1, 63, 64, 40_000, HOUR_MS, 5 * HOUR_MS, 30 * HOUR_MS, 24 * 30 * HOUR_MS)
const name = fc.constantFrom('acme/large', 'acme/größe', 'quo"ted', 'line\nbreak', 'a'.repeat(140))
const session = fc.constantFrom(null, 's1', 'größe', 'back\\slash', '%_', 'nul\0')

/** A call of few kinds, so that filters meet several, with its parts. */
const call = fc
  .record({
    row: ledgerRow,
    ago: agos,
    key: fc.nat(4),
    workspace: fc.option(fc.nat(1)),
    model: name,
    provider: name,
    session,
    cost: fc.nat(1_000_000),
    byok: fc.option(fc.nat(1_000)),
    parts: fc.nat(2),
  })
  .map(({ row, ago, key, workspace, model, provider, session: sessionId, cost, byok, parts }) => {
    const { byokCost: _, ...rest } = row
    const whole: LedgerRow = {
      ...rest,
      id: newGenerationId(NOW - ago),
      createdAt: NOW - ago,
      keyHash: hashOf(key),
      organizationId: idOf(key % 2),
      workspaceId: workspace === null ? null : idOf(10 + workspace),
      cost,
      ...(byok !== null && { byokCost: byok }),
      detail: { ...row.detail, model, provider, sessionId },
    }
    const partOf = (_: unknown, at: number): LedgerRow => ({
      ...whole,
      id: `${whole.id}.${at + 1}`,
      cost: at,
      detail: { ...whole.detail, model: 'part' },
    })
    return { ...whole, parts: Array.from({ length: parts }, partOf) }
  })
const calls = fc.array(call, { minLength: 1, maxLength: 40 })

const oneOf = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(values, { freq: 2 })
const scope = fc.oneof(
  fc.constant({ organizationId: null, only: null }),
  fc.nat(2).map((n) => ({ organizationId: idOf(n), only: null })),
  fc
    .record({ workspaces: fc.subarray([idOf(10), idOf(11)]), keys: fc.subarray([hashOf(0), hashOf(1)]) })
    .map((only) => ({
      organizationId: idOf(0),
      only,
    })),
)
const time = fc
  .record({ from: agos, to: agos })
  .map(({ from, to }) => ({ from: NOW - from, to: NOW - to + 1 }))
const filter: fc.Arbitrary<LedgerFilter> = fc
  .record({
    scope,
    time: fc.oneof(fc.constant({ from: 0, to: END }), time),
    keyHash: oneOf(fc.nat(5).map(hashOf)),
    model: oneOf(fc.constantFrom('acme/large', 'acme/größe', 'quo"ted', 'part', 'none')),
    provider: oneOf(fc.constantFrom('acme/large', 'acme/größe', 'none')),
  })
  .map(({ time: of, ...rest }) => ({ ...rest, ...of }))
const listQuery: fc.Arbitrary<LedgerListQuery> = fc
  .record({
    filter,
    outcome: oneOf(fc.constantFrom(...LEDGER_OUTCOMES)),
    sessionId: oneOf(fc.constantFrom('s1', 'größe', 'back\\slash', '%', 'nul\0')),
    limit: fc.integer({ min: 1, max: 7 }),
  })
  .map(({ filter: of, ...rest }) => ({ ...of, ...rest, before: null }))
const usageQuery: fc.Arbitrary<UsageQuery> = fc
  .record({ filter, by: fc.subarray(USAGE_DIMENSIONS.filter((word) => word !== 'day')), day: fc.boolean() })
  .map(({ filter: of, by, day }) => ({
    ...of,
    from: Math.floor(of.from / HOUR_MS) * HOUR_MS,
    to: Math.ceil(of.to / HOUR_MS) * HOUR_MS,
    by: day ? ['day', ...by.filter((word) => word !== 'hour')] : by,
    limit: 1_000,
  }))

function linesOf(rows: readonly LedgerRow[]): string[] {
  return rows.flatMap((row) => {
    const lost = { model: 'm', provider: 'p', status: 0, fault: 'x', upstreamCost: 5, durationMs: 1 }
    const figures = { promptTokens: 1, completionTokens: 1, estimated: true }
    const payer = encodePayerLine(row)
    const closed = [...row.parts.toReversed(), row].map(encodeClosedLine)
    return [payer, encodeLostLine({ ...row, ...lost, ...figures }), ...closed].map((line) =>
      Buffer.from(line.slice(0, -1)).toString('latin1'),
    )
  })
}

/** In several pieces, so that what belongs together stands in several blocks. */
async function write(ledger: WritableLedger, rows: readonly LedgerRow[]): Promise<void> {
  await ledger.readJournal(JOURNAL)
  const lines = linesOf(rows)
  const cut = Math.floor(lines.length / 2)
  const payer = lines.slice(0, cut).findLast((line) => line.startsWith('P ')) ?? lines[0]!
  const pieces = [lines.slice(0, cut), [payer, ...lines.slice(cut)]]
  for (const [offset, piece] of pieces.entries()) {
    const batch = new LedgerBatch(piece, new Map())
    const from = { segment: 0, offset }
    const to = { segment: 0, offset: offset + 1, done: false }
    if (!(await ledger.append([{ journal: JOURNAL, from, batch, to }], true).durable))
      throw new Error('not taken')
  }
}

function expectedRows(rows: readonly LedgerRow[], query: LedgerListQuery): LedgerRow[] {
  const is = <T>(wanted: T | null, found: T): boolean => wanted === null || wanted === found
  return rows
    .filter((row) => isInScope(query.scope, row) && row.createdAt >= query.from && row.createdAt < query.to)
    .filter((row) => is(query.keyHash, row.keyHash) && is(query.outcome, row.outcome))
    .filter(({ detail }) => is(query.model, detail.model) && is(query.provider, detail.provider))
    .filter(({ detail }) => is(query.sessionId, detail.sessionId))
    .sort((a, b) => (a.id < b.id ? 1 : -1))
}

async function allPages(ledger: WritableLedger, query: LedgerListQuery): Promise<LedgerRow[]> {
  const found: LedgerRow[] = []
  for (let before: string | null = null, pages = 0; pages < 1_000; pages++) {
    const page = await ledger.list({ ...query, before })
    if (page === null) throw new Error('the list forgets its place')
    if (page.rows.length > query.limit) throw new Error('more than a page')
    found.push(...page.rows)
    if (page.next === null) return found
    if (before !== null && page.next.before >= before) throw new Error('the list goes back')
    before = page.next.before
  }
  throw new Error('the list has no end')
}

function expectedUsage(rows: readonly LedgerRow[], query: UsageQuery) {
  const table = new UsageTable(query.by)
  const is = (wanted: string | null, found: string): boolean => wanted === null || wanted === found
  for (const row of rows.flatMap((each) => [each, ...each.parts])) {
    const [model, provider] = [rollupName(row.detail.model), rollupName(row.detail.provider)]
    if (!isInScope(query.scope, row) || row.createdAt < query.from || row.createdAt >= query.to) continue
    if (!is(query.keyHash, row.keyHash) || !is(query.model, model) || !is(query.provider, provider)) continue
    const calls = row.id.includes('.') ? 0 : 1
    const { cost, promptTokens, completionTokens, keyHash, byokCost: byok = 0 } = row
    const failed = row.outcome === 'failed' ? calls : 0
    const hour = Math.floor(row.createdAt / HOUR_MS)
    table.add({ hour, keyHash, model, provider, cost, promptTokens, completionTokens, calls, failed, byok })
  }
  return table.lines
}

/** What both ledgers promise. */
function suite(t: Test, open: () => Promise<WritableLedger>, numRuns: number): void {
  t.test('pages hold what is looked for, the newest first, each once', async (t) => {
    await fc.assert(
      fc.asyncProperty(calls, fc.array(listQuery, { minLength: 1, maxLength: 12 }), async (rows, queries) => {
        const ledger = await open()
        await write(ledger, rows)
        for (const query of queries) {
          const found = await allPages(ledger, query)
          const wanted = expectedRows(rows, query)
          t.strictSame(
            found.map(({ id, parts }) => [id, ...parts.map((part) => part.id)]),
            wanted.map(({ id, parts }) => [id, ...parts.map((part) => part.id)]),
          )
          const [first] = found
          if (first !== undefined) t.strictSame({ ...(await ledger.row(first.id)), lost: [] }, first)
        }
        await ledger.close()
      }),
      { numRuns },
    )
  })

  t.test('sums of hours are those of the rows, told apart by whatever is asked', async (t) => {
    await fc.assert(
      fc.asyncProperty(
        calls,
        fc.array(usageQuery, { minLength: 1, maxLength: 12 }),
        async (rows, queries) => {
          const ledger = await open()
          await write(ledger, rows)
          for (const query of queries) {
            t.same(sorted(await ledger.usage(query)), sorted(expectedUsage(rows, query)))
          }
          await ledger.close()
        },
      ),
      { numRuns },
    )
  })

  t.test('more lines than are asked for are told by one more', async (t) => {
    const ledger = await open()
    const rows = [0, 1, 2].map((n) => {
      const [row] = fc.sample(call, { seed: n, numRuns: 1 })
      const detail = { ...row!.detail, model: `m${n}` }
      return { ...row!, detail, parts: [], id: newGenerationId(NOW), createdAt: NOW }
    })
    await write(ledger, rows)
    const all = { scope: { organizationId: null, only: null }, from: 0, to: END }
    const names = { keyHash: null, model: null, provider: null }
    const asked = { ...all, ...names, by: ['model'] as const }
    t.equal((await ledger.usage({ ...asked, limit: 1 })).length > 1, true)
    t.same(
      (await ledger.usage({ ...asked, limit: 3 })).map(({ model }) => model),
      ['m0', 'm1', 'm2'],
    )
    await ledger.close()
  })
}

const sorted = (lines: readonly object[]): string[] =>
  lines.map((line) => JSON.stringify(Object.entries(line).sort())).sort()

/** Takes away what an earlier build has not kept. */
async function forgetHours(folder: string): Promise<void> {
  const env = new LmdbEnvironment(folder)
  const books = env.byteTable(LEDGER_BOOKS_TABLE)
  const kept = env.inSnapshot(() => [...env.entriesWithPrefix(books, Buffer.alloc(0))])
  const keys = kept.map(({ key }) => Buffer.from(key)).filter((key) => /^[uh]/.test(key.toString('latin1')))
  await env.writeDurably(() => {
    for (const key of keys) books.remove(key)
  })
  await env.close()
}

t.test('rows of a build that kept no sums of hours are summed up before more come in', async (t) => {
  const folder = tempFolder(t)
  const early = fc.sample(call, { seed: 7, numRuns: 400 }).map((row, n) => {
    const createdAt = NOW - n * 60_000
    return { ...row, id: newGenerationId(createdAt), createdAt, parts: [] }
  })
  const query = {
    scope: { organizationId: null, only: null },
    from: 0,
    to: END,
    by: ['day', 'model'] as const,
  }
  const asked = { ...query, keyHash: null, model: null, provider: null, limit: 1_000 }
  const first = openLmdbLedger(folder)
  await write(first, early)
  const told = await first.usage(asked)
  t.same(sorted(told), sorted(expectedUsage(early, asked)))
  await first.close()
  await forgetHours(folder)

  const ledger = openLmdbLedger(folder)
  const reader = openLmdbLedger(folder)
  const page = { ...asked, outcome: null, sessionId: null, before: null, limit: 5 }
  const refused = new Fault('unavailable', { detail: 'rows of an earlier build are being summed up' })
  await t.rejects(reader.usage(asked), refused, 'half of it is not told as all of it')
  await t.rejects(reader.list(page), refused)
  const late = { ...early[0]!, id: newGenerationId(NOW + 1), createdAt: NOW + 1 }
  const batch = new LedgerBatch(linesOf([late]), new Map())
  const to = { segment: 0, offset: 1, done: false }
  const piece = { journal: 'k', from: { segment: 0, offset: 0 }, batch, to }
  t.equal(await ledger.append([piece], true).durable, true)
  const all = sorted(expectedUsage([late, ...early], asked))
  t.same(sorted(await reader.usage(asked)), all, 'each row counts once')
  t.equal((await reader.list(page))?.rows[0]?.id, late.id)
  await ledger.close()
  await reader.close()

  await forgetHours(folder)
  const quiet = openLmdbLedger(folder)
  await quiet.prune({ days: 365, now: NOW })
  t.same(sorted(await quiet.usage(asked)), all, 'also where nothing comes in')
  await quiet.close()
})

t.test('embedded', (t) => {
  suite(t, async () => openLmdbLedger(tempFolder(t)), 40)
  t.end()
})

t.test('PostgreSQL', { skip: WITHOUT_POSTGRES }, async (t) => {
  const shared = await SharedLedgers.start(t)
  const open = async (): Promise<WritableLedger> => {
    const { database } = await shared.fleet(t)
    const quiet = { epoch: () => 1, spentBy: () => [], onRefused: () => {} }
    return openPostgresLedger({ database, machine: 'a', folder: 'a', ...quiet })
  }
  suite(t, open, 8)
})
