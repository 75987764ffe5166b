import { type Test, test } from 'tap'
import type { Reply, ResponseSink } from '../../src/transport/exchange.js'
import { connectRaw, type RawConnection, type RawReply, request, turn } from '../support/clients/raw-http.js'
import { connected, pausedReader, startEdge, type TestEdge } from '../support/servers/native-edge.js'
import { jsonReply, Ledger, NO_CONTENT, testRoute } from '../support/servers/test-routes.js'
import { eventually } from '../support/timing/eventually.js'
import { type Gate, gate } from '../support/timing/gate.js'

const BIG = Buffer.alloc(5_000_000, 'sluice')
const STUCK = Buffer.alloc(24 * 1024 * 1024, 'sluice')

interface Bench extends TestEdge {
  readonly ledger: Ledger
  /** Opens for each call of `/late`. */
  readonly waiting: Gate<Reply>[]
  readonly sinks: ResponseSink[]
}

async function bench(t: Test): Promise<Bench> {
  const ledger = new Ledger()
  const waiting: Gate<Reply>[] = []
  const sinks: ResponseSink[] = []
  const routes = [
    testRoute(ledger, 'GET', '/ping', () => ({ status: 200, headers: [], body: 'pong' })),
    testRoute(ledger, 'POST', '/ping', () => ({ status: 200, headers: [], body: 'pong' }), {
      readsBody: true,
    }),
    testRoute(ledger, 'DELETE', '/ping', () => NO_CONTENT),
    testRoute(ledger, 'GET', '/big', () => ({ status: 200, headers: [], body: BIG })),
    testRoute(ledger, 'GET', '/stuck', () => ({ status: 200, headers: [], body: STUCK })),
    testRoute(ledger, 'GET', '/late', () => {
      const one = gate<Reply>()
      waiting.push(one)
      return one.opened
    }),
    testRoute(ledger, 'GET', '/stream', () => ({
      status: 200,
      headers: [],
      body: {
        heartbeat: '',
        padding: '',
        closingFrame: 'goodbye',
        start: (sink) => {
          sinks.push(sink)
          sink.write('hello, ')
        },
      },
    })),
    testRoute(ledger, '*', '/*', () => jsonReply(404, {})),
  ]
  return { ...(await startEdge(t, routes)), ledger, waiting, sinks }
}

/** A connection that has been served once and is kept alive. */
async function keptAlive(t: Test, port: number): Promise<RawConnection> {
  const connection = await connected(t, port, { target: '/ping' })
  const reply = await connection.read()
  t.equal(reply.header('connection'), '')
  return connection
}

async function ask(
  connection: RawConnection,
  method: string,
  target: string,
  body?: string,
): Promise<RawReply> {
  await connection.send({ method, target, ...(body === undefined ? {} : { body }) })
  return connection.read({ head: method === 'HEAD' })
}

test('open connections are counted, idle ones included', async (t) => {
  const { port, server } = await bench(t)
  t.equal(server.connections(), 0)
  const one = await keptAlive(t, port)
  const other = await connected(t, port)
  await eventually(() => server.connections() === 2)
  one.destroy()
  await eventually(() => server.connections() === 1)
  other.reset()
  await eventually(() => server.connections() === 0)
})

test('calls in flight are counted while they wait', async (t) => {
  const { port, server, waiting } = await bench(t)
  t.equal(server.inFlight(), 0)
  const connection = await connected(t, port, { target: '/late' })
  await eventually(() => waiting.length === 1)
  t.equal(server.inFlight(), 1)
  waiting[0]!.open(jsonReply(200, {}))
  await connection.read()
  t.equal(server.inFlight(), 0)
})

const LAST_ANSWERS = [
  ['GET', '/ping', 200],
  ['POST', '/ping', 200, 'abc'],
  ['DELETE', '/ping', 204],
  ['HEAD', '/ping', 200],
  ['GET', '/nowhere', 404],
  ['HEAD', '/nowhere', 404],
] as const

for (const [method, target, status, body] of LAST_ANSWERS) {
  test(`while draining ${method} ${target} is answered, says close and closes`, async (t) => {
    const { port, server, ledger } = await bench(t)
    const connection = await keptAlive(t, port)
    server.drain()
    const reply = await ask(connection, method, target, body)
    t.equal(reply.status, status)
    t.equal(reply.header('connection'), 'close')
    if (method === 'HEAD') t.equal(reply.header('content-length'), target === '/ping' ? '4' : '2')
    if (status === 204) t.equal(reply.header('content-length'), '')
    t.equal(await connection.ended(1_000), 'fin')
    t.equal(connection.unread.byteLength, 0)
    await ledger.balanced(2)
    t.match(ledger.last, { status, aborted: false })
    await eventually(() => server.connections() === 0)
    t.equal(server.inFlight(), 0)
  })
}

test('while draining a large answer says close and is whole', async (t) => {
  const { port, server } = await bench(t)
  const connection = await keptAlive(t, port)
  server.drain()
  const reply = await ask(connection, 'GET', '/big')
  t.equal(reply.header('connection'), 'close')
  t.ok(reply.body.equals(BIG))
})

