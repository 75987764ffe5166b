import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import type { Store } from '../../src/store/store.js'
import { hashOf, idOf, keyOf } from '../support/data/accounts.js'
import { openStore } from '../support/data/open-store.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { startStorePeer } from '../support/peers/store-peer.js'

const ITEMS = 64
const BYTES = 1000
const ROUNDS = 300
/** Every round writes about twice the text; if a reader pinned the old pages, all rounds would add up. */
const WRITTEN_BYTES = ITEMS * BYTES * 2 * ROUNDS

function dataBytes(path: string): number {
  return readdirSync(path)
    .filter((name) => name.endsWith('.mdb') && !name.startsWith('lock'))
    .reduce((sum, name) => sum + statSync(join(path, name)).size, 0)
}

const READS: Readonly<Record<string, (store: Store) => unknown>> = {
  'one item': ({ items }) => items.read(1),
  'no item': ({ items }) => items.read(1_000_000),
  'a list': ({ items }) => items.list(0, 100),
  'a list far behind': ({ items }) => items.list(100_000, 100),
  'the last id': ({ items }) => items.lastId(),
  'a search': ({ items }) => items.search(Buffer.from('r'), 10, { aborted: false }),
  'a key': ({ accounts }) => accounts.key(hashOf(1)),
  'all keys': ({ accounts }) => accounts.keys(),
  'all organizations': ({ accounts }) => accounts.organizations(),
  'a policy': ({ federation }) => federation.policies.get(idOf(1)),
  'an audit': ({ federation }) => federation.auditPage(idOf(1), 'changes', 0, 10),
  'a role': ({ scim }) => scim.roleOf(idOf(1), 'user'),
  'a file': ({ files }) => files.file(`file_${'0'.repeat(26)}`),
  'a search whose caller left': ({ items }) => items.search(Buffer.from('r'), 10, { aborted: true }),
}

test('a process that has read and idles keeps no old pages from being used again', async (t) => {
  const path = tempFolder(t)
  const store = openStore(t, path)
  const fields = { name: 'item', description: 'x'.repeat(BYTES), price: 0 }
  await Promise.all(Array.from({ length: ITEMS }, () => store.items.create(fields)))
  await store.accounts.addKey(keyOf(1))
  const writer = await startStorePeer(path)
  t.after(() => writer.end())
  const rewrite = { do: 'rewrite', items: ITEMS, bytes: BYTES } as const
  await writer.ask({ ...rewrite, rounds: 20 })
  for (const [what, read] of Object.entries(READS)) {
    await read(store)
    const before = dataBytes(path)
    await writer.ask({ ...rewrite, rounds: ROUNDS })
    const grown = dataBytes(path) - before
    t.ok(grown < WRITTEN_BYTES / 10, `after ${what}: grew by ${grown} of ${WRITTEN_BYTES} bytes written`)
  }
})
