/** contract/practice 1: the body limit, the CPU pool's limit, and what an operator may set about them. */
import { test } from 'tap'
import type { HttpReply } from '../../support/clients/http-client.js'
import { BODY_OPERATIONS, type BodyOperation } from '../../support/models/practice-operations.js'
import { practiceServer } from '../../support/servers/practice-server.js'

const KIB_64 = 65_536
const SMALL = 100

const [{ client }, { client: toSmall }, { client: toNarrow }] = await Promise.all([
  practiceServer(),
  practiceServer({ env: { SLUICE_BODY_LIMIT: String(SMALL) } }),
  practiceServer({ env: { SLUICE_WORKERS: '1', SLUICE_HASH_QUEUE_ROUNDS: '1' } }, 32),
])
for (const each of [client, toSmall]) await each.write('POST', '/api/v1/items', { name: 'first' })

/** A valid body, filled up with spaces. */
function padded({ valid }: BodyOperation, bytes: number): string {
  return JSON.stringify(valid).padEnd(bytes, ' ')
}

function tooLarge(reply: HttpReply): { status: number; json: unknown } {
  return { status: reply.status, json: reply.json }
}

const TOO_LARGE = { status: 413, json: { detail: 'Request payload too large' } }

for (const operation of BODY_OPERATIONS) {
  const { name, method, path, success } = operation

  test(`${name} takes a body of exactly 64 KiB`, async (t) => {
    for (const bytes of [KIB_64 - 1, KIB_64]) {
      const reply = await client.send({ method, path, body: padded(operation, bytes) })
      t.equal(reply.status, success, `${bytes} bytes`)
    }
  })

  test(`${name} refuses a body of 64 KiB and a byte, and anything larger, with 413`, async (t) => {
    for (const bytes of [KIB_64 + 1, 2 * KIB_64, 1_000_000]) {
      const reply = await client.send({ method, path, body: padded(operation, bytes) })
      t.strictSame(tooLarge(reply), TOO_LARGE, `${bytes} bytes`)
    }
  })

  test(`${name} keeps to the limit the operator sets`, async (t) => {
    const fits = await toSmall.send({ method, path, body: padded(operation, SMALL) })
    t.equal(fits.status, success)
    const over = await toSmall.send({ method, path, body: padded(operation, SMALL + 1) })
    t.strictSame(tooLarge(over), TOO_LARGE)
  })
}

test('a body over the limit is refused before path and media type are judged', async (t) => {
  const body = ' '.repeat(KIB_64 + 1)
  const headers = { 'Content-Type': 'text/plain' }
  for (const path of ['/api/v1/items/abc', '/api/v1/items/999']) {
    t.strictSame(tooLarge(await client.send({ method: 'PUT', path, headers, body })), TOO_LARGE, path)
  }
})

test('the limit also holds where the body is not read', async (t) => {
  const body = ' '.repeat(KIB_64 + 1)
  t.strictSame(tooLarge(await client.send({ method: 'DELETE', path: '/api/v1/items/1', body })), TOO_LARGE)
  t.equal((await client.get('/api/v1/items/1')).status, 200, 'and nothing was deleted')
  t.strictSame(tooLarge(await client.send({ method: 'GET', path: '/api/v1/items', body })), TOO_LARGE)
})

test('a refused creation or update changes nothing', async (t) => {
  const before = (await client.get('/api/v1/items?limit=100')).text
  for (const operation of BODY_OPERATIONS.filter(({ name }) => name !== 'hash')) {
    await client.send({ method: operation.method, path: operation.path, body: padded(operation, KIB_64 + 1) })
  }
  t.equal((await client.get('/api/v1/items?limit=100')).text, before)
})

test('a full CPU pool answers 503 with an integer Retry-After', async (t) => {
  const body = JSON.stringify({ data: 'x', rounds: 200_000 })
  const replies = await Promise.all(
    Array.from({ length: 32 }, () => toNarrow.send({ method: 'POST', path: '/api/v1/hash', body })),
  )
  const shed = replies.filter(({ status }) => status !== 200)
  t.ok(shed.length > 0, 'some were refused')
  t.ok(shed.length < replies.length, 'some were served')
  for (const { status, json, headers } of shed) {
    t.strictSame({ status, json }, { status: 503, json: { detail: 'Service temporarily unavailable' } })
    t.match(headers['retry-after'], /^[1-9][0-9]*$/)
  }
})

test('a full CPU pool does not stop the other operations', async (t) => {
  const heavy = JSON.stringify({ data: 'x', rounds: 200_000 })
  const hashes = Promise.all(
    Array.from({ length: 8 }, () => toNarrow.send({ method: 'POST', path: '/api/v1/hash', body: heavy })),
  )
  t.equal((await toNarrow.get('/api/v1/health')).status, 200)
  t.equal((await toNarrow.write('POST', '/api/v1/items', { name: 'x' })).status, 201)
  t.equal((await toNarrow.get('/api/v1/items')).status, 200)
  await hashes
})
