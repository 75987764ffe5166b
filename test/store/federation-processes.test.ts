import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { createSealer, loadSealingKey } from '../../src/identity/sealing-key.js'
import { SigningKeys } from '../../src/identity/signing-keys.js'
import { openFederationAudit } from '../../src/store/lmdb/audit-trails.js'
import { LmdbEnvironment } from '../../src/store/lmdb/environment.js'
import { createFederationStore } from '../../src/store/records/federation.js'
import { auditOf, policyOf } from '../support/data/federation.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { type FederationPeer, startFederationPeer } from '../support/peers/federation-peer.js'

async function openPeerStores(t: Test, path: string, count: number): Promise<FederationPeer[]> {
  const started = await Promise.all(Array.from({ length: count }, () => startFederationPeer(path)))
  t.after(() => Promise.all(started.map((peer) => peer.end())))
  return started
}

/** The store as this process has it. */
function openFederation(path: string) {
  const env = new LmdbEnvironment(path)
  const store = createFederationStore(env, openFederationAudit(env))
  const keys = new SigningKeys({ store, sealer: createSealer(loadSealingKey(path)), clock: systemClock })
  return { env, store, keys }
}

test('processes that start together on an empty folder end with one secret and one set of keys', async (t) => {
  const path = tempFolder(t)
  const group = await openPeerStores(t, path, 4)
  const kids = await Promise.all(group.map((peer) => peer.ask({ do: 'tend' })))
  t.equal(new Set(kids).size, 1)
  const shown = await Promise.all(group.map((peer) => peer.ask({ do: 'kids' })))
  t.equal(new Set(shown.map((each) => JSON.stringify(each))).size, 1)
  t.equal((shown[0] as [string, string[]])[1].length, 2)
})

test('a rotation by one process holds for the next signature of every other', async (t) => {
  const path = tempFolder(t)
  const [first, second] = await openPeerStores(t, path, 2)
  await first!.ask({ do: 'tend' })
  let stale = 0
  const { env, keys: ours } = openFederation(path)
  t.after(() => env.close())
  for (let round = 0; round < 20; round++) {
    const kid = await first!.ask({ do: 'rotate' })
    const [active] = (await second!.ask({ do: 'kids' })) as [string]
    if (active !== kid) stale++
    const token = await second!.ask({ do: 'sign', claims: { sub: 'x' } })
    if (!(await ours.isSignedByKey(active, token as string))) stale++
  }
  t.equal(stale, 0)
})

test('a policy changed by one process is read changed by every other', async (t) => {
  const path = tempFolder(t)
  const [theirs] = await openPeerStores(t, path, 1)
  const { env, store } = openFederation(path)
  t.after(() => env.close())
  await store.policies.add(policyOf(1), auditOf(1))
  let stale = 0
  for (let round = 0; round < 200; round++) {
    await store.policies.change(
      policyOf(1).id,
      (policy) => ({ ...policy, audience: `ours ${round}` }),
      auditOf(2),
    )
    const seen = (await theirs!.ask({ do: 'policy', n: 1 })) as { audience: string }
    if (seen.audience !== `ours ${round}`) stale++
    await theirs!.ask({ do: 'rename', n: 1, audience: `theirs ${round}` })
    if (store.policies.get(policyOf(1).id)?.audience !== `theirs ${round}`) stale++
  }
  t.equal(stale, 0)
  t.equal(store.policies.get(policyOf(1).id)?.version, 401)
})

test('rows that several processes append at once are all kept', async (t) => {
  const path = tempFolder(t)
  const group = await openPeerStores(t, path, 3)
  await Promise.all(group.map((peer) => peer.ask({ do: 'append', rows: 100 })))
  t.equal(await group[0]!.ask({ do: 'total' }), 300)
})

test('nothing in the folder holds a private key in the open', async (t) => {
  const path = tempFolder(t)
  const { env, keys } = openFederation(path)
  await keys.maintain()
  await env.close()
  const stored = readFileSync(join(path, 'data.mdb'))
  t.ok(stored.includes('"sealed"'))
  t.notOk(stored.includes('PRIVATE KEY'))
  // The beginning of every private key on P-256 in PKCS #8 (RFC 5208, RFC 5915).
  const pkcs8 = Buffer.from('308187020100301306072a8648ce3d020106082a8648ce3d030107046d', 'hex')
  t.notOk(stored.includes(pkcs8) || stored.includes(pkcs8.toString('base64url').slice(0, 30)))
})
