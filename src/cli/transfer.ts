/** `sluice import` and `sluice export`: from one machine to many, and back. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { exportStore, importStore, type TransferSettings } from '../compose/transfer.js'
import type { MovedKind, ReportProgress } from '../store/transfer/transfer.js'
import {
  type CommandOutput,
  failCommand,
  failUsage,
  formatTable,
  type PrintOutput,
  parseCommandArgs,
  runCommand,
  sanitizeForTerminal,
} from './command.js'
import { tellDatabaseFailures } from './fleet-access.js'

const IMPORT_USAGE = `usage: sluice import --from DIR

Moves the store in a folder, whose server has ended, into the PostgreSQL that SLUICE_DATABASE_URL names, which must be
empty: keys, organizations, workload identity, groups, audits, items, files, texts and the ledger. Signing keys are sealed
anew under SLUICE_SEALING_KEY_FILE. All of it is one transaction; what has arrived is read again and compared by hash.
The folder stays as it is.
`
const EXPORT_USAGE = `usage: sluice export --to DIR

Moves what the PostgreSQL that SLUICE_DATABASE_URL names holds into a new folder, which a server of one machine takes as
SLUICE_DATA_DIR. All machines must have left. What has arrived is read again and compared by hash. The database stays as
it is.
`

interface TransferPorts {
  readonly print: PrintOutput
  readonly settings: () => Promise<TransferSettings>
  /** Takes the folder for this process; throws with a sentence when a server has it. */
  readonly lockFolder: (folder: string) => { readonly release: () => void }
  /** Rejects with a sentence when a database in the folder is damaged. */
  readonly checkStore: (folder: string) => Promise<void>
}

export function importCommand(args: readonly string[], ports: TransferPorts): Promise<number> {
  return runCommand({ args, usage: IMPORT_USAGE, print: ports.print }, async () => {
    const folder = folderOf('import', 'from', args)
    if (!existsSync(join(folder, 'data.mdb')))
      failCommand(`there is no store in ${sanitizeForTerminal(folder)}`)
    const settings = await ports.settings()
    const lock = await orFail(async () => ports.lockFolder(folder))
    try {
      await orFail(() => ports.checkStore(folder))
      return await moveAndTell(ports.print, (report) => importStore({ settings, folder, report }))
    } finally {
      lock.release()
    }
  })
}

export function exportCommand(args: readonly string[], ports: TransferPorts): Promise<number> {
  return runCommand({ args, usage: EXPORT_USAGE, print: ports.print }, async () => {
    const folder = folderOf('export', 'to', args)
    const settings = await ports.settings()
    return moveAndTell(ports.print, (report) => exportStore({ settings, folder, report }))
  })
}

function folderOf(command: string, option: 'from' | 'to', args: readonly string[]): string {
  const { values } = parseCommandArgs(command, args, { [option]: { type: 'string' } }, false)
  const folder = values[option]
  if (typeof folder !== 'string' || folder === '') return failUsage(`${command} needs --${option} DIR`)
  return folder
}

/** The errors of these ports are sentences for people. */
async function orFail<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    return failCommand(sanitizeForTerminal(error instanceof Error ? error.message : String(error)))
  }
}

/** A line for each kind at its end, and once a second before it; on standard error, so that scripts get the table alone. */
async function moveAndTell(
  print: PrintOutput,
  move: (report: ReportProgress) => Promise<readonly MovedKind[]>,
): Promise<CommandOutput> {
  const begun = performance.now()
  return tellDatabaseFailures(async () => {
    const moved = await move(reportEverySecond(print)).catch((error: unknown) => {
      if (error instanceof Error && error.name === 'TransferMismatch') return failCommand(error.message)
      throw error
    })
    const rows = moved.map(({ name, count, digest }) => [name, String(count), digest])
    const seconds = ((performance.now() - begun) / 1000).toFixed(1)
    return { text: formatTable([['WHAT', 'COUNT', 'HASH'], ...rows]), remark: `done in ${seconds} s\n` }
  })
}

const REPORT_MS = 1_000

function reportEverySecond(print: PrintOutput): ReportProgress {
  let last = performance.now()
  return (name, phase, count) => {
    const now = performance.now()
    if (now - last < REPORT_MS) return
    last = now
    print(2, `${phase} ${count} ${name}\n`)
  }
}
