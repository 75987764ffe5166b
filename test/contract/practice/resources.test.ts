/** contract/practice 3: the item and its ids. */
import { test } from 'tap'
import { type HttpReply, httpClient } from '../../support/clients/http-client.js'
import { clientPerWorker, statsPerWorker } from '../../support/clients/worker-connections.js'
import { practiceServer } from '../../support/servers/practice-server.js'

interface Item {
  readonly name: string
  readonly description: string
  readonly price: number
  readonly id: number
  readonly created_at: number
}

const { client } = await practiceServer()

async function created(fields: object): Promise<Item> {
  return (await client.write('POST', '/api/v1/items', fields)).json as Item
}

test('an item has exactly these keys in this order, wherever it is answered', async (t) => {
  const post = await client.write('POST', '/api/v1/items', { price: 2, description: 'd', name: 'ordered' })
  const { id } = post.json as Item
  const put = await client.write('PUT', `/api/v1/items/${id}`, {
    price: 3,
    name: 'ordered',
    description: 'e',
  })
  const get = await client.get(`/api/v1/items/${id}`)
  const order = ['name', 'description', 'price', 'id', 'created_at']
  for (const reply of [post, put, get]) t.strictSame(Object.keys(reply.json as Item), order)
  for (const path of ['/api/v1/items?limit=100', '/api/v1/search?q=ordered']) {
    const items = (await client.get(path)).json as Item[]
    t.ok(items.length > 0, path)
    for (const item of items) t.strictSame(Object.keys(item), order, path)
  }
  t.match(get.text, /^\{"name":"ordered","description":"e","price":3,"id":\d+,"created_at":\d+\.?\d*\}$/)
})

test('absent optional fields take their defaults', async (t) => {
  const { name, description, price } = await created({ name: 'bare' })
  t.strictSame({ name, description, price }, { name: 'bare', description: '', price: 0 })
})

test('created_at is Unix time in seconds with a fraction', async (t) => {
  const before = Date.now() / 1000
  const times = await Promise.all(
    Array.from({ length: 20 }, async () => (await created({ name: 'x' })).created_at),
  )
  const until = Date.now() / 1000
  for (const time of times)
    t.ok(time >= before - 0.001 && time <= until + 0.001, `${before} ${time} ${until}`)
  t.ok(
    times.some((time) => !Number.isInteger(time)),
    'not whole seconds',
  )
})

test('values come back as they were sent', async (t) => {
  const names = [
    '"',
    '\\',
    '\u0000\u001f\u007f',
    '\u2028\u2029',
    '</script>',
    '😀',
    ' padded ',
    'e\u0301 is not é',
  ]
  const prices = [0, 0.1, 1 / 3, 999_999.999999, 1_000_000, 5e-324, 1e-7, 123_456.789]
  for (const [i, name] of names.entries()) {
    const fields = { name, description: names.toReversed()[i]!, price: prices[i]! }
    const item = await created(fields)
    const read = (await client.get(`/api/v1/items/${item.id}`)).json
    t.strictSame(read, { ...fields, id: item.id, created_at: item.created_at }, encodeURIComponent(name))
  }
})

test('PUT replaces all three fields and keeps id and creation time', async (t) => {
  const item = await created({ name: 'before', description: 'long', price: 7 })
  const whole = await client.write('PUT', `/api/v1/items/${item.id}`, {
    name: 'a',
    description: 'b',
    price: 1.5,
  })
  t.strictSame(whole.json, {
    name: 'a',
    description: 'b',
    price: 1.5,
    id: item.id,
    created_at: item.created_at,
  })
  const reset = { name: 'after', description: '', price: 0, id: item.id, created_at: item.created_at }
  const bare = await client.write('PUT', `/api/v1/items/${item.id}`, { name: 'after' })
  t.equal(bare.status, 200)
  t.strictSame(bare.json, reset, 'absent optional fields return to their defaults')
  t.strictSame((await client.get(`/api/v1/items/${item.id}`)).json, reset)
  const foreign = await client.write('PUT', `/api/v1/items/${item.id}`, {
    name: 'after',
    id: 1,
    created_at: 5,
  })
  t.strictSame(foreign.json, reset, 'id and created_at in the body are ignored')
})

test('a creation names the address of the new item', async (t) => {
  const reply = await client.write('POST', '/api/v1/items', { name: 'x' })
  t.equal(reply.status, 201)
  t.equal(reply.headers.location, `/api/v1/items/${(reply.json as Item).id}`)
  t.equal((await client.get(reply.headers.location!)).text, reply.text)
})

test('ids start at 1 and grow by one, whichever worker creates', async (t) => {
  const { server: fresh } = await practiceServer({}, 1, t)
  const clients = await clientPerWorker(fresh.baseUrl)
  try {
    const ids: number[] = []
    const statuses = new Set<number>()
    const note = (reply: HttpReply): void => {
      statuses.add(reply.status)
      ids.push((reply.json as Item).id)
    }
    for (let i = 0; i < 20; i++)
      note(await clients[i % 2]!.write('POST', '/api/v1/items', { name: 'in turn' }))
    t.strictSame(
      ids,
      Array.from({ length: 20 }, (_, i) => i + 1),
      'one after the other, in turn',
    )
    const crowds = clients.map(() => httpClient(fresh.baseUrl, 16))
    await Promise.all(
      Array.from({ length: 980 }, async (_, i) =>
        note(await crowds[i % 2]!.write('POST', '/api/v1/items', { name: 'at once' })),
      ),
    )
    for (const crowd of crowds) crowd.close()
    t.strictSame([...statuses], [201])
    t.strictSame(
      ids.toSorted((a, b) => a - b),
      Array.from({ length: 1000 }, (_, i) => i + 1),
      'and at once',
    )
    const stats = await statsPerWorker(fresh.baseUrl)
    t.ok(
      stats.every(({ operations }) => operations.create_item!.count > 20),
      'both workers took part',
    )
  } finally {
    for (const each of clients) each.close()
  }
})
