/** Names a damaged database before anything of the server opens it: reading one ends a process without a word. */
import { type ExecFileException, execFile } from 'node:child_process'
import { rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { builtProgram } from '../base/built-files.js'
import type { Log } from '../base/log.js'
import { ledgerPaths } from '../ledger/journal/segment-format.js'
import { findClosedDatabaseFile } from '../store/lmdb/database-files.js'
import { replicaFolder } from '../store/replicated/replica-folder.js'

const PROGRAM = builtProgram('src/store/lmdb/check-program.js')
/** A start waits so long for the reading of a large database. */
const BUDGET_MS = 1_000
/** The same when the last server did not end by itself. */
const BUDGET_AFTER_KILL_MS = 10_000
/** A reader that says nothing so much later than it should is ended: a page leads back to itself, say. */
const GRACE_MS = 10_000

/** What the system answers whom it refuses a file, in its own words, as LMDB tells it, and in those of Node. */
const REFUSAL = /^(?:Permission denied|Operation not permitted|Read-only file system|EACCES|EPERM|EROFS)\b/

const RESTORE = 'Put a backup of the whole data folder in its place'
const STORE_REMEDY = `${RESTORE}, or move the folder away to begin with an empty one`
const LEDGER_REMEDY = `${RESTORE}, or move the file away: then the ledger begins anew, and with it what keys and organizations have spent`

/**
 * Reads both databases of the folder, each in a process of its own. Rejects with `UnusableDatabase` when one is damaged,
 * or this user may not use it.
 */
export async function checkStore(dataDir: string, wasKilled: boolean, log: Log): Promise<void> {
  const budgetMs = wasKilled ? BUDGET_AFTER_KILL_MS : BUDGET_MS
  const readWhole = await Promise.all([
    readDatabase(dataDir, budgetMs, STORE_REMEDY),
    readDatabase(ledgerPaths(dataDir).database, budgetMs, LEDGER_REMEDY),
  ])
  if (readWhole.includes(false)) {
    log.info({ budgetMs }, 'the store is large: only a part of it was read to see whether it is sound')
  }
}

/**
 * Takes the replica of a fleet's records away when it is damaged: the store that all machines share has them. The folder
 * must be locked.
 */
export async function dropDamagedReplica(dataDir: string, log: Log): Promise<void> {
  const folder = replicaFolder(dataDir)
  try {
    await readDatabase(folder, BUDGET_MS, 'Move it away')
  } catch (error) {
    if (!(error instanceof UnusableDatabase && error.isDamaged)) throw error
    rmSync(folder, { recursive: true, force: true })
    log.warn({ folder }, 'the replica was damaged and is loaded anew')
  }
}

/** A database that cannot be used as it is. Its message is both sentences, and that nothing was changed. */
export class UnusableDatabase extends Error {
  constructor(
    readonly found: string,
    readonly remedy: string,
    readonly isDamaged = false,
  ) {
    super(`${found}${isDamaged ? '. ' : ': '}${remedy}. Nothing was changed`)
  }
}

/** Whether it was read to its end; what is not there yet was. Rejects with `UnusableDatabase`. */
async function readDatabase(folder: string, budgetMs: number, remedy: string): Promise<boolean> {
  const path = resolve(join(folder, 'data.mdb'))
  const closed = findClosedDatabaseFile(folder)
  if (closed !== null) throw new UnusableDatabase(closed.found, closed.remedy)
  // An empty file is one that is yet to become a database.
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return true
  const options = { timeout: budgetMs + GRACE_MS, killSignal: 'SIGKILL' } as const
  return new Promise((found, fail) => {
    execFile(process.execPath, [PROGRAM, folder, String(budgetMs)], options, (error, stdout, stderr) => {
      if (error === null) found(stdout === 'complete')
      else fail(failureOf(path, error, stderr, remedy))
    })
  })
}

/** What ended the reader: not every end tells of damage, and a sound database must not be given up for a backup. */
function failureOf(path: string, error: ExecFileException, stderr: string, remedy: string): UnusableDatabase {
  if (typeof error.code === 'string') {
    const found = `the database ${path} could not be checked: ${error.message}`
    return new UnusableDatabase(found, 'let this user start Node there')
  }
  if (error.killed === true) {
    const found = `the database ${path} could not be read in time`
    return new UnusableDatabase(found, 'the machine or its disk is too slow, or it is damaged')
  }
  const how = endOf(error, stderr)
  if (REFUSAL.test(how)) {
    // The modes allow it, and something else of the system does not.
    return new UnusableDatabase(
      `the database ${path} cannot be used by this user (${how})`,
      'let them have its files',
    )
  }
  const found = `the database ${path} is damaged (reading it ended with ${how})`
  return new UnusableDatabase(found, remedy, true)
}

const endOf = (error: ExecFileException, stderr: string): string =>
  error.signal ?? /^Error: (.{1,200})/m.exec(stderr)?.[1] ?? `exit code ${error.code}`
