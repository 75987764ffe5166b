/** contract/practice 4, `GET /search`. */
import { test } from 'tap'
import { pseudoRandom } from '../../support/arbitraries/pseudo-random.js'
import type { HttpReply } from '../../support/clients/http-client.js'
import { sendBytes } from '../../support/clients/raw-http.js'
import { clientPerWorker } from '../../support/clients/worker-connections.js'
import { practiceServer } from '../../support/servers/practice-server.js'

const { server, client } = await practiceServer({}, 16)

interface Item {
  readonly id: number
  readonly name: string
  readonly description: string
}

function search(needle: string, limit?: number): Promise<HttpReply> {
  const most = limit === undefined ? '' : `&limit=${limit}`
  return client.get(`/api/v1/search?q=${encodeURIComponent(needle)}${most}`)
}

async function found(needle: string): Promise<number[]> {
  return ((await search(needle, 100)).json as Item[]).map(({ id }) => id)
}

async function create(name: string, description = ''): Promise<number> {
  return ((await client.write('POST', '/api/v1/items', { name, description })).json as Item).id
}

function scanned(reply: HttpReply): number {
  return Number(reply.headers['x-items-scanned'])
}

async function deleteAll(): Promise<void> {
  for (;;) {
    const items = (await client.get('/api/v1/items?limit=100')).json as Item[]
    if (items.length === 0) return
    await Promise.all(items.map(({ id }) => client.send({ method: 'DELETE', path: `/api/v1/items/${id}` })))
  }
}

test('a search of an empty store finds nothing and has scanned nothing', async (t) => {
  const reply = await search('x')
  t.strictSame({ status: reply.status, text: reply.text }, { status: 200, text: '[]' })
  t.equal(reply.headers['x-items-scanned'], '0')
})

test('a match lies within the name or within the description, never across the two', async (t) => {
  const both = await create('ab', 'cd')
  const next = await create('ef', 'gh')
  const cases: readonly [string, readonly number[]][] = [
    ['a', [both]],
    ['ab', [both]],
    ['cd', [both]],
    ['d', [both]],
    ['bc', []],
    ['abcd', []],
    ['ab cd', []],
    ['ab\u0000cd', []],
    ['ab\ncd', []],
    ['ab,cd', []],
    ['ab\u00ffcd', []],
    ['\u00ff', []],
    ['de', []],
    ['cdef', []],
    ['ef', [next]],
    ['fg', []],
  ]
  for (const [needle, ids] of cases) t.strictSame(await found(needle), ids, encodeURIComponent(needle))
  await deleteAll()
})

test('only values are searched: not keys, not prices, not ids, not JSON', async (t) => {
  await create('plain', 'text')
  for (const needle of ['name', 'description', 'price', 'created_at', '{', '}', '":"', '0', '1', ':', ',']) {
    t.strictSame(await found(needle), [], needle)
  }
  await deleteAll()
})

test('a search is case-sensitive and goes code point by code point', async (t) => {
  const upper = await create('STRASSE Éclair')
  const lower = await create('straße éclair')
  const decomposed = await create('e\u0301clair')
  const family = await create('👨‍👩‍👧')
  const cases: readonly [string, readonly number[]][] = [
    ['STRASSE', [upper]],
    ['strasse', []],
    ['ß', [lower]],
    ['ss', []],
    ['É', [upper]],
    ['é', [lower]],
    ['e\u0301', [decomposed]],
    ['\u0301', [decomposed]],
    ['clair', [upper, lower, decomposed]],
    ['👩', [family]],
    ['\u200d', [family]],
    ['👨‍👩‍👧', [family]],
    ['👦', []],
  ]
  for (const [needle, ids] of cases) t.strictSame(await found(needle), ids, encodeURIComponent(needle))
  await deleteAll()
})

/** Texts that need escaping somewhere on the way: in JSON, in a URL, in a pattern. */
const AWKWARD = [
  '"',
  "'",
  '\\',
  '\\"',
  '\\n',
  '\n',
  '\r\n',
  '\t',
  '\u0000',
  '\u0001',
  '\u001f',
  '\u007f',
  '\u0080',
  '%',
  '%25',
  '%41',
  '100%',
  '+',
  'a+b',
  'a b',
  ' ',
  '&',
  'a=b&c',
  '#',
  '?',
  '/',
  ';',
  '.*',
  '^$',
  '[a-z]',
  '(?i)x',
  '*',
  '_',
  '\u2028',
  '\ufeff',
  '\uffff',
  '😀',
  '\u{10ffff}',
  'é',
  'Ω',
  '本日',
]

test('a needle may hold anything, and so may what it is found in', async (t) => {
  await create('neutral', 'ground')
  const ids = await Promise.all(
    AWKWARD.flatMap((text) => [create(`<${text}>`), create('n', `a${text}`), create('n', `${text}z`)]),
  )
  const texts = AWKWARD.flatMap((text) => [`<${text}>`, `a${text}`, `${text}z`])
  for (const needle of AWKWARD) {
    const holding = ids.filter((_, i) => texts[i]!.includes(needle)).toSorted((a, b) => a - b)
    t.ok(holding.length >= 3)
    t.strictSame(await found(needle), holding, encodeURIComponent(needle))
  }
  await deleteAll()
})

