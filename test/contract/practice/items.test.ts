/** contract/practice 4 and 6: create, read, update, delete and list items. */
import { test } from 'tap'
import { pseudoRandom } from '../../support/arbitraries/pseudo-random.js'
import { type HttpClient, httpClient } from '../../support/clients/http-client.js'
import { sendBytes } from '../../support/clients/raw-http.js'
import { clientPerWorker } from '../../support/clients/worker-connections.js'
import { practiceServer } from '../../support/servers/practice-server.js'

const { server, client } = await practiceServer({}, 32)

interface Item {
  readonly id: number
  readonly name: string
}

async function create(name: string, by: HttpClient = client): Promise<Item> {
  return (await by.write('POST', '/api/v1/items', { name })).json as Item
}

function remove(id: number, by: HttpClient = client): Promise<{ status: number; text: string }> {
  return by.send({ method: 'DELETE', path: `/api/v1/items/${id}` })
}

async function list(query: string): Promise<Item[]> {
  return (await client.get(`/api/v1/items?${query}`)).json as Item[]
}

test('an empty store lists no items', async (t) => {
  for (const query of ['', 'limit=100', 'offset=100000', 'limit=1&offset=1']) {
    const reply = await client.get(`/api/v1/items?${query}`)
    t.strictSame({ status: reply.status, text: reply.text }, { status: 200, text: '[]' }, query)
  }
})

test('each operation answers with its own status', async (t) => {
  const made = await client.write('POST', '/api/v1/items', { name: 'x' })
  const { id } = made.json as Item
  const path = `/api/v1/items/${id}`
  const read = await client.get(path)
  const replaced = await client.write('PUT', path, { name: 'y' })
  const removed = await remove(id)
  t.strictSame(
    [made, read, replaced, removed].map(({ status }) => status),
    [201, 200, 200, 204],
  )
  const body = { detail: 'Item not found' }
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const reply = await client.write(method, path, { name: 'z' })
    t.strictSame(
      { status: reply.status, json: reply.json },
      { status: 404, json: body },
      `${method} afterwards`,
    )
  }
})

test('204 carries no body, no Content-Type and no Content-Length, and the connection stays usable', async (t) => {
  const { id } = await create('short-lived')
  const again = await create('read next')
  const request = `DELETE /api/v1/items/${id} HTTP/1.1\r\nHost: sluice\r\nConnection: close\r\n\r\n`
  const first = await sendBytes(server.port, request)
  t.match(first, /^HTTP\/1\.1 204 No Content\r\n/)
  t.notMatch(first, /content-length|content-type|transfer-encoding/i)
  t.match(first, /\r\n\r\n$/, 'nothing follows the head')
  const one = httpClient(server.baseUrl, 1)
  t.equal((await remove((await create('gone', one)).id, one)).status, 204)
  t.equal((await one.get(`/api/v1/items/${again.id}`)).status, 200)
  one.close()
})

test('a deletion does not care for a body', async (t) => {
  const { id } = await create('x')
  const reply = await client.send({ method: 'DELETE', path: `/api/v1/items/${id}`, body: '{"name":' })
  t.equal(reply.status, 204)
})

test('of several concurrent deletions of one item exactly one answers 204', async (t) => {
  const workers = await clientPerWorker(server.baseUrl)
  const crowd = [...workers, httpClient(server.baseUrl, 16)]
  for (let round = 0; round < 60; round++) {
    const { id } = await create('contended')
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, i) => remove(id, crowd[i % crowd.length]!)),
    )
    const statuses = replies.map(({ status }) => status).toSorted((a, b) => a - b)
    t.strictSame(statuses, [204, ...new Array(11).fill(404)], `round ${round}`)
    t.ok(
      replies.every(({ status, text }) => text === (status === 204 ? '' : '{"detail":"Item not found"}')),
      `bodies of round ${round}`,
    )
  }
  for (const each of crowd) each.close()
})

test('of an update and a deletion at the same time both orders are possible, and nothing else', async (t) => {
  for (let round = 0; round < 40; round++) {
    const { id } = await create('contended')
    const [updated, removed] = await Promise.all([
      client.write('PUT', `/api/v1/items/${id}`, { name: 'changed' }),
      remove(id),
    ])
    t.equal(removed.status, 204, 'the deletion succeeds')
    t.ok(updated.status === 200 || updated.status === 404, 'the update comes before it or finds nothing')
    t.equal((await client.get(`/api/v1/items/${id}`)).status, 404, 'the item is gone either way')
  }
})

test('concurrent updates of one item leave one of them, whole', async (t) => {
  const { id } = await create('contended')
  const path = `/api/v1/items/${id}`
  for (let round = 0; round < 10; round++) {
    const texts = await Promise.all(
      Array.from({ length: 16 }, async (_, i) => {
        const fields = { name: `n${i}`.repeat(10), description: `d${i}`.repeat(100), price: i }
        return (await client.write('PUT', path, fields)).text
      }),
    )
    t.ok(texts.includes((await client.get(path)).text), `round ${round}`)
  }
})

