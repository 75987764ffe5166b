import { createLmdbFederationStore } from '../../src/store/lmdb/federation.js'
import { openFederationPlace } from '../support/peers/federation-place.js'
import { federationSuite } from './federation-suite.js'

federationSuite({
  name: 'lmdb',
  place: () => openFederationPlace((env) => createLmdbFederationStore(env, { keptRows: 50, keptMs: 1_000 })),
})
