/** What every implementation of the store's port has to do (contract/practice 1, 3, 4 and 6). */
import fc from 'fast-check'
import { type Test, test } from 'tap'
import type { ItemFields } from '../../src/store/store.js'
import { accounts } from './account-suite.js'
import { storeCommands } from './store-commands.js'
import { ItemModel } from './store-model.js'
import { type Named, StoreAtPlace, type StoreKind } from './store-place.js'

const PRESENT = { aborted: false }

function thing(name: string, description = '', price = 0): ItemFields {
  return { name, description, price }
}

function text(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes).toString()
}

function idsOf(bytes: Uint8Array): number[] {
  const items: { id: number }[] = JSON.parse(Buffer.from(bytes).toString())
  return items.map(({ id }) => id)
}

/** Declares the suite's tests for one implementation. */
export function storeSuite(kind: StoreKind): void {
  itemSuite(kind)
  accountSuite(kind)
}

/** The part of it that is about accounts. */
export function accountSuite(kind: StoreKind): void {
  accounts(namedFor(kind))
}

function declare(kind: StoreKind, name: string, run: (t: Test) => Promise<void>): void {
  void (kind.within === undefined ? test(name, run) : kind.within.test(name, run))
}

function namedFor(kind: StoreKind): Named {
  return (name, run) => {
    declare(kind, `${kind.name}: ${name}`, async (t) => {
      const store = await StoreAtPlace.open(kind)
      t.after(() => store.end())
      await run(t, store)
    })
  }
}

/** The part of it that is about items. */
export function itemSuite(kind: StoreKind): void {
  const named = namedFor(kind)
  writing(named)
  ids(named)
  listing(named)
  searching(named)
  closing(named)
  histories(kind)
}

function writing(named: Named): void {
  named('an empty store has nothing', async (t, { items }) => {
    t.equal(await items.read(1), null)
    t.equal(text(await items.list(0, 100)), '[]')
    t.equal(await items.lastId(), 0)
    const { items: found, scanned } = await items.search(Buffer.from('a'), 10, PRESENT)
    t.equal(text(found), '[]')
    t.equal(scanned, 0)
    t.equal(await items.replace(1, thing('a')), null)
    t.equal(await items.remove(1), false)
  })

  named('an item is the JSON of the contract, its members in order', async (t, store) => {
    store.now = 1_700_000_000.25
    const { id, json } = await store.items.create(thing('Lamp', 'bright', 12.5))
    const wanted = '{"name":"Lamp","description":"bright","price":12.5,"id":1,"created_at":1700000000.25}'
    t.equal(id, 1)
    t.equal(text(json), wanted)
    t.equal(text(await store.items.read(1)), wanted)
    t.equal(text(await store.items.list(0, 20)), `[${wanted}]`)
  })

  named('replacing changes all fields and keeps id and creation time', async (t, store) => {
    await store.items.create(thing('old', 'text', 5))
    store.now += 3600
    const wanted = '{"name":"new","description":"","price":0,"id":1,"created_at":1700000000.5}'
    t.equal(text(await store.items.replace(1, thing('new'))), wanted)
    t.equal(text(await store.items.read(1)), wanted)
  })

  named('what was removed is gone, and stays gone', async (t, { items }) => {
    await items.create(thing('a'))
    t.equal(await items.remove(1), true)
    t.equal(await items.read(1), null)
    t.equal(await items.remove(1), false)
    t.equal(await items.replace(1, thing('b')), null)
    t.equal(text(await items.list(0, 10)), '[]')
  })

  named('of several removals of one item exactly one has removed it', async (t, { items }) => {
    await items.create(thing('a'))
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => items.remove(1)))
    t.equal(outcomes.filter((removed) => removed).length, 1)
  })

  named('an item that is replaced and removed at the same time ends as removed', async (t, { items }) => {
    await items.create(thing('a'))
    const replaced = Array.from({ length: 10 }, (_, i) => items.replace(1, thing(`b${i}`)))
    const [removed] = await Promise.all([items.remove(1), ...replaced])
    t.equal(removed, true)
    t.equal(await items.read(1), null)
    t.equal(text(await items.list(0, 10)), '[]')
  })

  named('ids that no item can have are not found, whatever they are', async (t, { items }) => {
    await items.create(thing('a'))
    const none = [0, -0, -1, 2, 17, 1e6, 2 ** 32, 2 ** 32 + 1, 2 ** 36, 2 ** 36 + 1, 2 ** 53, 1e300]
    for (const id of [...none, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN]) {
      t.equal(await items.read(id), null, `read ${id}`)
      t.equal(await items.replace(id, thing('b')), null, `replace ${id}`)
      t.equal(await items.remove(id), false, `remove ${id}`)
    }
    t.equal(text(await items.list(0, 10)), `[${text(await items.read(1))}]`)
  })

  named('the largest items survive, 100 of them in one go', async (t, store) => {
    const fields = Array.from({ length: 100 }, (_, i) =>
      thing(`${i}`.padEnd(100, '😀'), '\0'.repeat(1000), i),
    )
    const made = await Promise.all(fields.map((each) => store.items.create(each)))
    await store.reopen()
    for (const { id, json } of made) t.equal(text(await store.items.read(id)), text(json))
    t.equal(idsOf(await store.items.list(0, 100)).length, 100)
  })
}

