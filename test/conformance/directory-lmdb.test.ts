import { openLmdbStore } from '../../src/store/lmdb/open.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { directorySuite } from './directory-suite.js'

directorySuite({
  name: 'lmdb',
  place: (t) => {
    const path = tempFolder(t)
    const open = () => openLmdbStore({ path, unixSeconds: () => 0 })
    let store = open()
    t.after(() => store.close())
    return {
      get accounts() {
        return store.accounts
      },
      get scim() {
        return store.scim
      },
      get directory() {
        return store.directory
      },
      reopen: async () => {
        await store.close()
        store = open()
      },
    }
  },
})
