import { openFederationAudit } from '../../src/store/lmdb/audit-trails.js'
import { LmdbEnvironment } from '../../src/store/lmdb/environment.js'
import { createFederationStore } from '../../src/store/records/federation.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { federationSuite, RETENTION } from './federation-suite.js'

federationSuite({
  name: 'lmdb',
  place: (t) => {
    const path = tempFolder(t)
    const open = () => {
      const env = new LmdbEnvironment(path)
      return { env, store: createFederationStore(env, openFederationAudit(env, RETENTION)) }
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
