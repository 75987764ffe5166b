import { LmdbEnvironment } from '../../src/store/lmdb/environment.js'
import { createAccountStore } from '../../src/store/records/accounts.js'
import { createProviderKeyStore } from '../../src/store/records/provider-keys.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { providerKeySuite } from './provider-key-suite.js'

providerKeySuite({
  name: 'lmdb',
  place: (t) => {
    const path = tempFolder(t)
    const open = () => {
      const env = new LmdbEnvironment(path)
      return { env, store: createProviderKeyStore(env), accounts: createAccountStore(env) }
    }
    let opened = open()
    t.after(() => opened.env.close())
    return {
      get store() {
        return opened.store
      },
      get accounts() {
        return opened.accounts
      },
      reopen: async () => {
        await opened.env.close()
        opened = open()
      },
    }
  },
})
