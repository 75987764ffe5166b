import { test } from 'tap'
import { itemEndpoints } from '../../src/features/items/endpoints.js'
import type { HttpCall, Reply } from '../../src/http/endpoint.js'
import type { ItemStore } from '../../src/store/store.js'
import { openStore } from '../support/data/open-store.js'

const CALL = { aborted: false } as HttpCall

/** Answers of the operations that only read, in the turn they were asked in where the store does so. */
function readingOf(items: ItemStore): readonly (Reply | Promise<Reply>)[] {
  const endpoints = itemEndpoints(items)
  return (
    [
      ['read_item', { params: { item_id: 1 } }],
      ['list_items', { query: { limit: 20, offset: 0 } }],
      ['search_items', { query: { q: 'a', limit: 20 } }],
    ] as const
  ).map(([name, input]) => endpoints.find((each) => each.name === name)!.handle(input as never, CALL))
}

const bodyOf = ({ body }: Reply): string => Buffer.from(body as Uint8Array).toString()

test('reads are answered at once where the store is embedded, and alike where it is elsewhere', async (t) => {
  const { items } = openStore(t)
  await items.create({ name: 'a', description: '', price: 1 })
  const elsewhere: ItemStore = {
    ...items,
    read: async (id) => Buffer.from(items.read(id)!),
    list: async (offset, limit) => Buffer.from(items.list(offset, limit)),
    search: async (needle, limit, caller) => items.search(needle, limit, caller),
  }
  const here = readingOf(items).map((reply) => {
    if (reply instanceof Promise) throw new Error('a promise costs each read some microseconds')
    return [reply.status, reply.headers, bodyOf(reply)]
  })
  const there = (await Promise.all(readingOf(elsewhere))).map((reply) => [
    reply.status,
    reply.headers,
    bodyOf(reply),
  ])
  t.same(there, here)
  t.match(here[0]![2], '"name":"a"')
})

test('an item that is not there is not found, wherever the store is', async (t) => {
  const { items } = openStore(t)
  t.throws(() => readingOf(items), { name: 'Fault', kind: 'item-not-found' })
  const [reading] = readingOf({ ...items, read: async () => null })
  await t.rejects(Promise.resolve(reading), { name: 'Fault', kind: 'item-not-found' })
})
