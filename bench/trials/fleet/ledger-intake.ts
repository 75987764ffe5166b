import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { systemClock } from '../../../src/base/clock.js'
import { newGenerationId } from '../../../src/base/ids.js'
import { createLog } from '../../../src/base/log.js'
import { PostgresCluster } from '../../../src/drill/fleet/postgres-cluster.js'
import { JournalIngest } from '../../../src/ledger/journal-ingest.js'
import type { LedgerSink, LedgerSource } from '../../../src/store/ledger/ledger-transfer.js'
import { type LedgerRow, NO_LIMIT_COVERAGE, NOTHING_TOLD } from '../../../src/store/ledger-store.js'
import { openLmdbLedgerTransfer } from '../../../src/store/lmdb/ledger-transfer.js'
import { type Database, openDatabase } from '../../../src/store/postgres/database.js'
import { openPostgresLedger } from '../../../src/store/postgres/ledger.js'
import { readPostgresLedger, writePostgresLedger } from '../../../src/store/postgres/ledger-transfer.js'
import { migrate } from '../../../src/store/postgres/migrate.js'
import { exactly, figure, over, playRounds, type Trial, type TrialContext } from '../trial.js'
import { writeJournal } from '../written-journal.js'

const ROWS = 100_000
const KEYS = 1_000
const TRANSFER_MS = 600_000

function rowOf(n: number): LedgerRow {
  const at = Date.now()
  return {
    ...{
      id: newGenerationId(at),
      createdAt: at,
      coverage: NO_LIMIT_COVERAGE,
      outcome: 'settled',
      cost: n % 1_000,
    },
    keyHash: createHash('sha256')
      .update(`key ${n % KEYS}`)
      .digest('hex'),
    organizationId: `01a1fa3a-1f5c-7723-b5d8-${String(n % 7).padStart(12, '0')}`,
    workspaceId: null,
    ...{ promptTokens: 120, completionTokens: 80, units: { cached_tokens: 64 }, lost: [], parts: [] },
    detail: {
      ...{
        model: 'acme/large',
        requested: 'acme/large',
        provider: 'acme',
        api: 'completions',
        streamed: true,
      },
      ...{
        attempts: 1,
        durationMs: 812,
        firstEventMs: 143,
        sessionId: null,
        estimated: false,
        guessed: false,
      },
      ...{
        fault: null,
        finish: 'stop',
        nativeFinish: 'stop',
        serviceTier: null,
        mediaParts: 0,
        audioParts: 0,
      },
      why: NOTHING_TOLD,
    },
  }
}

async function takeJournal(database: Database, folder: string) {
  const ledger = openPostgresLedger({
    database,
    machine: 'a',
    folder: 'a',
    epoch: () => 1,
    spentBy: () => [],
    onRefused: () => {},
  })
  const ingest = new JournalIngest({
    ...{ ledger, journals: folder, days: 90, clock: systemClock, mayStartBehind: true, pause: () => 1_000 },
    log: createLog('fatal', 'trial'),
    onCommitted: () => {},
    onFinished: () => {},
  })
  ingest.expectJournal(writeJournal(folder, ROWS, rowOf))
  const statements = database.statements()
  const cpu = process.cpuUsage()
  const begun = performance.now()
  if (!(await ingest.sync())) throw new Error('the ledger did not take the journal')
  const seconds = (performance.now() - begun) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  await ingest.close()
  return {
    rowsPerSecond: ROWS / seconds,
    cpuPerRow: (user + system) / ROWS,
    rowsPerStatement: ROWS / (database.statements() - statements),
  }
}

/** Moves a ledger; how many rows a second, and a digest of them that their order does not change. */
async function move(from: LedgerSource, to: LedgerSink) {
  const begun = performance.now()
  let rows = 0
  let digest = 0n
  for await (const piece of from.rows()) {
    rows += piece.length
    for (const { payer, line } of piece) digest += digestOf(`${payer}\n${line}`)
    await to.addRows(piece)
  }
  for await (const piece of from.sums()) await to.addSums(piece)
  return { rowsPerSecond: rows / ((performance.now() - begun) / 1_000), rows, digest }
}

function digestOf(text: string): bigint {
  return createHash('sha256').update(text, 'latin1').digest().readBigUInt64LE(0)
}

async function play({ staging }: TrialContext, cluster: PostgresCluster) {
  const [first, second] = [await connect(cluster), await connect(cluster)]
  try {
    const folder = staging.freshFolder()
    const taken = await takeJournal(first, folder)
    const embedded = openLmdbLedgerTransfer(join(folder, 'ledger'))
    const long = { deadlineMs: TRANSFER_MS }
    const out = await first.transaction((query) => move(readPostgresLedger(query), embedded), long)
    const back = await second.transaction((query) => move(embedded, writePostgresLedger(query)), long)
    await embedded.close()
    const lost = 2 * ROWS - out.rows - back.rows + (out.digest === back.digest ? 0 : 1)
    return { ...taken, exported: out.rowsPerSecond, imported: back.rowsPerSecond, lost }
  } finally {
    await first.close()
    await second.close()
  }
}

async function connect(cluster: PostgresCluster): Promise<Database> {
  const url = await cluster.database()
  const database = openDatabase({ url, connections: 2, clock: systemClock, name: 'trial' })
  await migrate(database)
  return database
}

export const ledgerIntake: Trial = {
  name: 'ledger-intake',
  summary: `${ROWS / 1_000},000 rows of ${KEYS} keys from a journal into PostgreSQL, out of it and into it again`,
  rounds: 3,
  roundLimitS: 180,
  run: async (context) => {
    const cluster = await PostgresCluster.create(['fsync=on'])
    try {
      const all = await playRounds(
        context,
        () => play(context, cluster),
        ({ rowsPerSecond, cpuPerRow }) =>
          `${Math.round(rowsPerSecond)} rows/s, ${cpuPerRow.toFixed(1)} µs each`,
      )
      return {
        bars: [exactly('rows lost or changed', over(all).sum('lost'), 0)],
        figures: [
          figure('rows a second, from the journal', over(all).median('rowsPerSecond')),
          figure('CPU of the supervisor per row', over(all).median('cpuPerRow'), 'µs'),
          figure('rows per statement', over(all).median('rowsPerStatement')),
          figure('rows a second, exported', over(all).median('exported')),
          figure('rows a second, imported', over(all).median('imported')),
        ],
      }
    } finally {
      await cluster.remove()
    }
  },
}
