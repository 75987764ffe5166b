import { openLmdbStore } from '../../src/store/lmdb/open.js'
import { makeFolder, removeFolder } from '../support/data/temp-folder.js'
import { storeSuite } from './store-suite.js'

storeSuite({
  name: 'lmdb',
  place: () => {
    const path = makeFolder()
    return {
      open: (unixSeconds) => openLmdbStore({ path, unixSeconds }),
      remove: () => removeFolder(path),
    }
  },
})
