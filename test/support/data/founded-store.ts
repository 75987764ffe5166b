import { bootstrapAccounts } from '../../../src/identity/bootstrap.js'
import { FakeClock } from '../timing/fake-clock.js'
import { openStore } from './open-store.js'
import { type Lifetime, tempFolder } from './temp-folder.js'

/** A store in a folder of its own as the first start leaves it, and the keys that were made then. */
export async function foundedStore(t: Lifetime, chosenManagementKey = '') {
  const clock = new FakeClock()
  const folder = tempFolder(t)
  const store = openStore(t, folder, () => clock.unixSeconds())
  const chosen = { apiKey: '', managementKey: chosenManagementKey }
  const { apiKey, managementKey } = await bootstrapAccounts(store.accounts, clock, chosen)
  return { clock, folder, store, apiKey: apiKey!, managementKey: managementKey ?? chosenManagementKey }
}
