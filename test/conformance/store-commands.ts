/** Commands for model-based tests of a store: each acts on the store and on the model and compares the two. */
import { deepStrictEqual, equal, ok } from 'node:assert/strict'
import fc from 'fast-check'
import type { ItemFields } from '../../src/store/store.js'
import type { ItemModel } from './store-model.js'
import type { StoreAtPlace } from './store-place.js'

type Command = fc.AsyncCommand<ItemModel, StoreAtPlace>

/** Letters that encodings, JSON and page formats treat in ways of their own. */
const letter = fc.constantFrom('ab', ...'ab éÿ€😀\0\n"\\,\ufffd\u2028')
const word = fc.string({ unit: letter, minLength: 1, maxLength: 4 })
const name = fc.oneof(
  { weight: 6, arbitrary: word },
  { weight: 1, arbitrary: fc.string({ unit: letter, minLength: 90, maxLength: 100, size: 'max' }) },
)
const description = fc.oneof(
  { weight: 2, arbitrary: fc.constant('') },
  { weight: 4, arbitrary: word },
  { weight: 1, arbitrary: fc.constantFrom('\0', '😀', 'x').map((text) => text.repeat(1000)) },
)
const price = fc.oneof(fc.constantFrom(0, 0.1, 1_000_000), fc.double({ min: 0, max: 1_000_000, noNaN: true }))

/** Fields of an item, as the service lets them through. */
const itemFields: fc.Arbitrary<ItemFields> = fc.record({ name, description, price })

/** Any id that could matter: existing ones, removed ones, the next one, and none. */
function idFrom(model: ItemModel, pick: number): number {
  return pick % (model.lastId + 2)
}

function text(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes).toString()
}

function command(text: string, run: Command['run']): Command {
  return { check: () => true, run, toString: () => text }
}

const pick = fc.nat({ max: 10_000 })
const limit = fc.integer({ min: 1, max: 100 })
const seconds = fc.double({ min: 0, max: 1e6, noNaN: true })

const create = fc.tuple(itemFields, seconds).map(([fields, after]) =>
  command(`create(${JSON.stringify(fields)})`, async (model, real) => {
    real.now += after
    const { id, json } = await real.items.create(fields)
    equal(id, model.create(fields, real.now))
    equal(text(json), model.json(id))
    equal(text(await real.items.read(id)), model.json(id))
    equal(await real.items.lastId(), model.lastId)
  }),
)

const replace = fc.tuple(pick, itemFields).map(([picked, fields]) =>
  command(`replace(${picked}, ${JSON.stringify(fields)})`, async (model, real) => {
    real.now += 1
    const id = idFrom(model, picked)
    equal(text(await real.items.replace(id, fields)), model.replace(id, fields))
    equal(text(await real.items.read(id)), model.json(id))
  }),
)

const remove = pick.map((picked) =>
  command(`remove(${picked})`, async (model, real) => {
    const id = idFrom(model, picked)
    equal(await real.items.remove(id), model.remove(id))
    equal(await real.items.read(id), null)
  }),
)

const read = pick.map((picked) =>
  command(`read(${picked})`, async (model, real) => {
    const id = idFrom(model, picked)
    equal(text(await real.items.read(id)), model.json(id))
  }),
)

const list = fc.tuple(fc.nat({ max: 120 }), limit).map(([offset, most]) =>
  command(`list(${offset}, ${most})`, async (model, real) => {
    equal(text(await real.items.list(offset, most)), model.list(offset, most))
  }),
)

/** With `picked` a piece of that item's text is looked for instead of the word: it then occurs at least once. */
const search = fc.tuple(word, limit, fc.option(pick)).map(([needle, most, picked]) =>
  command(`search(${JSON.stringify(needle)}, ${most}, ${picked})`, async (model, real) => {
    const wanted = picked === null ? needle : (pieceOf(model, picked) ?? needle)
    const { items, scanned } = await real.items.search(Buffer.from(wanted), most, { aborted: false })
    deepStrictEqual({ items: text(items), scanned }, model.search(wanted, most))
  }),
)

function pieceOf(model: ItemModel, picked: number): string | undefined {
  const fields = model.fields(idFrom(model, picked))
  if (fields === undefined) return undefined
  const letters = [...(fields.description === '' ? fields.name : fields.description)]
  const start = picked % letters.length
  return letters.slice(start, start + 1 + (picked % 50)).join('')
}

type Write = { readonly fields: ItemFields } | { readonly pick: number; readonly fields: ItemFields | null }

const write: fc.Arbitrary<Write> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ fields: itemFields }) },
  { weight: 1, arbitrary: fc.record({ pick, fields: itemFields }) },
  { weight: 1, arbitrary: fc.record({ pick, fields: fc.constant(null) }) },
)

/** Writes that are under way together. Each item is touched by one of them only, so the outcome is certain. */
const atOnce = fc.array(write, { minLength: 1, maxLength: 40, size: 'max' }).map((writes) =>
  command(`atOnce(${JSON.stringify(writes)})`, async (model, real) => {
    const known = model.lastId
    const touched = new Set<number>()
    const created: Promise<{ id: number; json: Uint8Array; fields: ItemFields }>[] = []
    const changed: Promise<void>[] = []
    for (const each of writes) {
      if (!('pick' in each)) {
        created.push(real.items.create(each.fields).then((made) => ({ ...made, fields: each.fields })))
        continue
      }
      const id = 1 + (each.pick % (known + 1))
      if (touched.has(id) || id > known) continue
      touched.add(id)
      changed.push(change(model, real, id, each.fields))
    }
    await Promise.all(changed)
    const made = (await Promise.all(created)).sort((a, b) => a.id - b.id)
    for (const { id, json, fields } of made) {
      equal(id, model.create(fields, real.now))
      equal(text(json), model.json(id))
    }
    equal(await real.items.lastId(), known + created.length)
    equal(text(await real.items.list(0, 1000)), model.list(0, 1000))
  }),
)

async function change(model: ItemModel, real: StoreAtPlace, id: number, fields: ItemFields | null) {
  if (fields === null) equal(await real.items.remove(id), model.remove(id))
  else equal(text(await real.items.replace(id, fields)), model.replace(id, fields))
}

const reopen = fc.constant(
  command('reopen()', async (model, real) => {
    await real.reopen()
    equal(await real.items.lastId(), model.lastId)
    ok(text(await real.items.list(0, 1000)) === model.list(0, 1000), 'the same items after the reopening')
  }),
)

/** Every command. Histories are made of them in any order. */
export const storeCommands = [create, replace, remove, read, list, search, atOnce, reopen]
