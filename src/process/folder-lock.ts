/** One server per folder: a second one would share its data, but give every limit once more. */
import { existsSync, mkdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isProcessAlive, ownProcessIdentity } from '../base/process-identity.js'

const LOCK = 'server.lock'

interface FolderLock {
  /** The server before this one did not give it back. */
  readonly wasKilled: boolean
  readonly release: () => void
}

/**
 * Takes the folder of a store, which is created when absent, for this process. Throws with a sentence when another
 * server has it. What a server that was killed has left is no obstacle.
 */
export function lockFolder(dataDir: string): FolderLock {
  const path = join(dataDir, LOCK)
  try {
    makeFolders(resolve(dataDir))
    return takeLock(dataDir, path)
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error
    throw new Error(`the data folder ${resolve(dataDir)} cannot be used: ${error.message}`)
  }
}

/** `mkdir` with `recursive` tries for ever where a folder cannot hold others and says that it is absent, as /proc does. */
function makeFolders(path: string): void {
  if (existsSync(path)) return
  makeFolders(dirname(path))
  try {
    mkdirSync(path)
  } catch (error) {
    // Another process was quicker.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** Id of the process whose server works in the folder; null where none does. Changes nothing. */
export function folderHolder(dataDir: string): number | null {
  const holder = readHolder(join(dataDir, LOCK))
  return holder !== null && isProcessAlive(holder) ? Number(holder.split('.')[0]) : null
}

function takeLock(dataDir: string, path: string): FolderLock {
  const own = ownProcessIdentity()
  let wasKilled = false
  while (!createLock(path, own)) {
    const holder = readHolder(path)
    if (holder !== null && isProcessAlive(holder)) throw new Error(describeHolder(dataDir, holder))
    wasKilled ||= holder !== null
    removeLock(path, holder)
  }
  return { wasKilled, release: () => removeLock(path, own) }
}

/** A symbolic link that leads nowhere: there at once with its text, and also where the disk has no byte left. */
function createLock(path: string, holder: string): boolean {
  try {
    symlinkSync(holder, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** The mark of the process that has the folder; null when it has gone, empty when somebody else made the file. */
function readHolder(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    if (code === 'EINVAL') return ''
    throw error
  }
}

/** Removes the lock of that holder and of nobody else: another process may have taken the folder meanwhile. */
function removeLock(path: string, holder: string | null): void {
  if (holder === null) return
  const taken = `${path}.${ownProcessIdentity()}`
  try {
    renameSync(path, taken)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  const found = readHolder(taken)
  if (found !== null && found !== holder) createLock(path, found)
  rmSync(taken, { force: true })
}

function describeHolder(dataDir: string, holder: string): string {
  const [pid] = holder.split('.')
  return `another server (process ${pid}) works in ${resolve(dataDir)}: end it first, or give this one a folder of its own with SLUICE_DATA_DIR`
}
