/** Managed records as three machines of a fleet have them, asked in turn: what one has changed, the next has to know. */
import type { Store } from '../../../src/store/store.js'
import { createDatabase, dropDatabase, MACHINES } from '../servers/fleet-database.js'
import { ReplicaGroup } from './replicated-stores.js'
import type { Lifetime } from './temp-folder.js'

type ManagedStores = Pick<Store, 'accounts' | 'federation' | 'providerKeys' | 'scim' | 'sessions'>

/** In a database of their own, which goes with the test. */
export async function openFleetRecords(lifetime: Lifetime): Promise<ManagedStores> {
  const url = await createDatabase()
  const group = new ReplicaGroup(url)
  lifetime.after(async () => {
    await group.end()
    await dropDatabase(url)
  })
  await group.migrate()
  for (let n = 0; n < MACHINES; n++) await group.add()
  const { machines } = group
  return {
    accounts: inTurn(machines.map(({ accounts }) => accounts)),
    federation: inTurn(machines.map(({ federation }) => federation)),
    providerKeys: inTurn(machines.map(({ providerKeys }) => providerKeys)),
    scim: inTurn(machines.map(({ scim }) => scim)),
    sessions: inTurn(machines.map(({ sessions }) => sessions)),
  }
}

/** Each use of a member is the next one's. */
export function inTurn<T extends object>(stores: readonly T[]): T {
  let uses = 0
  return new Proxy(stores[0]!, {
    get: (_, name): unknown => Reflect.get(stores[uses++ % stores.length]!, name),
  })
}