test('the needle is decoded as a form is: plus is a space, percent-encoding is UTF-8', async (t) => {
  const spaced = await create('a b')
  const plus = await create('a+b')
  const percent = await create('100%')
  const accent = await create('é')
  const raw: readonly [string, readonly number[]][] = [
    ['a+b', [spaced]],
    ['a%20b', [spaced]],
    ['a%2Bb', [plus]],
    ['a%2bb', [plus]],
    ['%25', [percent]],
    ['%', [percent]],
    ['00%', [percent]],
    ['%C3%A9', [accent]],
    ['%c3%a9', [accent]],
    ['%61%20%62', [spaced]],
  ]
  for (const [text, ids] of raw) {
    const items = (await client.get(`/api/v1/search?q=${text}`)).json as Item[]
    t.strictSame(
      items.map(({ id }) => id),
      ids,
      text,
    )
  }
  await deleteAll()
})

test('a needle may also come as plain UTF-8 bytes, as some clients send it', async (t) => {
  const id = await create('é😀')
  for (const needle of ['é', '😀', 'é😀']) {
    const request = `GET /api/v1/search?q=${needle} HTTP/1.1\r\nHost: sluice\r\nConnection: close\r\n\r\n`
    const received = await sendBytes(server.port, Buffer.from(request))
    t.match(received, /^HTTP\/1\.1 200 OK\r\n/, encodeURIComponent(needle))
    t.match(received, new RegExp(`"id":${id},`), encodeURIComponent(needle))
  }
  await deleteAll()
})

test('the first matches by id are answered, up to the limit, and every item counts as scanned', async (t) => {
  const ids = await Promise.all(
    Array.from({ length: 250 }, (_, i) => create(i % 2 === 0 ? `even ${i}` : 'odd')),
  )
  const even = ids.filter((_, i) => i % 2 === 0).toSorted((a, b) => a - b)
  for (const limit of [1, 2, 19, 20, 21, 99, 100]) {
    const reply = await search('even', limit)
    t.strictSame(
      (reply.json as Item[]).map(({ id }) => id),
      even.slice(0, limit),
      `limit ${limit}`,
    )
    t.equal(scanned(reply), 250, `limit ${limit}`)
  }
  const reply = await search('even')
  t.equal((reply.json as Item[]).length, 20, 'the default limit')
  t.equal(scanned(reply), 250)
  t.equal(scanned(await search('nowhere')), 250, 'also when nothing matches')
  await Promise.all(
    ids.slice(0, 100).map((id) => client.send({ method: 'DELETE', path: `/api/v1/items/${id}` })),
  )
  t.equal(scanned(await search('even', 1)), 150, 'what is deleted is not scanned')
  await deleteAll()
  t.equal(scanned(await search('even', 1)), 0)
})

test('a search sees an item as it is now', async (t) => {
  const id = await create('before', 'old text')
  const path = `/api/v1/items/${id}`
  await client.write('PUT', path, { name: 'after', description: 'new' })
  t.strictSame(
    [await found('before'), await found('old'), await found('after'), await found('new')],
    [[], [], [id], [id]],
  )
  await client.write('PUT', path, { name: 'after' })
  t.strictSame(await found('new'), [], 'the description is gone')
  await client.send({ method: 'DELETE', path })
  t.strictSame(await found('after'), [], 'so is the item')
})

test('a match is answered as the item itself', async (t) => {
  const made = await client.write('POST', '/api/v1/items', {
    name: '"q" \\ 😀',
    description: '\u0000',
    price: 1 / 3,
  })
  t.equal((await search('😀')).text, `[${made.text}]`)
  await deleteAll()
})

const ALPHABET = ['a', 'b', 'A', 'é', '"', '\\', ' ', '😀', '😁', '\u0000', '%', '+', '本']

test('a search agrees with a plain search over the same texts', async (t) => {
  const random = pseudoRandom(11)
  const text = (most: number): string =>
    Array.from({ length: random(most + 1) }, () => ALPHABET[random(ALPHABET.length)]!).join('')
  const fields = Array.from({ length: 300 }, () => ({ name: `${text(6)}.`, description: text(40) }))
  const items = await Promise.all(
    fields.map(async (f) => ({ ...f, id: await create(f.name, f.description) })),
  )
  items.sort((a, b) => a.id - b.id)
  for (const { id } of items.filter((_, i) => i % 7 === 0)) {
    await client.send({ method: 'DELETE', path: `/api/v1/items/${id}` })
  }
  const live = items.filter((_, i) => i % 7 !== 0)
  const workers = await clientPerWorker(server.baseUrl)
  for (let i = 0; i < 300; i++) {
    const needle = text(4) || 'a'
    const limit = 1 + random(100)
    const path = `/api/v1/search?q=${encodeURIComponent(needle)}&limit=${limit}`
    const reply = await workers[i % 2]!.get(path)
    const holding = live.filter(
      ({ name, description }) => name.includes(needle) || description.includes(needle),
    )
    const expected = holding.slice(0, limit).map(({ id }) => id)
    t.equal((reply.json as Item[]).map(({ id }) => id).join(), expected.join(), path)
    t.equal(scanned(reply), live.length, path)
  }
  for (const worker of workers) worker.close()
  await deleteAll()
})

test('a search over many items, while they change, visits every one that stays', async (t) => {
  const { client: near } = await practiceServer({ env: { SLUICE_SEED_ITEMS: '20000' } }, 8, t)
  const changes = Array.from({ length: 60 }, (_, i) =>
    near.write('PUT', `/api/v1/items/${i * 300 + 1}`, { name: `changed ${i}` }),
  )
  const searches = await Promise.all(
    Array.from({ length: 40 }, () => near.get('/api/v1/search?q=number%2019999&limit=5')),
  )
  await Promise.all(changes)
  for (const reply of searches) {
    t.equal(scanned(reply), 20_000)
    t.strictSame(
      (reply.json as Item[]).map(({ id }) => id),
      [19_999],
    )
  }
})
