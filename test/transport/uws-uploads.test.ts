/** Bodies that are read as a stream, over sockets: what only a connection can show. */
import { type Test, test } from 'tap'
import type { BodyReader, HttpCall, IncomingBody, Reply, Route } from '../../src/transport/exchange.js'
import { turn } from '../support/clients/raw-http.js'
import { connected, startEdge } from '../support/servers/native-edge.js'
import { Ledger, testRoute } from '../support/servers/test-routes.js'
import { eventually } from '../support/timing/eventually.js'

const MIB = 1024 * 1024
const LIMIT = 64 * MIB

/** One upload as its route sees it. */
class Upload implements BodyReader {
  bytes = 0
  ended = false
  failed_ = 0
  /** Sum of all bytes, each times its place: a piece that is lost, doubled or out of order changes it. */
  sum = 0
  answer: (reply: Reply) => void = () => {}

  constructor(readonly incoming: IncomingBody) {}

  onData(piece: Uint8Array): void {
    for (const byte of piece) this.sum = (this.sum + byte * (++this.bytes & 1023)) >>> 0
  }

  onEnd(): void {
    this.ended = true
    this.answer({ status: 200, headers: [], body: `${this.bytes} ${this.sum}` })
  }

  onFailure(): void {
    this.failed_++
    this.answer({ status: 500, headers: [], body: 'nobody hears this' })
  }
}

async function bench(t: Test, more: Partial<Route> = {}, prepare: (upload: Upload) => void = () => {}) {
  const ledger = new Ledger()
  const uploads: Upload[] = []
  const answer = (call: HttpCall): Promise<Reply> =>
    new Promise((resolve) => {
      const upload = new Upload(call.incoming!)
      upload.answer = resolve
      uploads.push(upload)
      prepare(upload)
      upload.incoming.read(upload)
    })
  const streamed = { readsBody: 'stream', bodyLimit: LIMIT, deadlineMs: 30_000, ...more } as const
  const routes = [
    testRoute(ledger, 'POST', '/upload', answer, streamed),
    testRoute(new Ledger(), 'GET', '/ping', () => ({ status: 200, headers: [], body: 'pong' })),
  ]
  return { ...(await startEdge(t, routes, { strictProxy: true })), ledger, uploads }
}

const head = (length: number): string =>
  `POST /upload HTTP/1.1\r\nHost: t\r\nContent-Length: ${length}\r\n\r\n`

test('a reader that pauses holds the sender back, and nothing is lost', async (t) => {
  const { port, uploads, ledger } = await bench(t, {}, ({ incoming }) => incoming.pause())
  const connection = await connected(t, port)
  const body = Buffer.from(Uint8Array.from({ length: 24 * MIB }, (_, i) => (i * 13) & 255))
  let written = false
  const sent = connection.send(head(body.length), body).then(() => {
    written = true
  })
  const upload = await eventually(() => uploads[0])
  for (let i = 0; i < 50; i++) await turn()
  const { bytes } = upload
  for (let i = 0; i < 50; i++) await turn()
  t.equal(upload.bytes, bytes, 'behind what was on its way nothing more is read')
  t.notOk(written, 'the kernel does not take 24 MiB that nobody reads')
  upload.incoming.resume()
  await sent
  const reply = await connection.read()
  const expected = new Upload(upload.incoming)
  expected.onData(body)
  t.equal(reply.text, `${body.length} ${expected.sum}`)
  t.equal((await connection.ask({ target: '/ping' })).text, 'pong', 'the connection serves on')
  await ledger.balanced()
  t.match(ledger.last, { status: 200, bytesIn: body.length, aborted: false })
})

test('a reader that pauses at the very end leaves a connection that serves on', async (t) => {
  const { port, uploads } = await bench(t, {}, ({ incoming }) => incoming.pause())
  const connection = await connected(t, port, `${head(3)}abc`)
  t.equal((await connection.read()).status, 200)
  t.match(uploads[0], { bytes: 3, ended: true })
  t.equal((await connection.ask({ target: '/ping' })).text, 'pong')
})

