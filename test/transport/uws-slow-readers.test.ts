/**
 * Readers that are slower than the native server's own clock of ten seconds allows (rule 13). That clock is real, so
 * these tests take as long as it does; they wait for it side by side.
 */
import { type Test, test } from 'tap'
import type { ByteSource, ResponseBody } from '../../src/transport/exchange.js'
import type { RawConnection } from '../support/clients/raw-http.js'
import { pausedReader, startEdge } from '../support/servers/native-edge.js'
import { FILLER, numbers, produce, type Told } from '../support/servers/stream-bench.js'
import { Ledger, testRoute } from '../support/servers/test-routes.js'
import { quickest } from '../support/timing/quickest.js'

const MIB = 1024 * 1024
/** More than the kernel keeps for a slow reader by a good deal, and less than it reads in the time of a test. */
const SIZE = 16 * MIB
/** So much at once makes the socket writable again, which stops the native clock. */
const GULP = 4 * MIB
const EVENTS = 1_000
const EVENT_BYTES = 16_000
/** The native clock runs out between eight and twelve seconds after a write that was not taken. */
const CLOCK_MS = 13_000
/** A slow reader takes 64 KiB, which is what a read of Node's takes, once in this time. */
const REST_MS = 1_000

const PIECE = Buffer.alloc(64 * 1024, 'sluice')

function source(): ByteSource {
  let left = SIZE
  return {
    read: async () => {
      const piece = PIECE.subarray(0, Math.min(left, PIECE.length))
      left -= piece.length
      return piece
    },
    close: () => {},
  }
}

const told: Told = { refusals: 0 }
const BODIES: Readonly<Record<string, () => ResponseBody>> = {
  '/whole': () => Buffer.alloc(SIZE, 'sluice'),
  '/sized': () => ({ size: SIZE, open: async () => source() }),
  '/stream': () => ({
    heartbeat: FILLER,
    padding: '\n\n',
    closingFrame: '',
    start: (sink) => produce(EVENTS, EVENT_BYTES, told, (go) => go())({ sink, gone: 0, drains: 0 }),
  }),
}

/** Over long before a slow reader is through; what is sent while none waits has to fit into it. */
const DEADLINE_MS = 5_000

async function bench(t: Test, deadlineMs: number, options: { readonly sendTimeoutMs?: number } = {}) {
  const ledger = new Ledger()
  const routes = Object.entries(BODIES).map(([path, body]) =>
    testRoute(ledger, 'GET', path, () => ({ status: 200, headers: [], body: body() }), {
      deadlineMs,
    }),
  )
  return { ...(await startEdge(t, routes, options)), ledger }
}

/** Takes a gulp, a little now and then for as long as the native clock needs, and then all that comes. */
async function readSlowly(connection: RawConnection, gulp: number): Promise<void> {
  const begun = connection.received
  while (connection.received - begun < gulp) await connection.sip()
  const until = performance.now() + CLOCK_MS
  while (performance.now() < until) {
    await connection.sip()
    await new Promise((resolve) => setTimeout(resolve, REST_MS))
  }
  connection.resume()
}

test('readers that take a little now and then get all of it, whatever the deadline and the native clock say', async (t) => {
  const { port, ledger } = await bench(t, DEADLINE_MS)
  const paths = Object.keys(BODIES)
  const each = [0, GULP].map(async (gulp) => {
    const readers = await Promise.all(paths.map((target) => pausedReader(t, port, { target })))
    await Promise.all(readers.map((reader) => readSlowly(reader, gulp)))
    const [whole, sized, stream] = await Promise.all(
      readers.map((reader) => reader.read({ deadlineMs: 20_000 })),
    )
    t.equal(whole?.body.byteLength, SIZE)
    t.equal(sized?.body.byteLength, SIZE)
    const events = numbers(stream?.text ?? '')
    t.strictSame(
      events,
      Array.from({ length: EVENTS }, (_, i) => i),
    )
  })
  await Promise.all(each)
  await ledger.balanced(2 * paths.length)
  t.notOk(ledger.settlements.some(({ aborted }) => aborted))
})

test('a reader that takes nothing is cut, long after the deadline of the call', async (t) => {
  const cutAfter = async (): Promise<number> => {
    const { port, ledger } = await bench(t, 1_000, { sendTimeoutMs: 2_500 })
    const begun = performance.now()
    const readers = await Promise.all(Object.keys(BODIES).map((target) => pausedReader(t, port, { target })))
    await ledger.balanced(readers.length)
    const took = performance.now() - begun
    t.ok(took >= 2_495, `cut after ${took} ms`)
    t.ok(ledger.settlements.every(({ aborted }) => aborted))
    return took
  }
  t.ok((await quickest(cutAfter, 4_500)) < 4_500, 'and soon after it')
})
