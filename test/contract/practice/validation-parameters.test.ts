/** contract/practice 1 and 2: integers and text in path and query. */
import { test } from 'tap'
import type { HttpReply } from '../../support/clients/http-client.js'
import { words } from '../../support/data/words.js'
import { type IntegerParameter, QUERY_INTEGERS } from '../../support/models/practice-operations.js'
import { refused, violation } from '../../support/models/violations.js'
import { practiceServer } from '../../support/servers/practice-server.js'

const SEEDED = 150
const { client } = await practiceServer({ env: { SLUICE_SEED_ITEMS: String(SEEDED) } }, 32)

/** Text that is no integer, as it stands in a target. */
const NO_INTEGERS = [
  ...words('%20 %207 7%20 %2B7 7.0 7. .7 1e1 1E1 0x10 0b1 0o7 7n 1_000 1,000 --1 - -%201 1-'),
  ...words('%097 7%0A 7%00 %00 NaN Infinity -Infinity 1e400 null true [7] %227%22 %ff 7%ff % %7 7%2F8'),
  '%D9%A3', // ٣, a digit, but no plain decimal one
  '%EF%BC%97', // ７
  '%E2%88%927', // −7 with the mathematical minus
  '%C2%A07', // a no-break space
]
/** In a query these are no integers either: a plus stands for a space, and nothing is no number. */
const NO_QUERY_INTEGERS = [...NO_INTEGERS, '', '+7', '7+']

const BEYOND = ['9007199254740993', '18446744073709551617', `1${'0'.repeat(30)}`, '9'.repeat(400)]

test('text in a query that is no plain decimal integer is refused', async (t) => {
  for (const { name, target } of QUERY_INTEGERS) {
    for (const text of NO_QUERY_INTEGERS) {
      const expected = [violation.noIntegerText(['query', name])]
      refused(t, await client.get(target(text)), expected, target(text))
    }
  }
})

test('a query parameter without a value is empty text', async (t) => {
  for (const { name, target } of QUERY_INTEGERS) {
    const bare = target('').replace(/=$/, '')
    refused(t, await client.get(bare), [violation.noIntegerText(['query', name])], bare)
  }
})

test('integers in a query are bounded, both bounds included', async (t) => {
  for (const { name, target, min, max } of QUERY_INTEGERS) {
    const loc = ['query', name]
    for (const low of [String(min - 1), '-1', '-007', ...BEYOND.map((digits) => `-${digits}`)]) {
      refused(t, await client.get(target(low)), [violation.atLeast(loc, min)], target(low))
    }
    for (const high of [String(max + 1), String(max + 2), ...BEYOND]) {
      refused(t, await client.get(target(high)), [violation.atMost(loc, max)], target(high))
    }
    for (const inside of [min, min + 1, max - 1, max]) {
      t.equal((await client.get(target(String(inside)))).status, 200, target(String(inside)))
    }
  }
})

interface Report {
  readonly items: number
  readonly rows: readonly { readonly id: number }[]
}

/** What the server made of the parameter, read off its answer over the seeded items. */
function understood({ name }: IntegerParameter, reply: HttpReply): number {
  if (name === 'items') return (reply.json as Report).items
  const items = reply.json as { id: number }[]
  return name === 'limit' ? items.length : items[0]!.id - 1
}

test('leading zeros and a minus before zero are plain decimal text', async (t) => {
  for (const parameter of QUERY_INTEGERS) {
    const asked = async (text: string): Promise<number> =>
      understood(parameter, await client.get(parameter.target(text).replace('q=x', 'q=item')))
    const about = parameter.target('')
    t.equal(await asked('007'), 7, about)
    t.equal(await asked(`${'0'.repeat(300)}42`), 42, about)
    t.equal(await asked('%31%32'), 12, `${about} percent-encoded`)
    if (parameter.min === 0) t.equal(await asked('-0'), 0, about)
    else
      refused(
        t,
        await client.get(parameter.target('-0')),
        [violation.atLeast(['query', parameter.name], 1)],
        '-0',
      )
  }
})

test('an absent integer takes its default', async (t) => {
  const items = (await client.get('/api/v1/items')).json as { id: number }[]
  t.equal(items.length, 20)
  t.equal(items[0]!.id, 1)
  t.equal(((await client.get('/api/v1/search?q=item')).json as unknown[]).length, 20)
  t.equal(((await client.get('/api/v1/report')).json as Report).items, 10)
})

