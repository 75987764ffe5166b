import { once } from 'node:events'
import { test } from 'tap'
import { openLmdbStore } from '../../src/store/lmdb/open.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { startStorePeer } from '../support/peers/store-peer.js'

const KILLS = 4
const ACKNOWLEDGED = 150

test('a process that is killed while it writes loses nothing it has acknowledged and blocks nobody', async (t) => {
  const path = tempFolder(t)
  const store = openLmdbStore({ path, unixSeconds: () => 1_700_000_000 })
  t.after(() => store.close())
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
