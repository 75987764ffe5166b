import { bootstrapAccounts } from '../../../src/identity/bootstrap.js'
import { FLEET_DATABASE_URL } from '../servers/fleet-database.js'
import { FakeClock } from '../timing/fake-clock.js'
import { openFleetRecords } from './fleet-records.js'
import { openStore } from './open-store.js'
import { type Lifetime, tempFolder } from './temp-folder.js'

/**
 * A store in a folder of its own as the first start leaves it, and the keys that were made then. When the runner was asked
 * for `--fleet`, its managed records are those of three machines.
 */
export async function foundedStore(t: Lifetime, chosenManagementKey = '') {
  const clock = new FakeClock()
  const folder = tempFolder(t)
  const embedded = openStore(t, folder, () => clock.unixSeconds())
  const store = FLEET_DATABASE_URL === '' ? embedded : { ...embedded, ...(await openFleetRecords(t)) }
  const chosen = { apiKey: '', managementKey: chosenManagementKey }
  const { apiKey, managementKey } = await bootstrapAccounts(store.accounts, clock, chosen)
  return { clock, folder, store, apiKey: apiKey!, managementKey: managementKey ?? chosenManagementKey }
}