function ids(named: Named): void {
  named('ids begin at one and grow by one, also when many are created at once', async (t, { items }) => {
    const made = await Promise.all(Array.from({ length: 1500 }, (_, i) => items.create(thing(`n${i}`))))
    const given = made.map(({ id }) => id).sort((a, b) => a - b)
    t.same(
      given,
      Array.from({ length: 1500 }, (_, i) => i + 1),
    )
    t.equal(await items.lastId(), 1500)
    for (const { id, json } of made) t.equal(JSON.parse(text(json)!).id, id)
  })

  named(
    'no id is given twice, also when the last items are gone and the store was reopened',
    async (t, store) => {
      for (let i = 0; i < 20; i++) await store.items.create(thing('a'))
      for (let id = 10; id <= 20; id++) await store.items.remove(id)
      await store.reopen()
      t.equal((await store.items.create(thing('b'))).id, 21)
      for (const id of idsOf(await store.items.list(0, 100))) await store.items.remove(id)
      await store.reopen()
      t.equal(text(await store.items.list(0, 100)), '[]')
      t.equal(await store.items.lastId(), 21)
      t.equal((await store.items.create(thing('c'))).id, 22)
    },
  )
}

function listing(named: Named): void {
  named('a list is a window on the items by id, whatever holes there are', async (t, { items }) => {
    await Promise.all(Array.from({ length: 150 }, (_, i) => items.create(thing(`n${i}`))))
    const gone = (id: number): boolean => id <= 17 || id % 3 === 0 || (id > 60 && id < 100) || id === 150
    await Promise.all(Array.from({ length: 150 }, (_, i) => (gone(i + 1) ? items.remove(i + 1) : null)))
    const left = Array.from({ length: 150 }, (_, i) => i + 1).filter((id) => !gone(id))
    for (let offset = 0; offset <= left.length + 1; offset++) {
      for (const limit of [1, 2, 15, 16, 17, 20, 100]) {
        const found = idsOf(await items.list(offset, limit))
        if (found.join() !== left.slice(offset, offset + limit).join()) t.fail(`list(${offset}, ${limit})`)
      }
    }
    t.same(idsOf(await items.list(100_000, 100)), [])
  })

  named('a removed item leaves a place that a later one does not take', async (t, { items }) => {
    for (let i = 0; i < 3; i++) await items.create(thing('a'))
    await items.remove(2)
    await items.create(thing('b'))
    t.same(idsOf(await items.list(0, 10)), [1, 3, 4])
    t.same(idsOf(await items.list(1, 10)), [3, 4])
  })
}

interface Found {
  readonly about: string
  readonly needle: string
  readonly ids: readonly number[]
}

const TEXTS: readonly ItemFields[] = [
  thing('Blue lamp', 'gives light'), // 1
  thing('blue chair', 'no light at all, LIGHT least'), // 2
  thing('naïve café', '😀😃 ÿ\ufffd'), // 3
  thing('a"b\\c', 'line\nfeed \u0001 tab\t'), // 4
  thing('Blue', 'lamp'), // 5
  thing('aaa', 'aaaa'), // 6
]

