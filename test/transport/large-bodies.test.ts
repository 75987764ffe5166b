/** Large bodies over sockets: whole, one at a time, and nobody else waits for them. */
import { type Test, test } from 'tap'
import { BodyBudget } from '../../src/http/body-budget.js'
import { BodyBlocks } from '../../src/transport/body-blocks.js'
import type { HttpCall } from '../../src/transport/exchange.js'
import { connected, startEdge } from '../support/servers/native-edge.js'
import { Ledger, testRoute } from '../support/servers/test-routes.js'
import { eventually } from '../support/timing/eventually.js'

const MIB = 2 ** 20

/** Echoes a sum over the body, in which each byte counts with its place. */
async function bench(t: Test) {
  const bodies = new BodyBudget(1024 * MIB, 20 * MIB)
  const kept: Uint8Array[] = []
  /** Bytes on the account while each body was answered. */
  const taken: number[] = []
  const answer = ({ body }: HttpCall) => {
    kept.push(body)
    taken.push(bodies.taken)
    return { status: 200, headers: [], body: `${body.byteLength} ${sumOf(body)}` }
  }
  const more = { readsBody: true, bodyLimit: 20 * MIB, deadlineMs: 30_000, bodies } as const
  const routes = [
    testRoute(new Ledger(), 'POST', '/sum', answer, more),
    testRoute(new Ledger(), 'GET', '/ping', () => ({ status: 200, headers: [], body: 'pong' })),
  ]
  return { ...(await startEdge(t, routes)), bodies, kept, taken }
}

function sumOf(bytes: Uint8Array): number {
  let sum = 0
  for (let at = 0; at < bytes.byteLength; at += 61) sum = (sum + bytes[at]! * (at & 1023)) >>> 0
  return sum
}

const post = (body: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`POST /sum HTTP/1.1\r\nHost: t\r\nContent-Length: ${body.length}\r\n\r\n`),
    body,
  ])

test('many large bodies at a time arrive whole, small calls are served beside them, and the connections serve on', async (t) => {
  const { port, bodies } = await bench(t)
  const senders = await Promise.all(
    Array.from({ length: 12 }, async (_, one) => {
      const connection = await connected(t, port)
      const body = Buffer.from(
        Uint8Array.from({ length: (one + 1) * MIB }, (_, at) => (at * (one + 7)) & 255),
      )
      return { connection, body }
    }),
  )
  const small = await connected(t, port)
  let pings = 0
  let sending = true
  const pinging = (async () => {
    while (sending) if ((await small.ask({ target: '/ping' })).text === 'pong') pings++
  })()
  await Promise.all(
    senders.map(async ({ connection, body }) => {
      const sent = connection.send(post(body))
      t.equal((await connection.read({ deadlineMs: 60_000 })).text, `${body.length} ${sumOf(body)}`)
      await sent
      t.equal((await connection.ask({ target: '/ping' })).text, 'pong')
    }),
  )
  sending = false
  await pinging
  t.ok(pings > senders.length)
  t.equal(bodies.taken, 0)
})

test('a large body is gone when it has been answered, and its memory with it', async (t) => {
  const { port, kept } = await bench(t)
  const connection = await connected(t, port)
  for (const size of [2 * MIB, 3 * MIB]) {
    await connection.send(post(Buffer.alloc(size, 'x')))
    t.equal((await connection.read()).status, 200)
  }
  t.same(
    kept.map(({ byteLength }) => byteLength),
    [0, 0],
  )
})

test('a body that may have to wait for its turn counts until it is answered', async (t) => {
  const { port, bodies, taken } = await bench(t)
  const connection = await connected(t, port)
  for (const size of [200 * 1024, 300 * 1024, 700 * 1024]) {
    await connection.send(post(Buffer.alloc(size)))
    t.equal((await connection.read()).status, 200)
    t.equal(bodies.taken, 0)
  }
  t.same(
    taken.map((bytes) => bytes > 0),
    [false, true, true],
  )
})

test('whoever has no room for the last byte of a body is told so, and the connection ends', async (t) => {
  const { port, bodies } = await bench(t)
  const room = 128 * 1024
  const others = ['o', 'p', 'q', 'r'].map((organizationId, at) => {
    const account = bodies.open({ admission: { organizationId }, address: '' } as HttpCall)
    t.equal(account.take(256 * MIB - (at === 0 ? room : 0)), null)
    return account
  })
  const bytes = post(Buffer.alloc(room + 1))
  const connection = await connected(t, port, bytes.subarray(0, -1))
  await eventually(() => bodies.taken === 1024 * MIB)
  await connection.send(bytes.subarray(-1))
  t.equal((await connection.read()).status, 500, 'as these routes call it')
  t.equal(await connection.ended(2_000), 'fin')
  for (const account of others) account.close()
  t.equal(bodies.taken, 0)
})

test('a block that serves another body holds nothing of the one before', (t) => {
  const blocks = new BodyBlocks()
  const block = blocks.take(MIB, 4 * MIB)
  new Uint8Array(block).fill(7)
  const view = new Uint8Array(block, 0, 16)
  blocks.giveBack(block)
  t.equal(view.byteLength, 0)
  const again = blocks.take(2 * MIB, 4 * MIB)
  t.ok(new Uint8Array(again).every((byte) => byte === 0))
  new Uint8Array(again).fill(9)
  t.equal(view.byteLength, 0, 'who still holds the old body does not see the new one')
  t.end()
})
