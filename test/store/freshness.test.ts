import { test } from 'tap'
import type { LmdbStore } from '../../src/store/lmdb/open.js'
import type { ItemFields } from '../../src/store/store.js'
import { openStore } from '../support/data/open-store.js'
import { type Lifetime, tempFolder } from '../support/data/temp-folder.js'
import { type StorePeer, startStorePeer } from '../support/peers/store-peer.js'

const ROUNDS = 1_500

function item(name: string, price = 0): ItemFields {
  return { name, description: '', price }
}

function text(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes).toString()
}

async function openTwoStores(t: Lifetime): Promise<{ ours: LmdbStore; theirs: StorePeer }> {
  const path = tempFolder(t)
  const ours = openStore(t, path)
  const theirs = await startStorePeer(path)
  t.after(() => theirs.end())
  return { ours, theirs }
}

test('a change acknowledged in one process is seen by the next read of another, every time', async (t) => {
  const { ours, theirs } = await openTwoStores(t)
  await ours.items.create(item('item'))
  let stale = 0
  for (let round = 1; round <= ROUNDS; round++) {
    const here = await ours.items.replace(1, item('here', round))
    if ((await theirs.ask({ do: 'read', id: 1 })) !== text(here)) stale++
    const there = await theirs.ask({ do: 'replace', id: 1, fields: item('there', round) })
    if (text(ours.items.read(1)) !== there) stale++
  }
  t.equal(stale, 0, `${ROUNDS * 2} reads`)
})

test('reads of every kind see the change, also after a long run of other reads', async (t) => {
  const { ours, theirs } = await openTwoStores(t)
  let stale = 0
  for (let id = 1; id <= 60; id++) {
    for (let i = 0; i < 50; i++) ours.items.read(id)
    const made = await theirs.ask({ do: 'create', fields: item(`made ${id};`) })
    if (text(ours.items.read(id)) !== made) stale++
    if (ours.items.lastId() !== id) stale++
    if (!text(ours.items.list(0, 100))?.includes(made)) stale++
    const found = await ours.items.search(Buffer.from(`made ${id};`), 10, { aborted: false })
    if (text(found.items) !== `[${made}]`) stale++
  }
  for (let id = 1; id <= 60; id += 2) {
    await theirs.ask({ do: 'remove', id })
    if (ours.items.read(id) !== null) stale++
    if (text(ours.items.list(0, 100))?.includes(`"id":${id},`)) stale++
  }
  t.equal(stale, 0)
})

test('processes that write at the same time lose nothing and give no id twice', async (t) => {
  const { ours, theirs } = await openTwoStores(t)
  const each = 200
  const fields = { name: 'both', description: 'x'.repeat(300), price: 0 }
  const here = Promise.all(Array.from({ length: each }, () => ours.items.create(fields)))
  const there: number[] = []
  for (let i = 0; i < each; i++) there.push(JSON.parse(await theirs.ask({ do: 'create', fields })).id)
  const all = [...(await here).map(({ id }) => id), ...there].sort((a, b) => a - b)
  const wanted = Array.from({ length: 2 * each }, (_, i) => i + 1)
  t.same(all, wanted)
  t.equal(ours.items.lastId(), 2 * each)
  t.equal((await ours.items.search(Buffer.from('both'), 10, { aborted: false })).scanned, 2 * each)
})
