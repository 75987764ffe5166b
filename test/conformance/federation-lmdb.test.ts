import { createLmdbFederationStore } from '../../src/store/lmdb/federation.js'
import { openFederationPlace } from '../support/peers/federation-place.js'
import { federationSuite } from './federation-suite.js'

federationSuite({
  name: 'lmdb',
  place: () => openFederationPlace((env) => createLmdbFederationStore(env, { rowsPerTrail: 50, ms: 1_000 })),
})