const ITEMS = 330

/** Pages of ids that a model of the store expects, for comparison. */
async function comparePages(
  t: { equal: (a: unknown, b: unknown, about: string) => unknown },
  live: readonly number[],
) {
  const random = pseudoRandom(live.length)
  const fixed = [
    [0, 1],
    [0, 100],
    [live.length - 1, 100],
    [live.length, 1],
    [live.length + 1, 100],
    [100_000, 100],
    [15, 1],
    [16, 1],
    [17, 16],
  ] as const
  const drawn = Array.from({ length: 250 }, () => [random(live.length + 20), 1 + random(100)] as const)
  await Promise.all(
    [...fixed, ...drawn].map(async ([offset, limit]) => {
      const page = await list(`offset=${Math.max(0, offset)}&limit=${limit}`)
      const start = Math.max(0, offset)
      const expected = live.slice(start, start + limit).join()
      t.equal(page.map(({ id }) => id).join(), expected, `${limit} after ${start} of ${live.length}`)
    }),
  )
}

test('a list is ordered by id and cut by offset and limit, also over holes', async (t) => {
  const before = (await list('limit=100')).map(({ id }) => id)
  for (const id of before) await remove(id)
  const made = await Promise.all(Array.from({ length: ITEMS }, (_, i) => create(`item ${i}`)))
  let live = made.map(({ id }) => id).toSorted((a, b) => a - b)
  await comparePages(t, live)

  const random = pseudoRandom(7)
  const drop = async (gone: (id: number, index: number) => boolean): Promise<void> => {
    const doomed = live.filter(gone)
    live = live.filter((id) => !doomed.includes(id))
    const replies = await Promise.all(doomed.map((id) => remove(id)))
    t.ok(
      replies.every(({ status }) => status === 204),
      `${doomed.length} deleted`,
    )
    await comparePages(t, live)
  }
  await drop((_, index) => index >= 40 && index < 90) // whole pages of the store
  await drop(() => random(3) === 0)
  await drop((_, index) => index === 0 || index === live.length - 1)
  const last = live.at(-1)!
  await client.write('PUT', `/api/v1/items/${live[3]!}`, { name: 'changed', description: 'x'.repeat(1000) })
  await comparePages(t, live)
  live = [...live, (await create('the newest')).id]
  t.ok(live.at(-1)! > last, 'a new item comes last')
  await comparePages(t, live)
  await drop(() => true)
})

test('a list shows the same bytes as a read', async (t) => {
  const made = await Promise.all(
    ['"quoted"', 'back\\slash', '😀', '\u0000', 'x'.repeat(100)].map((name) =>
      client.write('POST', '/api/v1/items', { name, description: name.repeat(9), price: name.length / 7 }),
    ),
  )
  const whole = (await client.get('/api/v1/items?limit=100')).text
  const sorted = made.toSorted((a, b) => (a.json as Item).id - (b.json as Item).id)
  t.equal(whole, `[${sorted.map(({ text }) => text).join()}]`)
})

test('a list of the largest items arrives whole, also while they change', async (t) => {
  const before = await list('limit=100')
  await Promise.all(before.map(({ id }) => remove(id)))
  // A control character is one code point and takes six bytes of JSON: about 660 kB for a hundred items.
  const fields = (n: number) => ({
    name: String.fromCharCode(1 + (n % 30)).repeat(100),
    description: '\u0000'.repeat(1000),
    price: n,
  })
  const made = await Promise.all(
    Array.from({ length: 100 }, (_, i) => client.write('POST', '/api/v1/items', fields(i))),
  )
  const texts = new Map(made.map((reply) => [(reply.json as Item).id, new Set([reply.text])]))
  const ids = [...texts.keys()].toSorted((a, b) => a - b)
  const torn: string[] = []
  const look = async (): Promise<void> => {
    const reply = await client.get('/api/v1/items?limit=100')
    const items = reply.json as Item[]
    if (items.map(({ id }) => id).join() !== ids.join()) torn.push(`ids ${items.map(({ id }) => id).join()}`)
    for (const item of items) seen.push([item.id, JSON.stringify(item)])
  }
  const seen: [number, string][] = []
  const change = async (i: number): Promise<void> => {
    const id = ids[i % ids.length]!
    texts.get(id)!.add((await client.write('PUT', `/api/v1/items/${id}`, fields(i))).text)
  }
  await Promise.all(Array.from({ length: 120 }, (_, i) => (i % 3 === 0 ? look() : change(i))))
  torn.push(
    ...seen.filter(([id, text]) => !texts.get(id)!.has(text)).map(([id]) => `item ${id} as it never was`),
  )
  t.strictSame(torn, [])
  t.equal(seen.length, 40 * 100)
  await Promise.all(ids.map((id) => remove(id)))
})
