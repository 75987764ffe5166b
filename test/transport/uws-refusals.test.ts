import { type Test, test } from 'tap'
import type { Reply } from '../../src/transport/exchange.js'
import { chunked, type RequestParts, request, turn } from '../support/clients/raw-http.js'
import { connected, pausedReader, startEdge, type TestEdge } from '../support/servers/native-edge.js'
import { jsonReply, Ledger, testRoute } from '../support/servers/test-routes.js'
import { eventually } from '../support/timing/eventually.js'

const LIMIT = 64 * 1024
const TOO_LARGE = { fault: 'payload-too-large' }
const BAD_REQUEST = { fault: 'bad-request' }

interface Bench extends TestEdge {
  readonly ledger: Ledger
  /** Calls of `/hasty` whose handler has run. */
  readonly effects: string[]
}

async function bench(t: Test, strictProxy = false): Promise<Bench> {
  const ledger = new Ledger()
  const effects: string[] = []
  const hasty = (): Reply => {
    effects.push('ran')
    return jsonReply(200, {})
  }
  const over = { bodyLimit: LIMIT, readsBody: true }
  const routes = [
    testRoute(ledger, 'POST', '/echo', (call) => jsonReply(200, { bytes: call.body.byteLength }), over),
    testRoute(ledger, 'POST', '/full', () => jsonReply(200, {}), {
      ...over,
      admit: () => jsonReply(503, { full: true }),
    }),
    testRoute(ledger, 'POST', '/hasty', hasty, { ...over, deadlineMs: 300 }),
    testRoute(ledger, '*', '/*', () => jsonReply(404, {}), { bodyLimit: LIMIT }),
  ]
  return { ...(await startEdge(t, routes, { strictProxy })), ledger, effects }
}

const MIB = 1024 * 1024

/** A caller that reads nothing before everything is sent, as many simple clients do. */
async function sendAllThenRead(
  t: Test,
  port: number,
  parts: RequestParts,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const connection = await pausedReader(t, port, { method: 'POST', target: '/echo', ...parts })
  connection.resume()
  const reply = await connection.read()
  t.equal(await connection.ended(), 'fin')
  t.equal(connection.unread.byteLength, 0, 'nothing follows the answer')
  return { status: reply.status, body: JSON.parse(reply.text) }
}

for (const size of [LIMIT + 1, 200_000, MIB, 5 * MIB, 12 * MIB]) {
  for (const headers of [[], [['Connection', 'close'] as const]]) {
    const who = headers.length === 0 ? 'a caller' : 'a caller that wants the connection closed'
    test(`${who} that sends ${size} bytes before it reads sees the 413`, async (t) => {
      const { port, ledger } = await bench(t)
      const seen = await sendAllThenRead(t, port, { headers, body: Buffer.alloc(size) })
      t.strictSame(seen, { status: 413, body: TOO_LARGE })
      await ledger.balanced()
      t.match(ledger.last, { status: 413, bytesIn: size, aborted: false })
      t.equal(ledger.arrived, 1)
    })
  }
}

for (const size of [0, 5, 100_000, MIB, 5 * MIB]) {
  test(`a caller that sends ${size} bytes under an unknown coding before it reads sees the 400`, async (t) => {
    const { port, ledger } = await bench(t)
    const headers = [['Transfer-Encoding', 'gzip, chunked']] as const
    const body = chunked(Buffer.alloc(size), 65_000)
    const seen = await sendAllThenRead(t, port, { headers, body })
    t.strictSame(seen, { status: 400, body: BAD_REQUEST })
    await ledger.balanced()
    t.match(ledger.last, { status: 400, aborted: false })
  })
}

for (const [size, strictProxy] of [LIMIT + 1, MIB, 5 * MIB].flatMap((n) => [
  [n, false] as const,
  [n, true] as const,
])) {
  const where = strictProxy ? ' behind a strict proxy' : ''
  test(`${size} bytes in chunks${where} are counted, and the 413 is seen`, async (t) => {
    const { port, ledger } = await bench(t, strictProxy)
    const headers = [['Transfer-Encoding', 'chunked']] as const
    const body = chunked(Buffer.alloc(size), 65_000)
    const seen = await sendAllThenRead(t, port, { headers, body })
    t.strictSame(seen, { status: 413, body: TOO_LARGE })
    await ledger.balanced()
    t.match(ledger.last, { status: 413, aborted: false })
  })
}

