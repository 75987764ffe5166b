/** Commands for model-based tests of a store: each acts on the store and on the model and compares the two. */
import { deepStrictEqual, equal, ok } from 'node:assert/strict'
import fc from 'fast-check'
import type { ItemFields } from '../../src/store/store.js'
import type { ItemModel } from './store-model.js'
import type { StoreAtPlace } from './store-place.js'

type Command = fc.AsyncCommand<ItemModel, StoreAtPlace>

/** Letters that encodings, JSON and page formats treat in ways of their own. */
const letter = fc.constantFrom(
  'a',
  'b',
  'ab',
  ' ',
  'é',
  'ÿ',
  '€',
  '😀',
  '\0',
  '\n',
  '"',
  '\\',
  ',',
  '\ufffd',
  '\u2028',
)
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

abstract class Always {
  check(): boolean {
    return true
  }
}

class Create extends Always implements Command {
  constructor(
    readonly fields: ItemFields,
    readonly after: number,
  ) {
    super()
  }

  async run(model: ItemModel, real: StoreAtPlace): Promise<void> {
    real.now += this.after
    const { id, json } = await real.items.create(this.fields)
    equal(id, model.create(this.fields, real.now))
    equal(text(json), model.json(id))
    equal(text(real.items.read(id)), model.json(id))
    equal(real.items.lastId(), model.lastId)
  }

  override toString(): string {
    return `create(${JSON.stringify(this.fields)})`
  }
}

class Replace extends Always implements Command {
  constructor(
    readonly pick: number,
    readonly fields: ItemFields,
  ) {
    super()
  }

  async run(model: ItemModel, real: StoreAtPlace): Promise<void> {
    real.now += 1
    const id = idFrom(model, this.pick)
    equal(text(await real.items.replace(id, this.fields)), model.replace(id, this.fields))
    equal(text(real.items.read(id)), model.json(id))
  }

  override toString(): string {
    return `replace(${this.pick}, ${JSON.stringify(this.fields)})`
  }
}

class Remove extends Always implements Command {
  constructor(readonly pick: number) {
    super()
  }

  async run(model: ItemModel, real: StoreAtPlace): Promise<void> {
    const id = idFrom(model, this.pick)
    equal(await real.items.remove(id), model.remove(id))
    equal(real.items.read(id), null)
  }

  override toString(): string {
    return `remove(${this.pick})`
  }
}

class Read extends Always implements Command {
  constructor(readonly pick: number) {
    super()
  }

  async run(model: ItemModel, real: StoreAtPlace): Promise<void> {
    const id = idFrom(model, this.pick)
    equal(text(real.items.read(id)), model.json(id))
  }

  override toString(): string {
    return `read(${this.pick})`
  }
}

class List extends Always implements Command {
  constructor(
    readonly offset: number,
    readonly limit: number,
  ) {
    super()
  }

  async run(model: ItemModel, real: StoreAtPlace): Promise<void> {
    equal(text(real.items.list(this.offset, this.limit)), model.list(this.offset, this.limit))
  }

  override toString(): string {
    return `list(${this.offset}, ${this.limit})`
  }
}

class Search extends Always implements Command {
  constructor(
    readonly needle: string,
    readonly limit: number,
    /** When set: a piece of this item's text is looked for instead, which then occurs at least once. */
    readonly pick: number | null,
  ) {
    super()
  }

  async run(model: ItemModel, real: StoreAtPlace): Promise<void> {
    const needle = this.#needle(model)
    const found = await real.items.search(Buffer.from(needle), this.limit, { aborted: false })
    const wanted = model.search(needle, this.limit)
    deepStrictEqual({ items: text(found.items), scanned: found.scanned }, wanted)
  }

  #needle(model: ItemModel): string {
    if (this.pick === null) return this.needle
    const fields = model.fields(idFrom(model, this.pick))
    if (fields === undefined) return this.needle
    const letters = [...(fields.description === '' ? fields.name : fields.description)]
    const start = this.pick % letters.length
    return letters.slice(start, start + 1 + (this.pick % 50)).join('')
  }

  override toString(): string {
    return `search(${JSON.stringify(this.needle)}, ${this.limit}, ${this.pick})`
  }
}

type Write = { readonly fields: ItemFields } | { readonly pick: number; readonly fields: ItemFields | null }

/** Writes that are under way together. Each item is touched by one of them only, so the outcome is certain. */
class AtOnce extends Always implements Command {
  constructor(readonly writes: readonly Write[]) {
    super()
  }

  async run(model: ItemModel, real: StoreAtPlace): Promise<void> {
    const known = model.lastId
    const touched = new Set<number>()
    const created: Promise<{ id: number; json: Uint8Array; fields: ItemFields }>[] = []
    const changed: Promise<void>[] = []
    for (const write of this.writes) {
      if (!('pick' in write)) {
        created.push(real.items.create(write.fields).then((made) => ({ ...made, fields: write.fields })))
        continue
      }
      const id = 1 + (write.pick % (known + 1))
      if (touched.has(id) || id > known) continue
      touched.add(id)
      changed.push(this.#change(model, real, id, write.fields))
    }
    await Promise.all(changed)
    const made = (await Promise.all(created)).sort((a, b) => a.id - b.id)
    for (const { id, json, fields } of made) {
      equal(id, model.create(fields, real.now))
      equal(text(json), model.json(id))
    }
    equal(real.items.lastId(), known + created.length)
    equal(text(real.items.list(0, 1000)), model.list(0, 1000))
  }

  async #change(model: ItemModel, real: StoreAtPlace, id: number, fields: ItemFields | null): Promise<void> {
    if (fields === null) equal(await real.items.remove(id), model.remove(id))
    else equal(text(await real.items.replace(id, fields)), model.replace(id, fields))
  }

  override toString(): string {
    return `atOnce(${JSON.stringify(this.writes)})`
  }
}

class Reopen extends Always implements Command {
  async run(model: ItemModel, real: StoreAtPlace): Promise<void> {
    await real.reopen()
    equal(real.items.lastId(), model.lastId)
    ok(text(real.items.list(0, 1000)) === model.list(0, 1000), 'the same items after the reopening')
  }

  override toString(): string {
    return 'reopen()'
  }
}

const pick = fc.nat({ max: 10_000 })
const limit = fc.integer({ min: 1, max: 100 })
const write: fc.Arbitrary<Write> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ fields: itemFields }) },
  { weight: 1, arbitrary: fc.record({ pick, fields: itemFields }) },
  { weight: 1, arbitrary: fc.record({ pick, fields: fc.constant(null) }) },
)

/** Every command. Histories are made of them in any order. */
export const storeCommands = [
  fc
    .tuple(itemFields, fc.double({ min: 0, max: 1e6, noNaN: true }))
    .map(([f, after]) => new Create(f, after)),
  fc.tuple(pick, itemFields).map(([id, fields]) => new Replace(id, fields)),
  pick.map((id) => new Remove(id)),
  pick.map((id) => new Read(id)),
  fc.tuple(fc.nat({ max: 120 }), limit).map(([offset, most]) => new List(offset, most)),
  fc.tuple(word, limit, fc.option(pick)).map(([needle, most, from]) => new Search(needle, most, from)),
  fc.array(write, { minLength: 1, maxLength: 40, size: 'max' }).map((writes) => new AtOnce(writes)),
  fc.constant(null).map(() => new Reopen()),
]
