import { test } from 'tap'
import { openLmdbStore } from '../../src/store/lmdb/open.js'
import { tempFolder } from '../support/data/temp-folder.js'

const FIELDS = { name: 'late', description: '', price: 0 }

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
  const again = openLmdbStore({ path, unixSeconds: () => 0 })
  t.after(() => again.close())
  t.equal(again.items.lastId(), 100 + done)
})
