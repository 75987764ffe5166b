import { type Test, test } from 'tap'
import { openLmdbStore } from '../../src/store/lmdb/open.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { type StorePeer, startStorePeer } from '../support/peers/store-peer.js'

const FILE_KIB = 4096

interface FullDisk {
  readonly peer: StorePeer
  readonly path: string
  readonly acknowledged: number
  readonly kind: string
}

/** A process whose disk is full, after it has written what fits. */
async function fillDisk(t: Test): Promise<FullDisk> {
  const path = tempFolder(t)
  const peer = await startStorePeer(path, { fileKiB: FILE_KIB })
  t.after(() => peer.child.kill('SIGKILL'))
  const answer = JSON.parse(await peer.ask({ do: 'fill' }))
  return { peer, path, ...answer }
}

test('a write that the disk cannot take is refused as unavailable, and reads go on', async (t) => {
  const { peer, acknowledged, kind } = await fillDisk(t)
  t.equal(kind, 'unavailable')
  t.ok(acknowledged > 500, `${acknowledged} items fit`)
  for (let i = 0; i < 5; i++) {
    t.match(JSON.parse(await peer.ask({ do: 'read', id: 1 })), { id: 1, name: 'item' })
    t.match(JSON.parse(await peer.ask({ do: 'fill' })), { kind: 'unavailable' })
  }
  t.equal(peer.child.exitCode, null, 'the process lives')
})

test('a store on a full disk can be closed', async (t) => {
  const { peer } = await fillDisk(t)
  const ended = await Promise.race([
    peer.end().then(() => true),
    new Promise((resolve) => setTimeout(resolve, 5000, false).unref()),
  ])
  t.ok(ended)
})

test('what was acknowledged before the disk was full is there, and ids go on, when there is room again', async (t) => {
  const path = tempFolder(t)
  const peer = await startStorePeer(path, { fileKiB: FILE_KIB })
  t.after(() => peer.child.kill('SIGKILL'))
  const told = await peer.ask({ do: 'fill' }).catch(() => null)
  peer.child.kill('SIGKILL')
  const store = openLmdbStore({ path, unixSeconds: () => 0 })
  t.after(() => store.close())
  const { scanned } = await store.items.search(Buffer.from('x'), 1, { aborted: false })
  t.ok(scanned > 500)
  t.equal(scanned, store.items.lastId())
  if (told !== null) t.ok(scanned >= JSON.parse(told).acknowledged)
  t.equal((await store.items.create({ name: 'room', description: '', price: 0 })).id, scanned + 1)
})
