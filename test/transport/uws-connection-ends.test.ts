/** Connections that end because the server ends them: behind streams and files, and behind bodies in chunks (contract/decisions 47). */
import { type Test, test } from 'tap'
import type { Reply, ResponseSink } from '../../src/transport/exchange.js'
import { chunked, request, turn } from '../support/clients/raw-http.js'
import { connected, pausedReader, startEdge } from '../support/servers/native-edge.js'
import { jsonReply, Ledger, testRoute } from '../support/servers/test-routes.js'
import { eventually } from '../support/timing/eventually.js'

const PIECE = Buffer.alloc(64 * 1024, 'p')
/** More than the kernel holds for a reader that takes nothing. */
const PIECES = 200
const SMALL = ['one', 'two', 'three']

function streamed(pieces: readonly (string | Uint8Array)[], heartbeat: string): Reply {
  const start = (sink: ResponseSink): void => {
    let next = 0
    const push = (): void => {
      while (next < pieces.length) if (!sink.write(pieces[next++]!)) return
      if (next++ === pieces.length) sink.end()
    }
    sink.onDrain(push)
    push()
  }
  return { status: 200, headers: [], body: { heartbeat, padding: heartbeat, closingFrame: '', start } }
}

function file(pieces: readonly Uint8Array[]): Reply {
  const size = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)
  const open = async () => {
    let next = 0
    return { read: async () => pieces[next++] ?? Buffer.alloc(0), close: () => {} }
  }
  return { status: 200, headers: [], body: { size, open } }
}

const LARGE = Array<Buffer>(PIECES).fill(PIECE)

async function bench(t: Test, strictProxy = false) {
  const ledger = new Ledger()
  const effects: string[] = []
  const reads = { readsBody: true, bodyLimit: 100_000 } as const
  const ran = (reply: Reply | Promise<Reply>) => (call: { readonly body: Uint8Array }) => {
    effects.push(Buffer.from(call.body).toString())
    return reply
  }
  const ANSWERS: Record<string, () => Reply> = {
    '/stream': () => streamed(SMALL, ':\n\n'),
    '/plain': () => streamed(SMALL, ''),
    '/silent': () => streamed([], ''),
    '/large': () => streamed(LARGE, ':\n\n'),
    '/large-plain': () => streamed(LARGE, ''),
    '/file': () => file([Buffer.from('abc'), Buffer.from('def')]),
    '/byte': () => file([Buffer.from('a')]),
    '/large-file': () => file(LARGE),
    '/whole': () => ({ status: 200, headers: [], body: 'whole' }),
    '/none': () => ({ status: 204, headers: [], body: null }),
  }
  const routes = [
    ...Object.entries(ANSWERS).flatMap(([path, answer]) => [
      testRoute(ledger, 'GET', path, answer),
      testRoute(ledger, 'POST', path, answer, reads),
    ]),
    testRoute(ledger, 'POST', '/effect', ran(jsonReply(201, {})), reads),
    testRoute(ledger, 'POST', '/late', ran(new Promise(() => {})), { ...reads, deadlineMs: 300 }),
    testRoute(ledger, 'POST', '/full', ran(jsonReply(200, {})), {
      ...reads,
      admit: () => jsonReply(503, {}),
    }),
    testRoute(ledger, '*', '/*', () => jsonReply(404, {})),
  ]
  return { ...(await startEdge(t, routes, { strictProxy })), ledger, effects }
}

const EFFECT = request({ method: 'POST', target: '/effect', body: 'behind' })
const LISTED = [['Connection', 'TE, close']] as const
const CHUNKED = [['Transfer-Encoding', 'chunked']] as const
const inChunks = (target: string, body: string | Uint8Array = chunked('own')): Buffer =>
  request({ method: 'POST', target, headers: CHUNKED, body })

const EXPECTED: Record<string, string> = {
  '/stream': 'onetwothree',
  '/plain': 'onetwothree',
  '/silent': '',
  '/file': 'abcdef',
  '/byte': 'a',
  '/whole': 'whole',
  '/none': '',
}

for (const [path, expected] of Object.entries(EXPECTED)) {
  for (const [how, bytes] of [
    ['a close in a list', request({ target: path, headers: LISTED })],
    ['a body in chunks', inChunks(path)],
    ['a close', request({ target: path, headers: [['Connection', 'close']] })],
  ] as const) {
    test(`${how}: ${path} is whole, and its connection ends`, async (t) => {
      const { port, ledger, defects } = await bench(t)
      const connection = await connected(t, port, bytes)
      const reply = await connection.read()
      t.equal(reply.text, expected)
      t.equal(reply.header('connection'), 'close')
      t.equal(await connection.ended(1_000), 'fin')
      t.equal(connection.unread.byteLength, 0, 'nothing follows')
      await ledger.balanced()
      t.match(ledger.last, { aborted: false, status: reply.status })
      t.strictSame(defects, [])
    })

    test(`${how}: nothing behind ${path} is run`, async (t) => {
      const { port, effects } = await bench(t)
      const behind = await connected(t, port, Buffer.concat([bytes, EFFECT]))
      const later = await connected(t, port, bytes, EFFECT)
      await behind.ended(1_000)
      await later.ended(1_000)
      t.strictSame(effects, [])
    })
  }
}

