/** The accounts of a fleet: three machines with a replica each over one PostgreSQL, asked in turn, are one store. */
import { t } from 'tap'
import { NO_LIMITS } from '../../src/store/disk-reserve.js'
import { createPostgresItemStore } from '../../src/store/postgres/items.js'
import type { AccountStore } from '../../src/store/store.js'
import { ReplicaGroup } from '../support/data/replicated-stores.js'
import { WITHOUT_PGBOUNCER } from '../support/servers/pgbouncer.js'
import { WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'
import { PostgresDatabases } from '../support/servers/postgres-databases.js'
import { accountSuite } from './store-suite.js'

const MACHINES = 3

/** Each call goes to the next of the stores. */
function inTurn(stores: readonly AccountStore[]): AccountStore {
  let calls = 0
  const next = (): AccountStore => stores[calls++ % stores.length]!
  // What was read is the same object as before on one machine; the calls that tell are made on one.
  const first = stores[0]!
  return {
    key: (hash) => {
      const records = stores.map((store) => JSON.stringify(store.key(hash)))
      if (new Set(records).size > 1) throw new Error(`machines differ: ${records.join(' ')}`)
      return first.key(hash)
    },
    keysOf: (organizationId) => next().keysOf(organizationId),
    keysPageOf: (organizationId, after, limit) => next().keysPageOf(organizationId, after, limit),
    keys: () => next().keys(),
    addKey: (key) => next().addKey(key),
    changeKey: (hash, change) => next().changeKey(hash, change),
    organization: (id) => next().organization(id),
    organizations: () => next().organizations(),
    addOrganization: (added) => next().addOrganization(added),
    changeOrganization: (id, change) => next().changeOrganization(id, change),
    workspace: (id) => next().workspace(id),
    workspacesOf: (organizationId) => next().workspacesOf(organizationId),
    addWorkspace: (workspace) => next().addWorkspace(workspace),
    changeWorkspace: (id, change) => next().changeWorkspace(id, change),
    removeWorkspace: (id, at) => next().removeWorkspace(id, at),
    bootstrap: (founded) => next().bootstrap(founded),
  }
}

for (const { name, pooled, skip } of [
  { name: 'replicated', pooled: false, skip: WITHOUT_POSTGRES },
  { name: 'replicated behind pgbouncer', pooled: true, skip: WITHOUT_POSTGRES || WITHOUT_PGBOUNCER },
]) {
  void t.test(name, { skip }, async (within) => {
    const databases = await PostgresDatabases.start(within, { pooled })
    accountSuite({
      name,
      within,
      place: async () => {
        const url = await databases.create()
        const group = new ReplicaGroup(url)
        const folders = Array.from({ length: MACHINES }, () => group.newFolder())
        for (const folder of folders) await group.add(folder)
        await group.closeAll()
        return {
          open: (unixSeconds) => {
            group.openAll(folders)
            const items = createPostgresItemStore(group.machines[0]!.database, unixSeconds, NO_LIMITS)
            const accounts = inTurn(group.machines.map((machine) => machine.accounts))
            const close = async (): Promise<void> => {
              await items.idle()
              await group.closeAll()
            }
            return { items, accounts, close }
          },
          remove: async () => {
            await group.end()
            await databases.drop(url)
          },
        }
      },
    })
  })
}
