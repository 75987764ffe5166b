/** The two files of an LMDB environment, and what they must be like before it is opened. */
import { accessSync, closeSync, constants, existsSync, fchownSync, openSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type ClosedFile, describeClosedFile } from '../../base/closed-file.js'

const DATA = 'data.mdb'
const LOCK = 'lock.mdb'
const { R_OK, W_OK, X_OK } = constants

/**
 * The file in the folder of an environment that this process may not use; null where it may use all, and where none is
 * there yet. Asked before the environment is opened: lmdb-js ends a process by SIGSEGV whose user may not have one of
 * them.
 */
export function findClosedDatabaseFile(folder: string): ClosedFile | null {
  const paths = [DATA, LOCK].map((name) => resolve(join(folder, name)))
  const refusal = paths.map((path) => refusalOf(path, R_OK | W_OK, folder)).find((found) => found !== null)
  if (refusal !== undefined) return refusal
  // What is not there yet is made in the folder.
  return paths.every(existsSync) ? null : refusalOf(resolve(folder), W_OK | X_OK, folder)
}

function refusalOf(path: string, mode: number, folder: string): ClosedFile | null {
  try {
    accessSync(path, mode)
    return null
  } catch (error) {
    return describeClosedFile(path, error, folder)
  }
}

/**
 * Makes the lock file where there is none, for the owner of the database: one that root made, by a command or a look
 * while no server is at work, would keep the user of the server out. LMDB takes an empty one for a new one.
 */
export function makeLockFileForOwner(folder: string): void {
  if (process.geteuid?.() !== 0) return
  const data = statSync(join(folder, DATA), { throwIfNoEntry: false })
  if (data === undefined || data.uid === 0) return
  let file: number
  try {
    file = openSync(join(folder, LOCK), 'wx', 0o600)
  } catch {
    // It is there, or LMDB says what is wrong.
    return
  }
  try {
    fchownSync(file, data.uid, data.gid)
  } finally {
    closeSync(file)
  }
}
