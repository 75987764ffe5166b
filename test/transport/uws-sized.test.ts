/** Bodies of known size that are read while they are sent, over sockets. */
import { createHash } from 'node:crypto'
import { type Test, test } from 'tap'
import type { ByteSource, Reply, SizedResponseBody } from '../../src/transport/exchange.js'
import type { UwsOptions } from '../../src/transport/uws.js'
import { type RawConnection, turn } from '../support/clients/raw-http.js'
import { connected, pausedReader, startEdge } from '../support/servers/native-edge.js'
import { Ledger, testRoute } from '../support/servers/test-routes.js'
import { eventually } from '../support/timing/eventually.js'

const MIB = 1024 * 1024
const PIECE = 256 * 1024
/** More than the kernel takes for a reader that does not read. */
const SIZE = 24 * MIB + 12_345

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const byteAt = (at: number): number => Math.imul(at >>> 2, 2_654_435_761) >>> (8 * (at & 3))

/** Makes its bytes when it is asked, always into the same buffer; counts what it was asked for. */
class Source implements ByteSource {
  reads = 0
  closed = 0
  #at = 0
  readonly #lent = Buffer.alloc(PIECE)

  async read(): Promise<Uint8Array> {
    this.reads++
    await new Promise((resolve) => setImmediate(resolve))
    const length = Math.min(PIECE, SIZE - this.#at)
    for (let i = 0; i < length; i++) this.#lent[i] = byteAt(this.#at + i)
    this.#at += length
    return this.#lent.subarray(0, length)
  }

  close(): void {
    this.closed++
  }
}

const EXPECTED = Buffer.from(Uint8Array.from({ length: SIZE }, (_, i) => byteAt(i)))

async function bench(t: Test, options: Partial<UwsOptions> = {}) {
  const ledger = new Ledger()
  const sources: Source[] = []
  const body: SizedResponseBody = {
    size: SIZE,
    open: async () => {
      const source = new Source()
      sources.push(source)
      return source
    },
  }
  const reply: Reply = { status: 200, headers: [['Content-Type', 'application/octet-stream']], body }
  const routes = [
    testRoute(ledger, 'GET', '/file', () => reply, { deadlineMs: 30_000 }),
    testRoute(new Ledger(), 'GET', '/ping', () => ({ status: 200, headers: [], body: 'pong' })),
  ]
  return { ...(await startEdge(t, routes, options)), ledger, sources }
}

/** Resolves when the source is asked for nothing more although the body is not sent. */
async function stuck(source: Source): Promise<number> {
  for (let before = -1; before !== source.reads; ) {
    before = source.reads
    for (let i = 0; i < 40; i++) await turn()
  }
  return source.reads
}

async function readAll(connection: RawConnection): Promise<Buffer> {
  const head = await connection.readHead()
  return connection.take(Number(head.header('content-length')), 20_000)
}

test('a quick reader gets every byte, and the connection serves on', async (t) => {
  const { port, sources, ledger } = await bench(t)
  const connection = await connected(t, port)
  for (let round = 0; round < 2; round++) {
    await connection.send({ target: '/file' })
    t.equal(hashOf(await readAll(connection)), hashOf(EXPECTED))
  }
  t.equal((await connection.ask({ target: '/ping' })).text, 'pong')
  await ledger.balanced(2)
  t.match(ledger.last, { status: 200, bytesOut: SIZE, aborted: false })
  t.strictSame(
    sources.map(({ closed }) => closed),
    [1, 1],
  )
})

test('for a reader that does not read the file is not read on, and it loses nothing', async (t) => {
  const { port, sources, ledger } = await bench(t)
  const connection = await pausedReader(t, port, { target: '/file' })
  const source = await eventually(() => sources[0])
  const reads = await stuck(source)
  t.ok(reads * PIECE < SIZE / 2, `${reads} pieces read ahead`)
  t.equal(source.closed, 0)
  connection.resume()
  t.equal(hashOf(await readAll(connection)), hashOf(EXPECTED))
  await ledger.balanced()
  await eventually(() => source.closed === 1)
})

test('a reader that leaves lets go of the file', async (t) => {
  const { port, sources, ledger } = await bench(t)
  const connection = await pausedReader(t, port, { target: '/file' })
  const source = await eventually(() => sources[0])
  await stuck(source)
  connection.reset()
  await eventually(() => source.closed === 1)
  await ledger.balanced()
  t.match(ledger.last, { status: 200, aborted: true })
  t.ok((ledger.last?.bytesOut ?? 0) < SIZE)
})

test('a reader that takes nothing is cut after its time', async (t) => {
  const { port, sources, ledger } = await bench(t, { sendTimeoutMs: 300 })
  await pausedReader(t, port, { target: '/file' })
  await ledger.balanced()
  t.match(ledger.last, { status: 200, aborted: true })
  await eventually(() => sources[0]?.closed === 1)
})

test('a body that cannot be opened cuts the call and nobody else’s', async (t) => {
  const ledger = new Ledger()
  const body: SizedResponseBody = { size: 5, open: () => Promise.reject(new Error('no such file')) }
  const { port, defects } = await startEdge(t, [
    testRoute(ledger, 'GET', '/file', () => ({ status: 200, headers: [], body })),
    testRoute(new Ledger(), 'GET', '/ping', () => ({ status: 200, headers: [], body: 'pong' })),
  ])
  const connection = await connected(t, port, { target: '/file' })
  await connection.ended()
  t.equal(defects.length, 1)
  await ledger.balanced()
  const other = await connected(t, port, { target: '/ping' })
  t.equal((await other.read()).text, 'pong')
})
