/** Accounts between processes: what one has acknowledged, every other sees with its next read. */
import { type Test, test } from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { hashKey } from '../../src/identity/api-keys.js'
import { createAuthority } from '../../src/identity/authenticate.js'
import type { AccountStore } from '../../src/store/store.js'
import { hashOf, idOf, keyOf } from '../support/data/accounts.js'
import { openStore } from '../support/data/open-store.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { type AccountPeer, startAccountPeer } from '../support/peers/account-peer.js'

const ROUNDS = 1_000
const KEY = 'sk-sluice-v1-shared-by-processes'

async function openTwoStores(t: Test): Promise<{ accounts: AccountStore; peer: AccountPeer }> {
  const path = tempFolder(t)
  const store = openStore(t, path)
  const peer = await startAccountPeer(path)
  t.after(() => peer.end())
  return { accounts: store.accounts, peer }
}

test('a key disabled by one process is refused by another at its next call, every time', async (t) => {
  const { accounts, peer } = await openTwoStores(t)
  await accounts.addKey(keyOf(1, { hash: hashKey(KEY) }))
  const { authorize } = createAuthority(accounts, systemClock, () => new Map())
  const isLetIn = async (): Promise<boolean> => {
    try {
      const { keyHash } = await authorize(`Bearer ${KEY}`, '', 'chat', 'key')
      return keyHash === hashKey(KEY)
    } catch {
      return false
    }
  }
  let stale = 0
  for (let round = 0; round < ROUNDS; round++) {
    const disabled = round % 2 === 0
    await peer.ask({ do: 'set', hash: hashKey(KEY), to: { disabled } })
    for (let call = 0; call < 3; call++) if ((await isLetIn()) === disabled) stale++
  }
  t.equal(stale, 0, `${ROUNDS} changes`)
})

test('a key disabled here is disabled in the other process, whatever it has read before', async (t) => {
  const { accounts, peer } = await openTwoStores(t)
  await accounts.addKey(keyOf(1))
  let stale = 0
  for (let round = 0; round < ROUNDS / 2; round++) {
    const changed = await accounts.changeKey(hashOf(1), (key) => ({ ...key, limit: round }))
    const seen = await peer.ask({ do: 'key', hash: hashOf(1) })
    if (JSON.stringify(seen) !== JSON.stringify(changed)) stale++
  }
  t.equal(stale, 0)
})

test('lists see what the other process has changed', async (t) => {
  const { accounts, peer } = await openTwoStores(t)
  for (let n = 0; n < 50; n++) await accounts.addKey(keyOf(n))
  for (let n = 0; n < 50; n++) {
    await peer.ask({ do: 'set', hash: hashOf(n), to: { deletedAt: 1 } })
    if (accounts.keysOf(idOf(1)).length !== 49 - n || accounts.keys().length !== 49 - n) {
      t.fail(`after ${n + 1} deletions ${accounts.keys().length} keys are listed`)
    }
  }
  t.strictSame(accounts.keys(), [])
})

test('changes of two processes at once do not undo each other', async (t) => {
  const { accounts, peer } = await openTwoStores(t)
  await accounts.addKey(keyOf(1, { limit: 0 }))
  const theirs = peer.ask({ do: 'raise', hash: hashOf(1), times: 200 })
  const ours = Array.from({ length: 200 }, () =>
    accounts.changeKey(hashOf(1), (key) => ({ ...key, limit: key.limit! + 1 })),
  )
  await Promise.all([theirs, ...ours])
  t.equal(accounts.key(hashOf(1))?.limit, 400)
})

test('of processes that found at once exactly one has founded', async (t) => {
  const path = tempFolder(t)
  const peers = await Promise.all([1, 2, 3].map(() => startAccountPeer(path)))
  for (const peer of peers) t.after(() => peer.end())
  const won = await Promise.all(peers.map((peer, i) => peer.ask({ do: 'found', n: i + 1 })))
  t.equal(won.filter((each) => each === true).length, 1)
  const store = openStore(t, path)
  const winner = idOf(won.indexOf(true) + 1)
  t.strictSame(
    store.accounts.organizations().map(({ id }) => id),
    [winner],
  )
  t.equal(store.accounts.keysOf(winner).length, 1)
  t.equal(store.accounts.workspacesOf(winner).length, 1)
})

test('a process that was killed loses nothing it has acknowledged', async (t) => {
  const path = tempFolder(t)
  const peer = await startAccountPeer(path)
  await peer.ask({ do: 'found', n: 1 })
  await peer.ask({ do: 'set', hash: hashOf(1), to: { disabled: true } })
  peer.child.kill('SIGKILL')
  const store = openStore(t, path)
  t.equal(store.accounts.key(hashOf(1))?.disabled, true)
  t.equal(store.accounts.organizations().length, 1)
})
