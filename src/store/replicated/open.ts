/** The stores of managed records in a fleet. */
import type { Clock } from '../../base/clock.js'
import type { AccountStore } from '../account-store.js'
import type { DirectoryStore } from '../directory-store.js'
import type { FederationStore } from '../federation-store.js'
import { PostgresChangeLog } from '../postgres/change-log.js'
import type { Database } from '../postgres/database.js'
import { sqlState } from '../postgres/postgres-faults.js'
import type { ProviderKeyStore } from '../provider-key-store.js'
import { createAccountStore } from '../records/accounts.js'
import { createDirectoryStores } from '../records/directory.js'
import { createFederationStore, FEDERATION_AUDIT } from '../records/federation.js'
import { createProviderKeyStore } from '../records/provider-keys.js'
import { DIRECTORY_REQUESTS } from '../records/request-log.js'
import { SCIM_AUDIT } from '../records/scim-tables.js'
import { createSessionStore } from '../records/sessions.js'
import type { RevocationBarrier } from '../revocation-barrier.js'
import type { ScimStore } from '../scim-store.js'
import type { SessionStore } from '../session-store.js'
import { ReplicatedRecords } from './records.js'
import { replicaFolder } from './replica-folder.js'

const HAS_FILES =
  'SELECT EXISTS (SELECT FROM sluice.files WHERE workspace = $1 AND record IS NOT NULL) AS found'
/** Of the trigger in `migrations/008_workspaces.sql`. */
const FILES_FOUND = 'SL001'

interface ReplicatedStoreOptions {
  /** The data folder of this machine; the replica has one of its own in it. */
  readonly dataDir: string
  readonly database: Database
  /** Name of this machine. */
  readonly machine: string
  readonly barrier: Pick<RevocationBarrier, 'pass'>
  readonly clock: Clock
}

export interface ReplicatedStore {
  readonly records: ReplicatedRecords
  readonly accounts: AccountStore
  readonly federation: FederationStore
  readonly providerKeys: ProviderKeyStore
  readonly scim: ScimStore
  readonly sessions: SessionStore
  readonly directory: DirectoryStore
  /** Writes what waits, then releases the files. */
  close(): Promise<void>
}

/** Files stand beside the records: the database refuses to delete the workspace of one, in the transaction of the change. */
function withFilesLookedFor(accounts: AccountStore, database: Database): AccountStore {
  return {
    ...accounts,
    removeWorkspace: async (id, at) => {
      // It mostly tells so before anything is locked.
      const [row] = await database.query<{ found: boolean }>(HAS_FILES, [id])
      if (row!.found && accounts.workspace(id) !== null) return 'has-files'
      return accounts.removeWorkspace(id, at).catch((error: unknown) => {
        if (sqlState(error) === FILES_FOUND) return 'has-files'
        throw error
      })
    },
  }
}

/** Safe to open in several processes of a machine at once. Nothing may be served before the records are loaded. */
export function openReplicatedStore({
  dataDir,
  database,
  machine,
  barrier,
  clock,
}: ReplicatedStoreOptions): ReplicatedStore {
  const log = new PostgresChangeLog(database, machine)
  const records = new ReplicatedRecords({ folder: replicaFolder(dataDir), log, barrier, clock })
  const audit = records.auditBook('federation', FEDERATION_AUDIT)
  const accounts = withFilesLookedFor(createAccountStore(records), database)
  const { scim, directory, flush } = createDirectoryStores(records, {
    audit: records.auditBook('scim', SCIM_AUDIT),
    requests: records.auditBook('directory-requests', DIRECTORY_REQUESTS),
    accounts,
  })
  return {
    records,
    accounts,
    federation: createFederationStore(records, audit),
    providerKeys: createProviderKeyStore(records),
    scim,
    directory,
    sessions: createSessionStore(records, audit),
    close: async () => {
      await flush()
      await records.close()
    },
  }
}