test('all violations of a query are listed, in the order of the parameters', async (t) => {
  const limit = ['query', 'limit']
  const offset = ['query', 'offset']
  const q = ['query', 'q']
  const cases = [
    ['/api/v1/items?limit=0&offset=-1', [violation.atLeast(limit, 1), violation.atLeast(offset, 0)]],
    [
      '/api/v1/items?offset=100001&limit=101',
      [violation.atMost(limit, 100), violation.atMost(offset, 100_000)],
    ],
    ['/api/v1/items?offset=x&limit=', [violation.noIntegerText(limit), violation.noIntegerText(offset)]],
    ['/api/v1/search?limit=x', [violation.missing(q), violation.noIntegerText(limit)]],
    ['/api/v1/search?limit=0&q=', [violation.tooShort(q, 1), violation.atLeast(limit, 1)]],
    [
      `/api/v1/search?q=${'x'.repeat(51)}&limit=101`,
      [violation.tooLong(q, 50), violation.atMost(limit, 100)],
    ],
    ['/api/v1/search?q=%ff&limit=1.5', [violation.noString(q), violation.noIntegerText(limit)]],
  ] as const
  for (const [path, expected] of cases) refused(t, await client.get(path), expected, path)
})

const Q = ['query', 'q']

test('the needle of a search is required', async (t) => {
  for (const path of ['/api/v1/search', '/api/v1/search?', '/api/v1/search?Q=x', '/api/v1/search?q%20=x']) {
    refused(t, await client.get(path), [violation.missing(Q)], path)
  }
})

test('a needle has 1 to 50 code points', async (t) => {
  for (const path of ['/api/v1/search?q=', '/api/v1/search?q', '/api/v1/search?q=x&q=']) {
    refused(t, await client.get(path), [violation.tooShort(Q, 1)], path)
  }
  for (const character of ['x', 'é', '本', '😀', '"', '%', '+', '\u0000']) {
    const needle = (n: number): string => `/api/v1/search?q=${encodeURIComponent(character.repeat(n))}`
    t.equal((await client.get(needle(1))).status, 200, `1 ${encodeURIComponent(character)}`)
    t.equal((await client.get(needle(50))).status, 200, `50 ${encodeURIComponent(character)}`)
    refused(
      t,
      await client.get(needle(51)),
      [violation.tooLong(Q, 50)],
      `51 ${encodeURIComponent(character)}`,
    )
    refused(
      t,
      await client.get(needle(1000)),
      [violation.tooLong(Q, 50)],
      `1000 ${encodeURIComponent(character)}`,
    )
  }
})

test('a needle whose percent-encoding is no UTF-8 is no string', async (t) => {
  const encoded = words('%ff a%ff %ffa %C3 %C3a %e2%82 %c0%80 %ed%a0%80 %f8%88%80%80%80 %80')
  for (const text of encoded) {
    refused(t, await client.get(`/api/v1/search?q=${text}`), [violation.noString(Q)], text)
  }
})

test('a percent sign that encodes nothing stands for itself', async (t) => {
  for (const text of ['%', '%%', '%zz', '100%', '%1', '%u0041']) {
    t.equal((await client.get(`/api/v1/search?q=${text}`)).status, 200, text)
  }
})

const ID = ['path', 'item_id']
const BY_ID = [
  { method: 'GET' },
  { method: 'HEAD' },
  { method: 'PUT', body: '{"name":"x"}' },
  { method: 'DELETE' },
] as const

test('a path parameter that is no plain decimal integer is refused', async (t) => {
  for (const operation of BY_ID) {
    for (const text of [...NO_INTEGERS, '+7', '7+', '.', '..', 'abc', '7;v=1', '%2e%2e']) {
      const reply = await client.send({ ...operation, path: `/api/v1/items/${text}` })
      if (operation.method === 'HEAD') t.equal(reply.status, 422, text)
      else refused(t, reply, [violation.noIntegerText(ID)], `${operation.method} ${text}`)
    }
  }
})

test('an integer that no item has is valid input and simply not found', async (t) => {
  const unknown = ['0', '-0', '-1', '151', '4294967296', '4294967297', '68719476737', '2147483649']
  const texts = [...unknown, ...BEYOND, ...BEYOND.map((digits) => `-${digits}`), '-00', '0000']
  for (const operation of BY_ID) {
    for (const text of texts) {
      const { status, body } = await client.send({ ...operation, path: `/api/v1/items/${text}` })
      const expected = operation.method === 'HEAD' ? '' : '{"detail":"Item not found"}'
      t.strictSame(
        { status, body: body.toString() },
        { status: 404, body: expected },
        `${operation.method} ${text}`,
      )
    }
  }
})

test('an item is found by its id in any plain decimal form', async (t) => {
  for (const text of ['7', '07', '007', `${'0'.repeat(200)}7`, '%37']) {
    t.equal(((await client.get(`/api/v1/items/${text}`)).json as { id: number }).id, 7, text)
  }
})
