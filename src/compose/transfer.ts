/** Moves a store between a folder and the PostgreSQL that machines share, for commands of the command line. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { createLog } from '../base/log.js'
import type { Config } from '../config/config.js'
import {
  createSealer,
  loadSealingKey,
  opensCheck,
  SEALING_KEY_FILE,
  type Sealer,
  sealCheck,
  sealingKeyOf,
} from '../identity/sealing-key.js'
import { ledgerPaths } from '../ledger/journal/segment-format.js'
import { JournalIngest } from '../ledger/journal-ingest.js'
import type { Query } from '../store/postgres/database.js'
import type { MovedKind, ReportProgress, TransferDirection } from '../store/transfer/transfer.js'
import { withDatabase } from './fleet-commands.js'
import { openLedger } from './ledger.js'

export type TransferSettings = Pick<Config, 'databaseUrl' | 'sealingKeyFile' | 'ledgerDays'>

interface TransferCall {
  readonly settings: TransferSettings
  /** Of the embedded store. */
  readonly folder: string
  readonly report: ReportProgress
}

/** For one statement: indexes of a whole table are made within it. */
const STATEMENT_MS = 60 * 60 * 1000

const refuse = (detail: string): never => {
  throw new Fault('unavailable', { detail })
}

/**
 * Moves the store of a folder, which no server may have, into an empty database: one transaction, so that a failure
 * leaves nothing there. Resolves with what was moved; rejects with a `Fault` whose detail is a sentence, and as
 * `withDatabase`.
 */
export async function importStore({ settings, folder, report }: TransferCall): Promise<readonly MovedKind[]> {
  await takeInJournals(folder, settings)
  const sealers = { embedded: sealerOfFolder(folder, settings), postgres: sealerOfFleet(settings) }
  return inTransaction(settings, async (query) => {
    await requireEmpty(query)
    await query('UPDATE sluice.fleet SET sealing_check = $1', [sealCheck(sealers.postgres)])
    return moveAll('import', { query, folder, sealers }, report)
  })
}

/**
 * Moves what a database holds into a new folder. All machines must have left it, so that nothing of it is still on their
 * disks. The folder comes into being when all is there. Resolves and rejects as `importStore`.
 */
export async function exportStore({ settings, folder, report }: TransferCall): Promise<readonly MovedKind[]> {
  if (existsSync(folder) && readdirSync(folder).length > 0) refuse(`${folder} is not empty`)
  const draft = `${folder}.incomplete`
  return inTransaction(settings, async (query) => {
    await requireAllLeft(query)
    await requireSameKey(query, sealerOfFleet(settings))
    rmSync(draft, { recursive: true, force: true })
    mkdirSync(draft, { recursive: true })
    const sealers = { embedded: createSealer(loadSealingKey(draft)), postgres: sealerOfFleet(settings) }
    const moved = await moveAll('export', { query, folder: draft, sealers }, report)
    rmSync(folder, { recursive: true, force: true })
    renameSync(draft, folder)
    return moved
  })
}

/** No machine joins as long as it lasts. */
async function inTransaction<T>(settings: TransferSettings, run: (query: Query) => Promise<T>): Promise<T> {
  return withDatabase(settings, async (database) => {
    const { migrate } = await import('../store/postgres/migrate.js')
    await migrate(database)
    return database.transaction(
      async (query) => {
        await query('SELECT FROM sluice.fleet FOR UPDATE')
        return run(query)
      },
      { deadlineMs: STATEMENT_MS },
    )
  })
}

/** What stands in a database that is not empty, for the sentence that refuses it. */
const CONTENTS: readonly (readonly [what: string, exists: string])[] = [
  ['machines', 'SELECT FROM sluice.machines'],
  ['keys', 'SELECT FROM sluice.records WHERE value IS NOT NULL'],
  ['audit rows', 'SELECT FROM sluice.audit'],
  ['items', 'SELECT FROM sluice.item_counter WHERE last_id > 0'],
  ['files', 'SELECT FROM sluice.files'],
  ['texts', 'SELECT FROM sluice.memory_texts'],
  ['rows of the ledger', 'SELECT FROM sluice.ledger_sums'],
]

async function requireEmpty(query: Query): Promise<void> {
  const columns = CONTENTS.map(([what, exists]) => `EXISTS (${exists}) AS "${what}"`)
  const [found] = await query<Record<string, boolean>>(`SELECT ${columns.join(', ')}`)
  const held = CONTENTS.map(([what]) => what).filter((what) => found![what])
  if (held.length > 0) refuse(`the database is not empty: it holds ${held.join(', ')}`)
}

async function requireAllLeft(query: Query): Promise<void> {
  const machines = await query<{ name: string; state: string }>(
    "SELECT name, state FROM sluice.machines WHERE state <> 'left' ORDER BY name",
  )
  const [first] = machines
  if (first === undefined) return
  const names = machines.map(({ name, state }) => `${name} (${state})`).join(', ')
  refuse(
    `machines have not left: ${names}; end those that are live, start and end those that have expired, or forget them`,
  )
}

/** Under another key signing keys would go as they are, and be of no use. */
async function requireSameKey(query: Query, sealer: Sealer): Promise<void> {
  const [fleet] = await query<{ sealing_check: string | null }>('SELECT sealing_check FROM sluice.fleet')
  const check = fleet?.sealing_check ?? null
  if (check !== null && !opensCheck(sealer, check)) {
    refuse(
      'the sealing key (SLUICE_SEALING_KEY_FILE) is not the one that the secrets in the database are sealed with',
    )
  }
}

interface TransferPlace {
  readonly query: Query
  readonly folder: string
  readonly sealers: { readonly embedded: Sealer; readonly postgres: Sealer }
}

async function moveAll(
  direction: TransferDirection,
  { query, folder, sealers }: TransferPlace,
  report: ReportProgress,
): Promise<readonly MovedKind[]> {
  const { openTransfers } = await import('../store/transfer/all-kinds.js')
  const { transfers, close } = openTransfers({
    query,
    folder,
    ledgerFolder: ledgerPaths(folder).database,
    sealers,
  })
  try {
    const moved: MovedKind[] = []
    for (const transfer of transfers) moved.push(await transfer.move(direction, report))
    return moved
  } finally {
    await close()
  }
}

/** What workers have answered last may stand in their journals alone. */
async function takeInJournals(folder: string, { ledgerDays }: TransferSettings): Promise<void> {
  const ingest = new JournalIngest({
    ...openLedger(folder),
    days: ledgerDays,
    clock: systemClock,
    log: createLog('silent', 'command'),
    onCommitted: () => {},
    onFinished: () => {},
  })
  await ingest.start()
  await ingest.close()
}

const sealerOfFleet = (settings: TransferSettings): Sealer =>
  createSealer(sealingKeyOf({ ...settings, dataDir: '' }))

/** A server of one machine has sealed with the key of its folder, or with that of the setting where there is one. */
function sealerOfFolder(folder: string, settings: TransferSettings): Sealer {
  const fleet = sealerOfFleet(settings)
  const file = join(folder, SEALING_KEY_FILE)
  if (!existsSync(file)) return fleet
  const own = createSealer(readFileSync(file))
  return {
    seal: (plain, purpose) => own.seal(plain, purpose),
    open: (sealed, purpose) => own.open(sealed, purpose) ?? fleet.open(sealed, purpose),
  }
}
