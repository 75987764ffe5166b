/** contract/practice 4 over a store that is larger than any page, row or slice of its implementation. */
import { test } from 'tap'
import { practiceServer } from '../../support/servers/practice-server.js'

/** More than 4096 pages of 16 items. */
const ITEMS = 70_000
const { client } = await practiceServer({ env: { SLUICE_SEED_ITEMS: String(ITEMS) } }, 16)

async function idsAt(path: string): Promise<number[]> {
  return ((await client.get(path)).json as { id: number }[]).map(({ id }) => id)
}

function from(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => first + i)
}

const OFFSETS = [0, 1, 15, 16, 17, 4095, 4096, 65_520, 65_535, 65_536, 65_537, 69_900, 69_999]

test('a list reaches every offset of a large store', async (t) => {
  for (const offset of OFFSETS) {
    const expected = from(offset + 1, Math.min(100, ITEMS - offset))
    t.strictSame(await idsAt(`/api/v1/items?limit=100&offset=${offset}`), expected, `after ${offset}`)
  }
  for (const offset of [70_000, 70_001, 100_000]) {
    t.strictSame(await idsAt(`/api/v1/items?offset=${offset}`), [], `after ${offset}`)
  }
})

test('a list counts what is there, not what was: 2000 deletions at the front move every offset', async (t) => {
  const doomed = from(1, 2000)
  await Promise.all(doomed.map((id) => client.send({ method: 'DELETE', path: `/api/v1/items/${id}` })))
  for (const offset of OFFSETS.filter((each) => each < ITEMS - 2000)) {
    const expected = from(offset + 2001, Math.min(50, ITEMS - 2000 - offset))
    t.strictSame(await idsAt(`/api/v1/items?limit=50&offset=${offset}`), expected, `after ${offset}`)
  }
  t.strictSame(await idsAt(`/api/v1/items?offset=${ITEMS - 2000}`), [])
})

test('a search over a large store visits every item and ends with the last', async (t) => {
  const cases = [
    ['number%2070000:', [70_000]],
    ['number%206999', from(69_990, 10)],
    ['number%201999:', []],
    ['nowhere%20to%20be%20found', []],
  ] as const
  for (const [needle, expected] of cases) {
    const reply = await client.get(`/api/v1/search?q=${needle}`)
    const ids = (reply.json as { id: number }[]).map(({ id }) => id)
    // "number 6999" itself comes before 69990 to 69999.
    t.strictSame(
      ids.filter((id) => id > 60_000),
      expected,
      needle,
    )
    t.equal(reply.headers['x-items-scanned'], String(ITEMS - 2000), needle)
  }
})

test('the next item follows the last', async (t) => {
  const reply = await client.write('POST', '/api/v1/items', { name: 'next' })
  t.equal(reply.headers.location, `/api/v1/items/${ITEMS + 1}`)
  t.strictSame(await idsAt(`/api/v1/items?offset=${ITEMS - 2000}`), [ITEMS + 1])
})
