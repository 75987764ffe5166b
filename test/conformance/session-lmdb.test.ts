import { openFederationAudit } from '../../src/store/lmdb/audit-trails.js'
import { LmdbEnvironment } from '../../src/store/lmdb/environment.js'
import { createSessionStore } from '../../src/store/records/sessions.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { sessionSuite } from './session-suite.js'

sessionSuite({
  name: 'lmdb',
  store: (t) => {
    const env = new LmdbEnvironment(tempFolder(t))
    t.after(() => env.close())
    return createSessionStore(env, openFederationAudit(env))
  },
})