test('while draining new connections are refused', async (t) => {
  const { port, server } = await bench(t)
  const kept = await keptAlive(t, port)
  server.drain()
  server.drain()
  await t.rejects(connectRaw(port), { code: 'ECONNREFUSED' })
  t.equal((await ask(kept, 'GET', '/ping')).status, 200, 'the one that was there is served')
})

test('what is in flight when the drain begins is finished, says close and closes', async (t) => {
  const { port, server, waiting, ledger } = await bench(t)
  const connection = await keptAlive(t, port)
  await connection.send({ target: '/late' })
  await eventually(() => waiting.length === 1)
  server.drain()
  t.equal(server.inFlight(), 1)
  waiting[0]!.open(jsonReply(200, { late: true }))
  const reply = await connection.read()
  t.equal(reply.text, '{"late":true}')
  t.equal(reply.header('connection'), 'close')
  t.equal(await connection.ended(1_000), 'fin')
  t.equal(ledger.open, 0)
})

test('a body that is half-way when the drain begins is read to its end', async (t) => {
  const { port, server } = await bench(t)
  const connection = await keptAlive(t, port)
  const bytes = request({ method: 'POST', target: '/ping', body: 'abcdef' })
  await connection.send(bytes.subarray(0, -3))
  await turn()
  server.drain()
  await connection.send(bytes.subarray(-3))
  const reply = await connection.read()
  t.equal(reply.status, 200)
  t.equal(reply.header('connection'), 'close')
  t.equal(await connection.ended(1_000), 'fin')
})

test('a stream that runs when the drain begins goes on to its own end', async (t) => {
  const { port, server, sinks, ledger } = await bench(t)
  const connection = await keptAlive(t, port)
  await connection.send({ target: '/stream' })
  await eventually(() => sinks.length === 1)
  server.drain()
  sinks[0]!.write('still here, ')
  await turn()
  sinks[0]!.write('done')
  sinks[0]!.end()
  const reply = await connection.read()
  t.equal(reply.text, 'hello, still here, done')
  await ledger.balanced(2)
  t.match(ledger.last, { status: 200, aborted: false })
  const next = await ask(connection, 'GET', '/ping')
  t.equal(next.header('connection'), 'close', 'and the next answer says close')
  t.equal(await connection.ended(1_000), 'fin')
})

test('a stream that starts while draining says close in its head', async (t) => {
  const { port, server, sinks } = await bench(t)
  const connection = await keptAlive(t, port)
  server.drain()
  await connection.send({ target: '/stream' })
  await eventually(() => sinks.length === 1)
  sinks[0]!.end()
  const reply = await connection.read()
  t.equal(reply.header('connection'), 'close')
  t.equal(reply.text, 'hello, ')
})

test('closing cuts what is in flight, lets streams say their last words, and leaves nothing behind', async (t) => {
  const { port, server, waiting, sinks, ledger, defects } = await bench(t)
  const idle = await keptAlive(t, port)
  const silent = await connected(t, port)
  const late = await connected(t, port, { target: '/late' })
  const stream = await connected(t, port, { target: '/stream' })
  const stuck = await pausedReader(t, port, { target: '/stuck' })
  const sending = await connected(t, port, {
    method: 'POST',
    target: '/ping',
    headers: [['Content-Length', '9']],
    body: 'abc',
  })
  await eventually(() => ledger.arrived === 5 && waiting.length === 1 && sinks.length === 1)
  let gone = 0
  sinks[0]!.onAbort(() => gone++)
  server.drain()
  server.close()
  const reply = await stream.read()
  t.equal(reply.text, 'hello, goodbye')
  t.equal(await stream.ended(1_000), 'fin')
  const refused = await late.read()
  t.match([refused.status, refused.header('connection')], [Number, 'close'], 'who still waits is told')
  for (const connection of [idle, silent, late, sending]) await connection.ended(1_000)
  stuck.resume()
  await stuck.ended(1_000)
  t.ok(stuck.received < STUCK.byteLength)
  await ledger.balanced(5)
  const aborted = ledger.settlements.filter((one) => one.aborted).map(({ route }) => route)
  t.strictSame(aborted.sort(), ['GET /stream', 'GET /stuck', 'POST /ping'])
  t.equal(gone, 1)
  t.equal(server.inFlight(), 0)
  t.equal(server.connections(), 0)
  await t.rejects(connectRaw(port), { code: 'ECONNREFUSED' })
  waiting[0]!.open(jsonReply(200, {}))
  t.equal(sinks[0]!.write('nobody hears'), true)
  await turn()
  t.equal(ledger.settlements.length, 5)
  t.strictSame(defects, [])
})

test('a server may be closed without a drain, and twice', async (t) => {
  const { port, server } = await bench(t)
  const idle = await keptAlive(t, port)
  server.close()
  server.close()
  await idle.ended(1_000)
  await t.rejects(connectRaw(port), { code: 'ECONNREFUSED' })
})

test('an address that is not ours is refused', async (t) => {
  await t.rejects(startEdge(t, [], { host: '203.0.113.7' }), { message: /cannot listen on 203\.0\.113\.7/ })
})
