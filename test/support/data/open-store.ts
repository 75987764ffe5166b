import { type LmdbStore, openLmdbStore } from '../../../src/store/lmdb/open.js'
import { type Lifetime, tempFolder } from './temp-folder.js'

/** An embedded store, in a folder of its own unless it is named; closed after the test. */
export function openStore(
  t: Lifetime,
  path = tempFolder(t),
  unixSeconds: () => number = () => 1_700_000_000,
): LmdbStore {
  const store = openLmdbStore({ path, unixSeconds })
  t.after(() => store.close())
  return store
}
