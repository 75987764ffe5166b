import { openFederation } from '../../src/store/lmdb/federation/federation-open.js'
import { openFederationPlace } from '../support/peers/federation-place.js'
import { federationSuite } from './federation-suite.js'

federationSuite({
  name: 'lmdb',
  place: () => openFederationPlace((env) => openFederation(env, { rowsPerTrail: 50, ms: 1_000 })),
})
