/** Accounts at the edges of the embedded store. */
import { test } from 'tap'
import { openLmdbStore } from '../../src/store/lmdb/open.js'
import { hashOf, idOf, keyOf, organizationOf } from '../support/data/accounts.js'
import { openStore } from '../support/data/open-store.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { startAccountPeer } from '../support/peers/account-peer.js'

test('more keys in use than are remembered are all read as they are', async (t) => {
  const store = openStore(t)
  const many = 10_500
  const keys = Array.from({ length: many }, (_, n) => keyOf(n))
  await store.accounts.addOrganization({ organization: organizationOf(1), workspaces: [], keys })
  for (let round = 0; round < 2; round++) {
    let wrong = 0
    for (const key of keys) if (store.accounts.key(key.hash)?.name !== key.name) wrong++
    t.equal(wrong, 0)
  }
  t.equal(store.accounts.keysOf(idOf(1)).length, many)
})

test('closing waits for changes under way, and what comes later is refused', async (t) => {
  const path = tempFolder(t)
  const store = openLmdbStore({ path, unixSeconds: () => 0 })
  const early = Array.from({ length: 50 }, (_, n) => store.accounts.addKey(keyOf(n)))
  const closed = store.close()
  t.strictSame(new Set(await Promise.all(early)), new Set([true]))
  await closed
  await t.rejects(store.accounts.addKey(keyOf('late')), { name: 'Fault', kind: 'unavailable' })
  await t.rejects(
    store.accounts.changeKey(hashOf(1), (key) => key),
    { name: 'Fault', kind: 'unavailable' },
  )
  t.equal(openStore(t, path).accounts.keys().length, 50)
})

test('a change that the disk cannot take is refused as unavailable, and reads go on', async (t) => {
  const path = tempFolder(t)
  const peer = await startAccountPeer(path, { fileKiB: 1024 })
  t.after(() => peer.child.kill('SIGKILL'))
  await peer.ask({ do: 'found', n: 1 })
  let keys = 1
  for (let round = 0; round < 4; round++) {
    const { acknowledged, kind } = (await peer.ask({ do: 'fill' })) as { acknowledged: number; kind: string }
    t.equal(kind, 'unavailable')
    keys += acknowledged
    t.match(await peer.ask({ do: 'key', hash: hashOf('filling 1') }), { hash: hashOf('filling 1') })
    const stored = (await peer.ask({ do: 'keys' })) as unknown[]
    t.equal(stored.length, keys, 'what was acknowledged, and no more')
  }
  t.ok(keys > 20, `${keys} keys fit`)
  t.equal(peer.child.exitCode, null, 'the process lives')
})
