/** What was acknowledged outlives the store's end, its process and a full disk; what comes too late is refused. */
import { once } from 'node:events'
import { type Test, test } from 'tap'
import { openLmdbStore } from '../../src/store/lmdb/open.js'
import { openStore } from '../support/data/open-store.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { type StorePeer, startStorePeer } from '../support/peers/store-peer.js'

const KILLS = 4
const ACKNOWLEDGED = 150
const FILE_KIB = 4096
const FIELDS = { name: 'late', description: '', price: 0 }

test('a process that is killed while it writes loses nothing it has acknowledged and blocks nobody', async (t) => {
  const path = tempFolder(t)
  const store = openStore(t, path)
  const acknowledged: number[] = []
  for (let kill = 0; kill < KILLS; kill++) {
    const { child } = await startStorePeer(path)
    const until = acknowledged.length + ACKNOWLEDGED
    const exited = once(child, 'exit')
    child.on('message', ({ created }: { created: number }) => {
      acknowledged.push(created)
      if (acknowledged.length >= until) child.kill('SIGKILL')
    })
    child.send({ do: 'create-on' })
    await exited
    const { id } = await store.items.create({ name: 'survivor', description: '', price: 0 })
    acknowledged.push(id)
  }
  t.equal(new Set(acknowledged).size, acknowledged.length, 'no id was given twice')
  t.ok(
    acknowledged.every((id) => store.items.read(id) !== null),
    `${acknowledged.length} acknowledged items are there`,
  )
  const { scanned } = await store.items.search(Buffer.from('x'), 1, { aborted: false })
  t.equal(scanned, store.items.lastId(), 'the ids have no gap')
})

test('a write that comes after the end is refused, it does not break the process', async (t) => {
  const store = openLmdbStore({ path: tempFolder(t), unixSeconds: () => 0 })
  await store.close()
  await t.rejects(store.items.create(FIELDS), { name: 'Fault', kind: 'unavailable' })
})

test('writes that come while the store closes are either done or refused', async (t) => {
  const path = tempFolder(t)
  const store = openLmdbStore({ path, unixSeconds: () => 0 })
  const early = Array.from({ length: 100 }, () => store.items.create(FIELDS))
  const closed = store.close()
  const late = Array.from({ length: 100 }, () => store.items.create(FIELDS))
  await closed
  await Promise.all(early)
  const outcomes = await Promise.allSettled(late)
  const done = outcomes.filter(({ status }) => status === 'fulfilled').length
  t.equal(openStore(t, path).items.lastId(), 100 + done)
})

/** A process for which the disk is soon full. */
async function startOnSmallDisk(t: Test, path = tempFolder(t)): Promise<StorePeer> {
  const peer = await startStorePeer(path, { fileKiB: FILE_KIB })
  t.after(() => peer.child.kill('SIGKILL'))
  return peer
}

test('a write that the disk cannot take is refused as unavailable, and reads go on', async (t) => {
  const peer = await startOnSmallDisk(t)
  const { acknowledged, kind } = JSON.parse(await peer.ask({ do: 'fill' }))
  t.equal(kind, 'unavailable')
  t.ok(acknowledged > 500, `${acknowledged} items fit`)
  for (let i = 0; i < 5; i++) {
    t.match(JSON.parse(await peer.ask({ do: 'read', id: 1 })), { id: 1, name: 'item' })
    t.match(JSON.parse(await peer.ask({ do: 'fill' })), { kind: 'unavailable' })
  }
  t.equal(peer.child.exitCode, null, 'the process lives')
})

test('a store on a full disk can be closed', async (t) => {
  const peer = await startOnSmallDisk(t)
  await peer.ask({ do: 'fill' })
  const timeout = new Promise((resolve) => setTimeout(resolve, 5000, false).unref())
  t.ok(await Promise.race([peer.end().then(() => true), timeout]))
})

test('what was acknowledged before the disk was full is there, and ids go on, when there is room again', async (t) => {
  const path = tempFolder(t)
  const peer = await startOnSmallDisk(t, path)
  const told = await peer.ask({ do: 'fill' }).catch(() => null)
  peer.child.kill('SIGKILL')
  const store = openStore(t, path)
  const { scanned } = await store.items.search(Buffer.from('x'), 1, { aborted: false })
  t.ok(scanned > 500)
  t.equal(scanned, store.items.lastId())
  if (told !== null) t.ok(scanned >= JSON.parse(told).acknowledged)
  t.equal((await store.items.create({ name: 'room', description: '', price: 0 })).id, scanned + 1)
})
