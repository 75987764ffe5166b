/**
 * Another process with the same federation store and the same signing keys. As a program it answers requests over
 * IPC; imported, it starts that program and sends them.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../../src/base/clock.js'
import { loadSealingKey, sealer } from '../../../src/identity/sealing-key.js'
import { SigningKeys } from '../../../src/identity/signing-keys.js'
import { openFederation } from '../../../src/store/lmdb/federation/federation-open.js'
import { auditOf, policyOf } from '../data/federation.js'
import { openEnvironment } from './federation-place.js'

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

export class FederationPeer {
  private constructor(private readonly child: ChildProcess) {}

  static async start(path: string): Promise<FederationPeer> {
    const child = fork(fileURLToPath(import.meta.url), [path])
    await once(child, 'message')
    return new FederationPeer(child)
  }

  /** One request at a time. */
  async ask(request: FederationRequest): Promise<unknown> {
    this.child.send(request)
    const [answer] = await once(this.child, 'message')
    return answer
  }

  async end(): Promise<void> {
    this.child.disconnect()
    await once(this.child, 'exit')
  }
}

async function serve(path: string): Promise<void> {
  const env = openEnvironment(path)
  const { store } = openFederation(env)
  const keys = new SigningKeys({ store, sealer: sealer(loadSealingKey(path)), clock: systemClock })
  const answers = async (request: FederationRequest): Promise<unknown> => {
    if (request.do === 'tend') await keys.tend()
    if (request.do === 'tend') return keys.activeKid()
    if (request.do === 'rotate') return keys.rotate()
    if (request.do === 'kids') return [keys.activeKid(), keys.jwks().keys.map(({ kid }) => kid)]
    if (request.do === 'sign') return keys.sign(request.claims)
    if (request.do === 'policy') return store.policy(policyOf(request.n).id)
    if (request.do === 'total') return store.auditPage(auditOf(1).organizationId, 'changes', 0, 1).total
    if (request.do === 'append') {
      for (let n = 0; n < request.rows; n++) await store.appendAudit([auditOf(n)])
      return null
    }
    const { audience } = request
    return store.changePolicy(policyOf(request.n).id, (policy) => ({ ...policy, audience }), auditOf(1))
  }
  process.on('message', async (request: FederationRequest) => process.send?.(await answers(request)))
  process.on('disconnect', () => void env.close().then(() => process.exit(0)))
  process.send?.('ready')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await serve(process.argv[2]!)
