import { statSync } from 'node:fs'
import { join } from 'node:path'
import { NO_LIMITS, type StoreLimits } from '../disk-reserve.js'
import { hasStoredContents } from '../files/content-folder.js'
import type { Store } from '../store.js'
import { createLmdbAccountStore } from './accounts.js'
import { LmdbEnvironment } from './environment.js'
import { createLmdbFederationStore } from './federation.js'
import { createLmdbFileStore } from './files.js'
import { createLmdbScimStore } from './groups.js'
import { createLmdbItemStore } from './items/item-store.js'
import { createLmdbMemoryStore } from './memory.js'

interface LmdbOptions {
  /** Folder of the store; created when absent. */
  readonly path: string
  /** Unix time in seconds, for `created_at`. */
  readonly unixSeconds: () => number
  /** None for commands of the operator. */
  readonly limits?: StoreLimits
}

/**
 * The embedded store. Safe to open from several processes at once. Throws when there are contents of files and no
 * database: a new one would know nothing of them.
 */
export function openLmdbStore({ path, unixSeconds, limits = NO_LIMITS }: LmdbOptions): Store {
  if (isWithoutDatabase(path) && hasStoredContents(path)) {
    throw new Error(
      `${join(path, 'files')} holds stored files but ${join(path, 'data.mdb')}, the database that knows them, is gone: put it back, or move the files away to begin anew`,
    )
  }
  const env = new LmdbEnvironment(path)
  const items = createLmdbItemStore(env, unixSeconds, limits)
  return {
    items,
    accounts: createLmdbAccountStore(env),
    federation: createLmdbFederationStore(env),
    files: createLmdbFileStore(env, path, unixSeconds, limits),
    memory: createLmdbMemoryStore(env, limits),
    scim: createLmdbScimStore(env),
    isWriting: () => env.isWriting,
    close: async () => {
      await items.idle()
      await env.close()
    },
  }
}

/** An empty file is one that is yet to become a database, or was one. */
function isWithoutDatabase(path: string): boolean {
  return (statSync(join(path, 'data.mdb'), { throwIfNoEntry: false })?.size ?? 0) === 0
}
