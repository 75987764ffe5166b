/** A ledger that moves from an embedded store to PostgreSQL and back is the same ledger. */
import { join } from 'node:path'
import fc from 'fast-check'
import { t } from 'tap'
import { newGenerationId } from '../../../src/base/ids.js'
import { openLedger } from '../../../src/compose/ledger.js'
import { ledgerPaths } from '../../../src/ledger/journal/segment-format.js'
import { LedgerBatch } from '../../../src/store/ledger/ledger-batch.js'
import type { LedgerSink, LedgerSource } from '../../../src/store/ledger/ledger-transfer.js'
import { encodeClosedLine, encodeLostLine, encodePayerLine } from '../../../src/store/ledger/row-text.js'
import { type LedgerPayer, organizationPayer } from '../../../src/store/ledger-store.js'
import { openLmdbLedgerTransfer } from '../../../src/store/lmdb/ledger-transfer.js'
import { openPostgresLedgerReader } from '../../../src/store/postgres/ledger.js'
import { readPostgresLedger, writePostgresLedger } from '../../../src/store/postgres/ledger-transfer.js'
import { ledgerRow } from '../../support/arbitraries/ledger-rows.js'
import { idOf } from '../../support/data/accounts.js'
import { tempFolder } from '../../support/data/temp-folder.js'
import { WITHOUT_POSTGRES } from '../../support/servers/postgres-cluster.js'
import { SharedLedgers } from '../../support/servers/shared-ledger.js'

const NOW = Date.parse('2026-11-20T12:00:00Z')

async function move(from: LedgerSource, to: LedgerSink): Promise<void> {
  for await (const rows of from.rows()) await to.addRows(rows)
  for await (const sums of from.sums()) await to.addSums(sums)
}

async function contentOf(source: LedgerSource): Promise<{ rows: string[]; sums: string[] }> {
  const rows: string[] = []
  const sums: string[] = []
  for await (const piece of source.rows()) rows.push(...piece.map(({ payer, line }) => `${payer}\n${line}`))
  for await (const piece of source.sums()) {
    sums.push(...piece.map((sum) => JSON.stringify(Object.entries(sum).sort())))
  }
  return { rows: rows.sort(), sums: sums.sort() }
}

t.test('from an embedded ledger to PostgreSQL and back', { skip: WITHOUT_POSTGRES }, async (t) => {
  const shared = await SharedLedgers.start(t)
  const sample = fc.sample(fc.tuple(ledgerRow, fc.nat(40 * 24 * 3_600_000), fc.nat(1e12)), {
    numRuns: 2_000,
    seed: 20,
  })
  const rows = sample.map(([row, ago, cost], n) => ({
    ...row,
    ...{ id: newGenerationId(NOW - ago), organizationId: idOf(n % 3), cost },
  }))
  const dataDir = tempFolder(t)
  const embedded = openLedger(dataDir)
  const lines = rows.flatMap((row, n) => [
    encodePayerLine(row).slice(0, -1),
    ...(n % 10 === 0 ? [lostLine(row)] : []),
    Buffer.from(encodeClosedLine(row).slice(0, -1)).toString('latin1'),
  ])
  await embedded.ledger.append(
    [
      {
        journal: '1-1-1',
        from: { segment: 0, offset: 0 },
        batch: new LedgerBatch(lines, new Map()),
        to: { segment: 0, offset: 1, done: false },
      },
    ],
    false,
  ).durable
  const payers: LedgerPayer[] = [0, 1, 2].map((n) => organizationPayer(idOf(n)))
  const spent = await embedded.ledger.spending(payers, NOW)
  const answers = await Promise.all(rows.slice(0, 100).map(({ id }) => embedded.ledger.row(id)))
  await embedded.ledger.close()

  const source = openLmdbLedgerTransfer(ledgerPaths(dataDir).database)
  const before = await contentOf(source)
  t.equal(before.rows.length, 2_200)
  const { database } = await shared.fleet(t)
  await database.transaction((query) => move(source, writePostgresLedger(query)))
  t.strictSame(await database.transaction((query) => contentOf(readPostgresLedger(query))), before)
  const reader = openPostgresLedgerReader(database)
  t.strictSame(await reader.spending(payers, NOW), spent)
  for (const [at, answer] of answers.entries()) t.strictSame(await reader.row(rows[at]!.id), answer)
  const [hours] = await database.query(
    `SELECT (SELECT sum(cost) FROM sluice.ledger_hours) = (SELECT sum(cost) FROM sluice.ledger_rows) AS same`,
  )
  t.same(hours, { same: true })

  const back = join(tempFolder(t), 'ledger')
  const target = openLmdbLedgerTransfer(back)
  await database.transaction((query) => move(readPostgresLedger(query), target))
  t.strictSame(await contentOf(target), before)
  await target.close()
  await source.close()
})

function lostLine(row: {
  readonly id: string
  readonly keyHash: string
  readonly organizationId: string
}): string {
  const lost = { model: 'a', provider: 'é', status: 0, fault: 'provider-failed', upstreamCost: 5 }
  const figures = { promptTokens: 1, completionTokens: 2, estimated: true, durationMs: 3 }
  const line = encodeLostLine({ ...row, workspaceId: null, ...lost, ...figures })
  return Buffer.from(line.slice(0, -1)).toString('latin1')
}
