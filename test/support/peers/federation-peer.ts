/** Another process with the same federation store and the same signing keys. */
import { systemClock } from '../../../src/base/clock.js'
import { createSealer, loadSealingKey } from '../../../src/identity/sealing-key.js'
import { SigningKeys } from '../../../src/identity/signing-keys.js'
import { openFederationAudit } from '../../../src/store/lmdb/audit-trails.js'
import { LmdbEnvironment } from '../../../src/store/lmdb/environment.js'
import { createFederationStore } from '../../../src/store/records/federation.js'
import { auditOf, policyOf } from '../data/federation.js'
import { type PeerProcess, servePeer, startPeer } from './peer-process.js'

export type FederationRequest =
  /** Brings the signing keys in order; answers with the `kid` that signs. */
  | { readonly do: 'tend' }
  | { readonly do: 'rotate' }
  /** `kid` that signs, and those that are published. */
  | { readonly do: 'kids' }
  | { readonly do: 'sign'; readonly claims: object }
  | { readonly do: 'policy'; readonly n: number }
  | { readonly do: 'rename'; readonly n: number; readonly audience: string }
  | { readonly do: 'append'; readonly rows: number }
  | { readonly do: 'total' }

export type FederationPeer = PeerProcess<FederationRequest, unknown>

/** Starts a process that opens the store at `path`; resolves when it has. */
export const startFederationPeer = (path: string): Promise<FederationPeer> => startPeer(import.meta.url, path)

await servePeer(import.meta.url, (path) => {
  const env = new LmdbEnvironment(path)
  const store = createFederationStore(env, openFederationAudit(env))
  const keys = new SigningKeys({ store, sealer: createSealer(loadSealingKey(path)), clock: systemClock })
  const answer = async (request: FederationRequest): Promise<unknown> => {
    if (request.do === 'tend') await keys.maintain()
    if (request.do === 'tend') return keys.activeKid()
    if (request.do === 'rotate') return keys.rotate()
    if (request.do === 'kids') return [keys.activeKid(), keys.jwks().keys.map(({ kid }) => kid)]
    if (request.do === 'sign') return keys.sign(request.claims)
    if (request.do === 'policy') return store.policies.get(policyOf(request.n).id)
    if (request.do === 'total') {
      return (await store.auditPage(auditOf(1).organizationId, 'changes', 0, 1)).total
    }
    if (request.do === 'append') {
      for (let n = 0; n < request.rows; n++) await store.appendAudit([auditOf(n)])
      return null
    }
    const { audience } = request
    return store.policies.change(policyOf(request.n).id, (policy) => ({ ...policy, audience }), auditOf(1))
  }
  return { answer, close: () => env.close() }
})
