import { LmdbEnvironment } from '../../src/store/lmdb/environment.js'
import { createProviderKeyStore } from '../../src/store/records/provider-keys.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { providerKeySuite } from './provider-key-suite.js'

providerKeySuite({
  name: 'lmdb',
  place: (t) => {
    const path = tempFolder(t)
    const open = () => {
      const env = new LmdbEnvironment(path)
      return { env, store: createProviderKeyStore(env) }
    }
    let opened = open()
    t.after(() => opened.env.close())
    return {
      get store() {
        return opened.store
      },
      reopen: async () => {
        await opened.env.close()
        opened = open()
      },
    }
  },
})
