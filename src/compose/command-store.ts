/** The managed records as commands of the command line work on them: those of this machine, or of its fleet. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { type Config, InvalidConfigError } from '../config/config.js'
import { openLmdbStore } from '../store/lmdb/open.js'
import { replicaFolder } from '../store/replicated/replica-folder.js'
import type { Store } from '../store/store.js'
import { withDatabase } from './fleet-commands.js'

export type CommandStoreSettings = Pick<Config, 'dataDir' | 'databaseUrl' | 'fleetStalenessMs'>
type CommandStore = Pick<Store, 'accounts' | 'federation'>

/** Whether commands work on the database that machines share, and need no store in the data folder. */
export const isOfFleet = ({ databaseUrl }: Pick<Config, 'databaseUrl'>): boolean => databaseUrl !== ''

/**
 * The records, for as long as `run` takes; servers may be at work on them. Rejects with `unavailable` and a sentence
 * when they cannot be opened.
 */
export function withStore<T>(
  settings: CommandStoreSettings,
  clock: Clock,
  run: (store: CommandStore) => T | Promise<T>,
): Promise<T> {
  return isOfFleet(settings) ? withSharedStore(settings, clock, run) : withEmbeddedStore(settings, clock, run)
}

async function withEmbeddedStore<T>(
  { dataDir }: CommandStoreSettings,
  { unixSeconds }: Clock,
  run: (store: CommandStore) => T | Promise<T>,
): Promise<T> {
  const store = openOrExplain(() => openLmdbStore({ path: dataDir, unixSeconds }), `the store in ${dataDir}`)
  try {
    return await run(store)
  } finally {
    await store.close()
  }
}

/** A change is done when all machines have it, as one that a server makes. */
function withSharedStore<T>(
  settings: CommandStoreSettings,
  clock: Clock,
  run: (store: CommandStore) => T | Promise<T>,
): Promise<T> {
  return withDatabase(settings, async (database) => {
    const [{ openReplicatedStore }, { MembershipBarrier }, { createMembership }, { readSchemaState }] =
      await Promise.all([
        import('../store/replicated/open.js'),
        import('../fleet/barrier.js'),
        import('../store/postgres/membership.js'),
        import('../store/postgres/migrate.js'),
      ])
    if ((await readSchemaState(database)).pending.length > 0) {
      const problem =
        'names a database without the tables of this release: start a server, or run "sluice migrate"'
      throw new InvalidConfigError([{ source: 'SLUICE_DATABASE_URL', problem }])
    }
    const membership = createMembership(database)
    const barrier = new MembershipBarrier({ membership, clock, self: () => null })
    // A replica that a command makes in the data folder could belong to another user than the server's.
    const hasReplica = existsSync(join(replicaFolder(settings.dataDir), 'data.mdb'))
    const dataDir = hasReplica ? settings.dataDir : mkdtempSync(join(tmpdir(), 'sluice-command-'))
    try {
      const options = { dataDir, database, machine: 'command', barrier, clock }
      const store = openOrExplain(() => openReplicatedStore(options), `the replica in ${dataDir}`)
      try {
        await store.records.catchUp()
        return await run(store)
      } finally {
        await store.records.close()
      }
    } finally {
      if (!hasReplica) rmSync(dataDir, { recursive: true, force: true })
    }
  })
}

function openOrExplain<T>(open: () => T, what: string): T {
  try {
    return open()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Fault('unavailable', { detail: `${what} cannot be opened: ${reason}`, cause: error })
  }
}
