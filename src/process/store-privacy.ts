/** Keeps the store from the other users of the machine: it holds hashes of keys, items, files and who called what. */
import { chmodSync, type Dirent, readdirSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { ledgerPaths } from '../ledger/journal/segment-format.js'
import { folderFormatPath } from './folder-format.js'

const FOLDER_MODE = 0o700
const FILE_MODE = 0o600
const OTHER_USERS = 0o077
const STICKY_BIT = 0o1000

/** A process that creates files for the store begins with it: what it creates is its user's alone. */
export function keepNewFilesPrivate(): void {
  process.umask(OTHER_USERS)
}

interface AccessRestriction {
  /** Folders and files that others could reach, and no longer can. */
  readonly closed: number
  /** Those that stay open, and why. */
  readonly open: readonly { readonly path: string; readonly reason: string }[]
}

/**
 * Takes the rights of other users from a store that is there already: one that an earlier version made, or that was
 * restored. Only names of ours are touched, because the folder may be one that holds other things too. Contents of
 * files are reached through their folders only, so that the folders are enough, however many contents there are.
 */
export function restrictStoreAccess(dataDir: string): AccessRestriction {
  const { database, journals } = ledgerPaths(dataDir)
  const files = join(dataDir, 'files')
  const folders = [dataDir, database, journals, join(dataDir, 'spool'), files]
  const databases = [dataDir, database].flatMap((folder) =>
    ['data.mdb', 'lock.mdb'].map((name) => join(folder, name)),
  )
  const inFiles = listFolderEntries(files).filter((entry) => entry.isDirectory())
  const inJournals = listFolderEntries(journals).filter((entry) => entry.isFile())
  const outcomes = [
    ...folders.map((path) => restrictPath(path, FOLDER_MODE)),
    ...inFiles.map(({ name }) => restrictPath(join(files, name), FOLDER_MODE)),
    ...[...databases, folderFormatPath(dataDir)].map((path) => restrictPath(path, FILE_MODE)),
    ...inJournals.map(({ name }) => restrictPath(join(journals, name), FILE_MODE)),
  ]
  return {
    closed: outcomes.filter((outcome) => outcome === 'closed').length,
    open: outcomes.filter((outcome) => typeof outcome === 'object'),
  }
}

type PathRestriction = 'absent' | 'private' | 'closed' | { readonly path: string; readonly reason: string }

function restrictPath(path: string, mode: number): PathRestriction {
  try {
    const found: Stats | undefined = statSync(path, { throwIfNoEntry: false })
    if (found === undefined) return 'absent'
    if ((found.mode & OTHER_USERS) === 0) return 'private'
    if ((found.mode & STICKY_BIT) !== 0)
      return { path, reason: 'it is a folder that users share, as /tmp is' }
    chmodSync(path, mode)
    return 'closed'
  } catch (error) {
    return { path, reason: (error as NodeJS.ErrnoException).code ?? String(error) }
  }
}

function listFolderEntries(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}
