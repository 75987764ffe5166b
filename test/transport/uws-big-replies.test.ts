// Runs in a process of its own: it measures memory.
import { type Test, test } from 'tap'
import type { Reply, Route } from '../../src/transport/exchange.js'
import type { UwsOptions } from '../../src/transport/uws.js'
import { askRaw, type RawConnection, turn } from '../support/clients/raw-http.js'
import { connected, pausedReader, startEdge, type TestEdge } from '../support/servers/native-edge.js'
import { Ledger, testRoute } from '../support/servers/test-routes.js'
import { eventually } from '../support/timing/eventually.js'

const MIB = 1024 * 1024
/** More than the kernel takes for a reader that does not read (measured here: about 2.6 MB). */
const HUGE_BYTES = 24 * MIB
const BIG = bytesOf(5_000_000)
const HUGE = bytesOf(HUGE_BYTES)
const TIMEOUT_MS = 600

/** Bytes in which every offset can be told from its neighbours. */
function bytesOf(length: number): Buffer {
  const words = new Uint32Array(Math.ceil(length / 4)).map((_, i) => Math.imul(i, 2_654_435_761))
  return Buffer.from(words.buffer).subarray(0, length)
}

interface Bench extends TestEdge {
  readonly ledger: Ledger
}

async function bench(t: Test, options: Partial<UwsOptions> = {}): Promise<Bench> {
  const ledger = new Ledger()
  const bytes = (body: Reply['body']): Reply => ({
    status: 200,
    headers: [['Content-Type', 'text/plain']],
    body,
  })
  const route = (path: string, answer: Route['answer']): Route =>
    testRoute(ledger, 'GET', path, answer, { deadlineMs: 30_000 })
  const late = (reply: Reply): Promise<Reply> => new Promise((resolve) => setImmediate(() => resolve(reply)))
  const routes = [
    route('/ping', () => bytes('pong')),
    route('/bytes', () => bytes(BIG)),
    route('/view', () => bytes(BIG.subarray(1_000_001))),
    route('/text', () => bytes(BIG.toString('latin1'))),
    route('/late', () => late(bytes(BIG))),
    route('/huge', () => bytes(HUGE)),
    // Borrowed bytes: the owner writes over them as soon as the turn is over.
    route('/borrowed', () => {
      const lent = Buffer.from(HUGE)
      setImmediate(() => lent.fill(0))
      return bytes(lent)
    }),
  ]
  return { ...(await startEdge(t, routes, options)), ledger }
}

/** Opens a reader that asks and then reads nothing; resolves when the answer is stuck. */
async function stuck(t: Test, { port, ledger }: Bench, target: string): Promise<RawConnection> {
  const arrived = ledger.arrived
  const connection = await pausedReader(t, port, { target })
  await eventually(() => ledger.arrived > arrived)
  await turn()
  return connection
}

/** Reads with a rest after every piece. */
async function readSlowly(connection: RawConnection, total: number): Promise<Buffer> {
  connection.resume()
  const head = await connection.readHead()
  if (head.header('content-length') !== `${total}`) throw new Error(head.header('content-length'))
  const pieces: Buffer[] = []
  const piece = 256 * 1024
  for (let left = total; left > 0; left -= piece) {
    connection.resume()
    pieces.push(await connection.take(Math.min(piece, left)))
    connection.pause()
    await turn()
  }
  connection.resume()
  return Buffer.concat(pieces)
}

const READS: Record<string, Buffer> = {
  '/bytes': BIG,
  '/view': BIG.subarray(1_000_001),
  '/text': Buffer.from(BIG.toString('latin1')),
  '/late': BIG,
  '/huge': HUGE,
  '/borrowed': HUGE,
}

for (const [target, expected] of Object.entries(READS)) {
  test(`a slow reader of ${target} gets exactly its ${expected.byteLength} bytes`, async (t) => {
    const { port, ledger } = await bench(t)
    const connection = await connected(t, port, { target })
    t.ok((await readSlowly(connection, expected.byteLength)).equals(expected), 'the same bytes')
    await ledger.balanced()
    t.match(ledger.last, { status: 200, bytesOut: expected.byteLength, aborted: false })
    t.equal((await connection.ask({ target: '/ping' })).text, 'pong', 'and the connection goes on')
  })
}

test('a slow reader does not hold up others', async (t) => {
  const all = await bench(t)
  const slow = await stuck(t, all, '/huge')
  t.equal(all.ledger.open, 1, 'the answer waits for its reader')
  for (let i = 0; i < 20; i++) {
    const reply = await askRaw(all.port, { target: i % 5 === 0 ? '/bytes' : '/ping' }, { deadlineMs: 2_000 })
    t.equal(reply.status, 200)
  }
  t.equal(all.ledger.open, 1)
  t.ok((await readSlowly(slow, HUGE_BYTES)).equals(HUGE), 'and it still gets everything')
})

test('what waits for readers that do not read is held once each', async (t) => {
  const all = await bench(t)
  const before = process.memoryUsage()
  const count = 8
  const readers = await Promise.all(Array.from({ length: count }, () => stuck(t, all, '/huge')))
  t.equal(all.ledger.open, count)
  const during = process.memoryUsage()
  const buffers = during.arrayBuffers - before.arrayBuffers
  t.ok(buffers <= count * HUGE_BYTES, `${buffers} bytes of buffers`)
  const resident = during.rss - before.rss
  t.ok(resident <= (count + 1.5) * HUGE_BYTES, `${resident} bytes resident`)
  for (const reader of readers) reader.destroy()
  await all.ledger.balanced()
  for (const one of all.ledger.settlements) t.match(one, { status: 200, aborted: true })
  t.equal(all.server.inFlight(), 0)
})

test('a reader that stops is cut after its time', async (t) => {
  const all = await bench(t, { sendTimeoutMs: TIMEOUT_MS })
  const started = performance.now()
  const reader = await stuck(t, all, '/huge')
  await all.ledger.balanced()
  const took = performance.now() - started
  t.ok(took >= TIMEOUT_MS - 5 && took < TIMEOUT_MS + 5_000, `cut after ${took} ms`)
  t.match(all.ledger.last, { status: 200, aborted: true })
  const { bytesOut } = all.ledger.last!
  t.ok(bytesOut > 0 && bytesOut < HUGE_BYTES, `${bytesOut} bytes were handed over`)
  reader.resume()
  await reader.ended()
  t.ok(reader.received < HUGE_BYTES)
  t.equal(all.server.inFlight(), 0)
})

test('a reader that leaves in the middle is settled once', async (t) => {
  for (const how of ['reset', 'destroy'] as const) {
    const all = await bench(t)
    const reader = await stuck(t, all, '/huge')
    reader[how]()
    await all.ledger.balanced()
    t.match(all.ledger.last, { status: 200, aborted: true }, how)
    t.equal(all.ledger.arrived, 1)
    t.strictSame(all.defects, [])
  }
})