const FOUND: readonly Found[] = [
  { about: 'a substring of a name', needle: 'lam', ids: [1, 5] },
  { about: 'a substring of a description', needle: 'light', ids: [1, 2] },
  { about: 'case counts', needle: 'blue', ids: [2] },
  { about: 'a whole name', needle: 'Blue', ids: [1, 5] },
  { about: 'nothing', needle: 'zebra', ids: [] },
  { about: 'a match does not reach from name to description', needle: 'Bluelamp', ids: [] },
  { about: 'nor from one item to the next', needle: 'lampaaa', ids: [] },
  { about: 'a letter of two bytes', needle: 'é', ids: [3] },
  { about: 'letters are code points, not accents put together', needle: 'e\u0301', ids: [] },
  { about: 'a letter of four bytes', needle: '😃', ids: [3] },
  { about: 'two letters of four bytes', needle: '😀😃', ids: [3] },
  { about: 'a letter whose bytes look like an end mark', needle: 'ÿ', ids: [3] },
  { about: 'the replacement character is a letter', needle: '\ufffd', ids: [3] },
  { about: 'text is searched, not its JSON: a quote', needle: '"', ids: [4] },
  { about: 'a backslash', needle: '\\', ids: [4] },
  { about: 'a backslash and the letter after it', needle: '\\n', ids: [] },
  { about: 'a line feed', needle: 'e\nf', ids: [4] },
  { about: 'a control character', needle: '\u0001', ids: [4] },
  { about: 'member names are not text', needle: 'description', ids: [] },
  { about: 'nor are numbers', needle: '1700000000', ids: [] },
  { about: 'overlapping matches are one item', needle: 'aa', ids: [6] },
  { about: 'a space', needle: ' ', ids: [1, 2, 3, 4] },
  { about: 'a zero', needle: '\0', ids: [] },
]

function searching(named: Named): void {
  named('a search finds substrings of name and description', async (t, { items }) => {
    for (const fields of TEXTS) await items.create(fields)
    for (const { about, needle, ids: wanted } of FOUND) {
      const found = await items.search(Buffer.from(needle), 100, PRESENT)
      t.same(idsOf(found.items), wanted, about)
      t.equal(found.scanned, TEXTS.length, `${about}: every item was visited`)
    }
  })

  named('a search visits every item, although the limit was reached early', async (t, { items }) => {
    await Promise.all(Array.from({ length: 200 }, (_, i) => items.create(thing(`match ${i}`))))
    for (const limit of [1, 63, 64, 65, 100]) {
      const { items: found, scanned } = await items.search(Buffer.from('match'), limit, PRESENT)
      t.same(
        idsOf(found),
        Array.from({ length: limit }, (_, i) => i + 1),
        `limit ${limit}`,
      )
      t.equal(scanned, 200)
    }
  })

  named('what was removed or replaced is not found as it was', async (t, { items }) => {
    for (let i = 0; i < 130; i++) void items.create(thing('before', `number ${i}`))
    await items.create(thing('before'))
    await items.remove(1)
    await items.remove(70)
    await items.replace(131, thing('after'))
    const before = await items.search(Buffer.from('before'), 100, PRESENT)
    t.equal(before.scanned, 129)
    t.notOk(idsOf(before.items).some((id) => [1, 70, 131].includes(id)))
    t.same(idsOf((await items.search(Buffer.from('after'), 10, PRESENT)).items), [131])
  })

  named('searches that run at the same time do not disturb each other', async (t, { items }) => {
    for (const fields of TEXTS) await items.create(fields)
    const found = await Promise.all(
      FOUND.map(({ needle }) => items.search(Buffer.from(needle), 100, PRESENT)),
    )
    for (const [i, { items: bytes }] of found.entries()) {
      t.same(idsOf(bytes), FOUND[i]!.ids, FOUND[i]!.about)
    }
  })

  named('a search whose caller has gone ends all the same', async (t, { items }) => {
    await Promise.all(Array.from({ length: 300 }, (_, i) => items.create(thing(`n${i}`))))
    const { scanned } = await items.search(Buffer.from('n'), 10, { aborted: true })
    t.ok(scanned <= 300)
  })
}

function closing(named: Named): void {
  named('closing waits for writes under way, and nothing of them is lost', async (t, store) => {
    let settled = 0
    const made = Array.from({ length: 1200 }, (_, i) =>
      store.items.create(thing(`n${i}`)).finally(() => settled++),
    )
    await store.reopen()
    t.equal(settled, 1200, 'every write was answered before the close was')
    t.equal(await store.items.lastId(), 1200)
    for (const { id, json } of await Promise.all(made)) t.equal(text(await store.items.read(id)), text(json))
  })
}

function histories(kind: StoreKind): void {
  declare(kind, `${kind.name}: any history leaves what the model says`, async () => {
    let last: Promise<void> = Promise.resolve()
    await fc.assert(
      fc.asyncProperty(fc.commands(storeCommands, { maxCommands: 60, size: 'max' }), (commands) => {
        last = replay(kind, commands)
        return last
      }),
      { numRuns: 150, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: false },
    )
    // At the time limit the history under way is not waited for, and its store would be taken away below it.
    await last
  })
}

async function replay(
  kind: StoreKind,
  commands: Iterable<fc.AsyncCommand<ItemModel, StoreAtPlace>>,
): Promise<void> {
  const real = await StoreAtPlace.open(kind)
  try {
    await fc.asyncModelRun(() => ({ model: new ItemModel(), real }), commands)
  } finally {
    await real.end()
  }
}