test('a caller that waits with its body sees the whole 413 at once', async (t) => {
  const { port, ledger } = await bench(t)
  for (const length of [LIMIT + 1, 999_999_999_999_999]) {
    const connection = await connected(t, port)
    const headers = [['Content-Length', `${length}`]] as const
    const reply = await connection.ask({ method: 'POST', target: '/echo', headers }, { deadlineMs: 1_000 })
    t.equal(reply.status, 413, `${length} bytes`)
    t.equal(reply.framing, 'length')
    t.equal(reply.header('connection'), 'close')
    t.strictSame(JSON.parse(reply.text), TOO_LARGE)
    t.equal(connection.unread.byteLength, 0, 'and nothing behind it')
    connection.destroy()
    await ledger.balanced()
    t.match(ledger.last, { status: 413, bytesOut: reply.body.byteLength, aborted: false })
  }
  t.equal(ledger.arrived, 2)
})

test('a caller that stops sending when it sees the 413 is let go after a while', async (t) => {
  const { port, ledger, server } = await bench(t)
  const connection = await connected(t, port)
  const headers = [['Content-Length', '1000000']] as const
  await connection.send({ method: 'POST', target: '/echo', headers, body: Buffer.alloc(1_000) })
  t.equal((await connection.read({ deadlineMs: 1_000 })).status, 413)
  t.equal(await connection.ended(8_000), 'fin')
  t.equal(connection.unread.byteLength, 0)
  await ledger.balanced()
  t.match(ledger.last, { status: 413, bytesIn: 1_000, aborted: false })
  t.equal(server.inFlight(), 0)
})

test('a caller that never stops sending is cut, and its answer was there to be read', async (t) => {
  const { port, ledger } = await bench(t)
  const connection = await connected(t, port)
  const headers = [['Content-Length', '999999999999']] as const
  await connection.send({ method: 'POST', target: '/echo', headers })
  t.equal((await connection.read({ deadlineMs: 1_000 })).status, 413)
  const piece = Buffer.alloc(MIB)
  let sent = 0
  while (connection.ending === null) {
    await connection.send(piece)
    await turn()
    sent += MIB
    if (sent > 200 * MIB) break
  }
  t.ok(sent < 40 * MIB, `cut after ${sent} bytes`)
  await ledger.balanced()
  t.match(ledger.last, { status: 413, aborted: false })
})

test('a caller whose body is not complete at the deadline is answered 408, and its handler never runs', async (t) => {
  const { port, ledger, effects } = await bench(t)
  const body = Buffer.alloc(60_000)
  const bytes = request({ method: 'POST', target: '/hasty', body })
  const connection = await connected(t, port, bytes.subarray(0, -1_000))
  const reply = await connection.read()
  t.equal(reply.status, 408)
  t.equal(reply.header('connection'), 'close')
  t.strictSame(JSON.parse(reply.text), { fault: 'request-timeout' })
  await connection.send(bytes.subarray(-1_000))
  t.equal(await connection.ended(1_000), 'fin', 'the rest is still taken')
  await ledger.balanced()
  t.match(ledger.last, { status: 408, bytesIn: 60_000, aborted: false })
  t.strictSame(effects, [])
})

test('refusing a large body does not hold up others', async (t) => {
  const { port } = await bench(t)
  const lazy = await connected(t, port)
  const headers = [['Content-Length', '1000000']] as const
  await lazy.send({ method: 'POST', target: '/echo', headers })
  const other = await connected(t, port, { method: 'POST', target: '/echo', body: 'abc' })
  t.strictSame(JSON.parse((await other.read()).text), { bytes: 3 })
})

test('a refusal by admission is seen by a caller that sends everything first, and the connection goes on', async (t) => {
  const { port, ledger } = await bench(t)
  const connection = await connected(t, port)
  for (const body of ['', 'abc', Buffer.alloc(LIMIT)]) {
    connection.pause()
    await connection.send({ method: 'POST', target: '/full', body })
    connection.resume()
    const reply = await connection.read()
    t.equal(reply.status, 503)
    t.equal(reply.header('connection'), '')
  }
  await connection.send({ method: 'POST', target: '/echo', body: 'abc' })
  t.strictSame(JSON.parse((await connection.read()).text), { bytes: 3 })
  t.equal(ledger.arrived, 4)
  t.equal(ledger.open, 0)
})

test('a caller that leaves while its body is thrown away is settled once', async (t) => {
  const { port, ledger, server } = await bench(t)
  for (const how of ['reset', 'destroy', 'finish'] as const) {
    const before = ledger.arrived
    const connection = await connected(t, port)
    const headers = [['Content-Length', '1000000']] as const
    await connection.send({ method: 'POST', target: '/echo', headers, body: 'abc' })
    await eventually(() => ledger.arrived > before)
    connection[how]()
    await ledger.balanced(before + 1)
    t.equal(ledger.last?.status, 413, how)
    t.equal(ledger.arrived, before + 1)
  }
  t.equal(server.inFlight(), 0)
})
