import { test } from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { createLog } from '../../src/base/log.js'
import { seedItems } from '../../src/process/seed.js'
import { NO_LIMITS } from '../../src/store/disk-reserve.js'
import { openLmdbStore } from '../../src/store/lmdb/open.js'
import { ItemModel, modelStore } from '../conformance/store-model.js'
import { tempFolder } from '../support/data/temp-folder.js'

interface Seeded {
  readonly model: ItemModel
  readonly lines: string[]
  readonly seed: (count: number) => Promise<void>
}

function seeding(): Seeded {
  const model = new ItemModel()
  const lines: string[] = []
  const log = createLog('info', 'test', { write: (line: string) => void lines.push(line) })
  const { items } = modelStore(model, () => 0)
  return { model, lines, seed: (count) => seedItems(items, count, log, systemClock) }
}

test('as many items as asked for are created, with ids from one', async (t) => {
  for (const count of [0, 1, 511, 512, 513, 1500]) {
    const { model, seed, lines } = seeding()
    await seed(count)
    t.equal(model.lastId, count)
    t.equal(model.ids.length, count)
    t.equal(lines.length, count === 0 ? 0 : 1, 'told once')
  }
})

test('a second start adds nothing, although items were removed meanwhile', async (t) => {
  const { model, seed, lines } = seeding()
  await seed(100)
  for (const id of [1, 50, 100]) model.remove(id)
  await seed(100)
  t.equal(model.lastId, 100)
  t.equal(model.ids.length, 97)
  t.equal(lines.length, 1)
})

test('a larger count goes on where the last start was', async (t) => {
  const { model, seed } = seeding()
  await seed(10)
  await seed(700)
  t.equal(model.ids.length, 700)
  t.match(JSON.parse(model.json(700)!).name, '700')
})

test('a store that takes no more ends the seeding with a line, not the start', async (t) => {
  const path = tempFolder(t)
  const store = openLmdbStore({ path, unixSeconds: () => 0, limits: { ...NO_LIMITS, itemBytes: 100_000 } })
  t.after(() => store.close())
  const lines: string[] = []
  const log = createLog('info', 'test', { write: (line: string) => void lines.push(line) })
  await seedItems(store.items, 2_000, log, systemClock)
  const have = store.items.lastId()
  t.ok(have > 100 && have < 2_000, `${have} items`)
  t.match(
    lines.map((line) => JSON.parse(line)),
    [{ level: 40, have, wanted: 2_000, err: { kind: 'unavailable' } }],
  )
})

test('seeded items differ and fit the schema of an item', async (t) => {
  const { model, seed } = seeding()
  await seed(2000)
  const names = new Set<string>()
  for (const id of model.ids) {
    const { name, description, price } = model.fields(id)!
    names.add(name)
    if (name.length > 100 || description.length > 1000 || price < 0 || price > 1_000_000) t.fail(name)
  }
  t.equal(names.size, 2000)
})
