/** Directories in a fleet: three machines with a replica each over one PostgreSQL, asked in turn, are one store. */
import { t } from 'tap'
import type { DirectoryStoresOfTest } from '../support/data/directory.js'
import { inTurn } from '../support/data/fleet-records.js'
import { ReplicaGroup } from '../support/data/replicated-stores.js'
import { WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'
import { PostgresDatabases } from '../support/servers/postgres-databases.js'
import { directorySuite } from './directory-suite.js'

const MACHINES = 3

function oneOf(stores: readonly DirectoryStoresOfTest[]): DirectoryStoresOfTest {
  const directories = stores.map(({ directory }) => directory)
  return {
    accounts: inTurn(stores.map(({ accounts }) => accounts)),
    scim: inTurn(stores.map(({ scim }) => scim)),
    directory: {
      connections: inTurn(directories.map(({ connections }) => connections)),
      members: inTurn(directories.map(({ members }) => members)),
      groups: inTurn(directories.map(({ groups }) => groups)),
      roles: inTurn(directories.map(({ roles }) => roles)),
    },
  }
}

void t.test('directories in a fleet', { skip: WITHOUT_POSTGRES }, async (within) => {
  const databases = await PostgresDatabases.start(within)
  directorySuite({
    name: 'replicated',
    within,
    place: async (t) => {
      const group = new ReplicaGroup(await databases.create())
      t.after(() => group.end())
      const folders = Array.from({ length: MACHINES }, () => group.newFolder())
      const open = async (): Promise<DirectoryStoresOfTest> => {
        group.openAll(folders)
        for (const { records } of group.machines) await records.catchUp()
        return oneOf(group.machines)
      }
      let stores = await open()
      return {
        get accounts() {
          return stores.accounts
        },
        get scim() {
          return stores.scim
        },
        get directory() {
          return stores.directory
        },
        reopen: async () => {
          await group.closeAll()
          stores = await open()
        },
      }
    },
  })
})
