/** The two files of an LMDB environment, and what they must be like before it is opened. */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchownSync,
  linkSync,
  openSync,
  rmSync,
  statSync,
} from 'node:fs'
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
 * while no server is at work, would keep the user of the server out. LMDB takes an empty one for a new one. Never throws:
 * where the system refuses it, LMDB makes its own, or says what is wrong.
 */
export function makeLockFileForOwner(folder: string): void {
  if (process.geteuid?.() !== 0) return
  const path = join(folder, LOCK)
  const draft = `${path}.${process.pid}`
  try {
    const data = statSync(join(folder, DATA), { throwIfNoEntry: false })
    if (data === undefined || data.uid === 0 || existsSync(path)) return
    try {
      makeFileFor(draft, data)
      // The lock file is there as a whole, with its owner, or not at all: what another process may have opened
      // meanwhile must not be taken away from under it.
      linkSync(draft, path)
    } finally {
      rmSync(draft, { force: true })
    }
  } catch {
    // Root without the right to give files away, and file systems without owners or links.
  }
}

function makeFileFor(path: string, owner: { readonly uid: number; readonly gid: number }): void {
  const file = openSync(path, 'wx', 0o600)
  try {
    fchownSync(file, owner.uid, owner.gid)
  } finally {
    closeSync(file)
  }
}
