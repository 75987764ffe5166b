/** Sessions in a fleet: three machines with a replica each over one PostgreSQL, asked in turn, are one store. */
import { t } from 'tap'
import { inTurn } from '../support/data/fleet-records.js'
import { ReplicaGroup } from '../support/data/replicated-stores.js'
import { WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'
import { PostgresDatabases } from '../support/servers/postgres-databases.js'
import { sessionSuite } from './session-suite.js'

const MACHINES = 3

void t.test('sessions in a fleet', { skip: WITHOUT_POSTGRES }, async (within) => {
  const databases = await PostgresDatabases.start(within)
  sessionSuite({
    name: 'replicated',
    within,
    store: async (t) => {
      const group = new ReplicaGroup(await databases.create())
      t.after(() => group.end())
      for (let n = 0; n < MACHINES; n++) await group.add()
      return inTurn(group.machines.map(({ sessions }) => sessions))
    },
  })
})
