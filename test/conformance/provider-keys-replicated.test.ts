/** Provider keys in a fleet: machines with a replica each over one PostgreSQL, asked in turn, are one store. */
import { t } from 'tap'
import type { ProviderKeyStore } from '../../src/store/provider-key-store.js'
import { ReplicaGroup } from '../support/data/replicated-stores.js'
import { WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'
import { PostgresDatabases } from '../support/servers/postgres-databases.js'
import { providerKeySuite } from './provider-key-suite.js'

const MACHINES = 2

/** Changes are made by one machine and read by another. */
function inTurn(stores: readonly ProviderKeyStore[]): ProviderKeyStore {
  const [first, second] = stores as [ProviderKeyStore, ProviderKeyStore]
  return { ...first, keysOf: (organizationId) => second.keysOf(organizationId) }
}

void t.test('provider keys in a fleet', { skip: WITHOUT_POSTGRES }, async (within) => {
  const databases = await PostgresDatabases.start(within)
  providerKeySuite({
    name: 'replicated',
    within,
    place: async (t) => {
      const group = new ReplicaGroup(await databases.create())
      t.after(() => group.end())
      await group.migrate()
      const folders = Array.from({ length: MACHINES }, () => group.newFolder())
      const open = async (): Promise<ProviderKeyStore> => {
        group.openAll(folders)
        for (const { records } of group.machines) await records.catchUp()
        return inTurn(group.machines.map(({ providerKeys }) => providerKeys))
      }
      let store = await open()
      return {
        get store() {
          return store
        },
        get accounts() {
          const [first, second] = group.machines.map(({ accounts }) => accounts)
          return { ...first!, organization: (id: string) => second!.organization(id) }
        },
        reopen: async () => {
          await group.closeAll()
          store = await open()
        },
      }
    },
  })
})