test('a caller that leaves while it is held back is noticed when it is read again', async (t) => {
  const { port, uploads, ledger } = await bench(t, {}, ({ incoming }) => incoming.pause())
  const connection = await connected(t, port, head(1_000), 'abc')
  const upload = await eventually(() => uploads[0])
  connection.destroy()
  await turn()
  upload.incoming.resume()
  await eventually(() => upload.failed_ === 1)
  await ledger.balanced()
  t.match(ledger.last, { status: 0, aborted: true })
  t.notOk(upload.ended)
})

test('an upload over its deadline is 408, its reader is told, and the connection closes', async (t) => {
  for (const paused of [false, true]) {
    const { port, uploads, ledger } = await bench(t, { deadlineMs: 300 }, ({ incoming }) => {
      if (paused) incoming.pause()
    })
    const connection = await connected(t, port, head(1_000), 'abc')
    const reply = await connection.read()
    t.equal(reply.status, 408)
    t.equal(reply.header('connection'), 'close')
    await eventually(() => uploads[0]?.failed_ === 1)
    connection.destroy()
    await ledger.balanced()
    t.match(ledger.last, { status: 408 })
  }
})

/** uWS closes a connection on which nothing has come for ten seconds; its clock has a tick of four. */
const LONGER_THAN_UWS_WAITS_MS = 14_500

test('whoever is held back, or waits for its answer, is not taken for one that has gone quiet', async (t) => {
  const later = (task: () => void): void => void setTimeout(task, LONGER_THAN_UWS_WAITS_MS)
  const body = Buffer.alloc(8 * MIB, 'x')
  const answerOf = async (port: number): Promise<number> => {
    const connection = await connected(t, port, head(body.length), body)
    return (await connection.read({ deadlineMs: 28_000 })).status
  }
  const heldBack = await bench(t, {}, ({ incoming }) => {
    incoming.pause()
    later(() => incoming.resume())
  })
  const slowToAnswer = await bench(t, {}, (upload) => {
    const { incoming } = upload
    const take = upload.onData.bind(upload)
    upload.onData = (piece) => {
      take(piece)
      // The last piece as well: the socket was held when the body was complete.
      incoming.pause()
      setImmediate(() => incoming.resume())
    }
    const end = upload.onEnd.bind(upload)
    upload.onEnd = () => later(end)
  })
  t.strictSame(await Promise.all([answerOf(heldBack.port), answerOf(slowToAnswer.port)]), [200, 200])
})

test('an upload in chunks that gets beyond the limit is 413, and its reader is told once', async (t) => {
  const { port, uploads } = await bench(t, { bodyLimit: 100 })
  const connection = await connected(
    t,
    port,
    'POST /upload HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n32\r\n',
  )
  await connection.send('x'.repeat(50), '\r\n64\r\n', 'x'.repeat(100))
  t.equal((await connection.read()).status, 413)
  t.match(uploads[0], { failed_: 1, ended: false })
})

test('a body that is shorter than declared fails its reader', async (t) => {
  const { port, uploads, ledger } = await bench(t)
  const connection = await connected(t, port, head(1_000), 'abc')
  await eventually(() => uploads[0]?.bytes === 3)
  connection.finish()
  await eventually(() => uploads[0]!.failed_ === 1)
  t.notOk(uploads[0]!.ended)
  await ledger.balanced()
})

test('a server that closes tells its readers', async (t) => {
  const { port, uploads, server, ledger } = await bench(t)
  await connected(t, port, head(1_000), 'abc')
  await eventually(() => uploads[0]?.bytes === 3)
  server.close()
  await eventually(() => uploads[0]!.failed_ === 1)
  await ledger.balanced()
})

test('a reader that throws cuts its call and nobody else’s', async (t) => {
  const { port, defects, ledger } = await bench(t, {}, (upload) => {
    upload.onData = () => {
      throw new Error('thrown on purpose')
    }
  })
  const connection = await connected(t, port, head(3), 'abc')
  await connection.ended()
  t.equal(defects.length, 1)
  await ledger.balanced()
  const other = await connected(t, port, { target: '/ping' })
  t.equal((await other.read()).text, 'pong')
})