for (const path of ['/large', '/large-plain', '/large-file']) {
  test(`a reader that takes its time gets the whole of ${path}, and its connection ends`, async (t) => {
    const { port, ledger } = await bench(t)
    for (const bytes of [request({ target: path, headers: LISTED }), inChunks(path)]) {
      const connection = await pausedReader(t, port, bytes)
      for (let i = 0; i < 50; i++) await turn()
      connection.resume()
      const { body } = await connection.read()
      t.ok(body.subarray(0, PIECES * PIECE.byteLength).equals(Buffer.concat(LARGE)), 'all of it')
      t.equal(await connection.ended(1_000), 'fin')
      t.equal(connection.unread.byteLength, 0)
    }
    await ledger.balanced(2)
    t.match(ledger.settlements, [{ aborted: false }, { aborted: false }])
  })
}

test('behind a strict proxy a connection goes on behind a body in chunks', async (t) => {
  const { port } = await bench(t, true)
  const connection = await connected(t, port)
  for (const path of ['/stream', '/file', '/whole', '/none']) {
    await connection.send(inChunks(path))
    t.equal((await connection.read()).header('connection'), '', path)
  }
  t.equal(connection.ending, null)
})

/** What our parser takes for the end of the body, while something stands behind it in the same packet. */
const ENDS: Record<string, Buffer> = {
  'a request': Buffer.concat([inChunks('/effect'), EFFECT]),
  'two requests': Buffer.concat([inChunks('/effect'), EFFECT, EFFECT]),
  'a trailer': inChunks('/effect', '3\r\nown\r\n0\r\nX-One: a\r\n\r\n'),
  'a request where an empty size line ended the chunks': inChunks('/effect', `3\r\nown\r\n\r\n\r\n${EFFECT}`),
  'a malformed request': inChunks('/effect', '3\r\nown\r\n0\r\n\r\nGET hello HTTP/1.1\r\n\r\n'),
}

for (const [name, bytes] of Object.entries(ENDS)) {
  test(`a body in chunks with ${name} behind it: neither is run, and the connection ends`, async (t) => {
    const { port, effects, ledger } = await bench(t)
    const connection = await connected(t, port, bytes)
    await connection.ended(1_000)
    await ledger.balanced()
    t.strictSame(effects, [])
    t.match(ledger.settlements, [{ status: 0, aborted: true }])
  })
}

test('a body in chunks whose sender ends its side before the last one is none', async (t) => {
  const { port, effects, ledger } = await bench(t)
  for (const bytes of ['3\r\nown\r\n', '3\r\nown\r\n0\r\n', '3\r\now', '9\r\nown\r\n']) {
    const connection = await connected(t, port, inChunks('/effect', bytes))
    connection.finish()
    await connection.ended(1_000)
  }
  await ledger.balanced(4)
  // Rule 14: behind the line of the last chunk its own end is all that is missing.
  t.ok(effects.length <= 1)
  t.strictSame(
    ledger.settlements.filter(({ status }) => status !== 0 && status !== 201),
    [],
  )
})

test('a body in chunks that does not end is answered 408 at the deadline', async (t) => {
  const { port, effects, ledger } = await bench(t)
  const connection = await connected(t, port, inChunks('/late', '3\r\nown\r\n5;a=b\r\nhello\r\n0\r\n\r\n'))
  const reply = await connection.read()
  t.equal(reply.status, 408)
  t.equal(reply.header('connection'), 'close')
  connection.finish()
  await connection.ended(1_000)
  await ledger.balanced()
  t.strictSame(effects, [])
})

test('a call whose body comes in chunks is refused by admission before it is read, and the connection ends', async (t) => {
  const { port, effects, ledger } = await bench(t)
  const connection = await connected(t, port, request({ method: 'POST', target: '/full', headers: CHUNKED }))
  const reply = await connection.read()
  t.equal(reply.status, 503)
  t.equal(reply.header('connection'), 'close')
  await connection.send(chunked(Buffer.alloc(50_000), 999))
  await connection.ended(1_000)
  await eventually(() => ledger.open === 0)
  t.strictSame(effects, [])
})

test('a refusal of a body that nobody asked for answers HEAD once, without a body', async (t) => {
  const { port, ledger } = await bench(t)
  const head = request({ method: 'HEAD', target: '/whole', headers: CHUNKED, body: '' })
  const tooMuch = chunked(Buffer.alloc(50_000), 999)
  for (const body of [tooMuch, tooMuch.subarray(0, -5)]) {
    const connection = await connected(t, port, Buffer.concat([head, body]))
    t.equal((await connection.read({ head: true })).status, 413)
    connection.finish()
    t.equal((await connection.rest(1_000)).toString(), '', 'nothing follows the head')
  }
  await ledger.balanced(2)
})
