import { statSync } from 'node:fs'
import { join } from 'node:path'
import { NO_LIMITS, type StoreLimits } from '../disk-reserve.js'
import { hasStoredContents } from '../files/content-folder.js'
import { createAccountStore } from '../records/accounts.js'
import { createDirectoryStores } from '../records/directory.js'
import { createFederationStore } from '../records/federation.js'
import { createProviderKeyStore } from '../records/provider-keys.js'
import { createSessionStore } from '../records/sessions.js'
import type { Store } from '../store.js'
import { openDirectoryRequests, openFederationAudit, openScimAudit } from './audit-trails.js'
import { LmdbEnvironment } from './environment.js'
import { createFileFinder, createLmdbFileStore, type LmdbFileStore } from './files.js'
import { createLmdbItemStore, type LmdbItemStore } from './items/item-store.js'
import { createLmdbMemoryStore, createTextRemoval, type LmdbMemoryStore } from './memory.js'

interface LmdbOptions {
  /** Folder of the store; created when absent. */
  readonly path: string
  /** Unix time in seconds, for `created_at`. */
  readonly unixSeconds: () => number
  /** None for commands of the operator. */
  readonly limits?: StoreLimits
}

/** A store whose reads answer at once. */
export interface LmdbStore extends Store {
  readonly items: LmdbItemStore
  readonly files: LmdbFileStore
  readonly memory: LmdbMemoryStore
}

/**
 * The embedded store. Safe to open from several processes at once. Throws when there are contents of files and no
 * database: a new one would know nothing of them.
 */
export function openLmdbStore({ path, unixSeconds, limits = NO_LIMITS }: LmdbOptions): LmdbStore {
  if (isWithoutDatabase(path) && hasStoredContents(path)) {
    throw new Error(
      `${join(path, 'files')} holds stored files but ${join(path, 'data.mdb')}, the database that knows them, is gone: put it back, or move the files away to begin anew`,
    )
  }
  const env = new LmdbEnvironment(path)
  const items = createLmdbItemStore(env, unixSeconds, limits)
  const audit = openFederationAudit(env)
  const accounts = createAccountStore(env, {
    hasFiles: createFileFinder(env),
    removeTexts: createTextRemoval(env),
  })
  const { scim, directory, flush } = createDirectoryStores(env, {
    audit: openScimAudit(env),
    requests: openDirectoryRequests(env),
    accounts,
  })
  return {
    items,
    accounts,
    federation: createFederationStore(env, audit),
    files: createLmdbFileStore(env, path, unixSeconds, limits),
    memory: createLmdbMemoryStore(env, limits),
    providerKeys: createProviderKeyStore(env),
    scim,
    directory,
    sessions: createSessionStore(env, audit),
    isWriting: () => env.isWriting,
    close: async () => {
      await items.idle()
      await flush()
      await env.close()
    },
  }
}

/** An empty file is one that is yet to become a database, or was one. */
function isWithoutDatabase(path: string): boolean {
  return (statSync(join(path, 'data.mdb'), { throwIfNoEntry: false })?.size ?? 0) === 0
}
