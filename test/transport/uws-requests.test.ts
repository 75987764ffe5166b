import { type Test, test } from 'tap'
import type { Route } from '../../src/transport/exchange.js'
import { HEADER_BYTES } from '../../src/transport/native-server.js'
import { request, split, turn } from '../support/clients/raw-http.js'
import { connected, startEdge, type TestEdge } from '../support/servers/native-edge.js'
import { jsonReply, Ledger, NO_CONTENT, testRoute } from '../support/servers/test-routes.js'
import { eventually } from '../support/timing/eventually.js'

interface Bench extends TestEdge {
  readonly ledger: Ledger
  /** Identifiers of the calls whose handler has run, in order. */
  readonly effects: string[]
}

async function bench(t: Test): Promise<Bench> {
  const ledger = new Ledger()
  const effects: string[] = []
  const answer: Route['answer'] = (call) => {
    effects.push(call.param(0))
    return jsonReply(200, {
      id: call.param(0),
      query: call.query,
      one: call.header('x-one'),
      body: Buffer.from(call.body).toString(),
    })
  }
  const reads = { readsBody: true, readsQuery: true, headers: ['x-one'], bodyLimit: 100_000 }
  const edge = await startEdge(t, [
    testRoute(ledger, 'GET', '/things/{id}', answer, { readsQuery: true }),
    testRoute(ledger, 'POST', '/things/{id}', answer, reads),
    testRoute(ledger, 'DELETE', '/things/{id}', (call) => {
      effects.push(call.param(0))
      return NO_CONTENT
    }),
    testRoute(ledger, '*', '/*', () => jsonReply(404, {})),
  ])
  return { ...edge, ledger, effects }
}

const POST = request({
  method: 'POST',
  target: '/things/7?a=b',
  headers: [['X-One', 'value']],
  body: 'hello',
})
const SEEN = { id: '7', query: 'a=b', one: 'value', body: 'hello' }
/** End of the request line. Cuts inside it are a known limit (uws-known-limits.test.ts). */
const LINE_END = POST.indexOf('\r\n') + 2

test('a request may be cut in two anywhere behind its request line', async (t) => {
  const { port, ledger } = await bench(t)
  const connection = await connected(t, port)
  let count = 0
  for (let at = LINE_END; at < POST.byteLength; at++) {
    await connection.send(...split(POST, [at]))
    const reply = await connection.read()
    if (reply.status === 200 && reply.text === JSON.stringify(SEEN)) count++
    else t.fail(`cut at ${at}: ${reply.status} ${reply.body}`)
  }
  t.equal(count, POST.byteLength - LINE_END)
  t.equal(ledger.arrived, count)
  t.equal(ledger.open, 0)
})

test('a request may arrive byte by byte behind its request line', async (t) => {
  const { port } = await bench(t)
  const connection = await connected(
    t,
    port,
    POST.subarray(0, LINE_END),
    ...split(POST.subarray(LINE_END), 1),
  )
  t.strictSame(JSON.parse((await connection.read()).text), SEEN)
  await connection.send(POST)
  t.equal((await connection.read()).status, 200, 'and the connection goes on')
})

test('a large body arrives whole from many fragments, and from one', async (t) => {
  const { port } = await bench(t)
  const body = Array.from({ length: 20_000 }, (_, i) => i.toString(36).padStart(4, '-')).join('')
  const bytes = request({ method: 'POST', target: '/things/7', body })
  for (const fragments of [[bytes], split(bytes, 1_000), split(bytes, 7_919)]) {
    const connection = await connected(t, port, ...fragments)
    const reply = await connection.read()
    t.equal(JSON.parse(reply.text).body, body, `${fragments.length} fragments`)
  }
})

/** A request whose header block, request line included, has exactly this many bytes. */
function withHeaderBlock(bytes: number): Buffer {
  const bare = request({ target: '/things/7', headers: [['X-Pad', '']] })
  return request({ target: '/things/7', headers: [['X-Pad', 'p'.repeat(bytes - bare.byteLength)]] })
}

for (const [how, size] of [
  ['as a whole', HEADER_BYTES * 2],
  ['in fragments of 1 000 bytes', 1_000],
  ['in fragments of a network packet', 1_460],
] as const) {
  test(`a header block of 16 KiB is accepted and one byte more is refused, ${how}`, async (t) => {
    const { port, ledger } = await bench(t)
    for (const bytes of [4_096, 8_192, HEADER_BYTES - 1, HEADER_BYTES]) {
      const connection = await connected(t, port, ...split(withHeaderBlock(bytes), size))
      t.equal((await connection.read()).status, 200, `${bytes} bytes`)
    }
    const served = ledger.arrived
    for (const bytes of [HEADER_BYTES + 1, HEADER_BYTES + 5_000]) {
      const connection = await connected(t, port, ...split(withHeaderBlock(bytes), size))
      const reply = await connection.read()
      t.equal(reply.status, 431, `${bytes} bytes`)
      t.equal(reply.header('connection'), 'close')
      await connection.ended()
    }
    t.equal(ledger.arrived, served, 'no route was called')
  })
}

test('a header block that never ends is refused when it is too large', async (t) => {
  const { port, ledger } = await bench(t)
  const connection = await connected(
    t,
    port,
    ...split(withHeaderBlock(HEADER_BYTES * 2).subarray(0, HEADER_BYTES + 10), 1_000),
  )
  t.equal((await connection.read()).status, 431)
  t.equal(ledger.arrived, 0)
})

test('pipelined requests whose answers need no waiting are answered in order', async (t) => {
  const { port, ledger, effects } = await bench(t)
  const connection = await connected(t, port)
  const ids = Array.from({ length: 100 }, (_, i) => `${i}`)
  const verbs = [
    (id: string) => request({ target: `/things/${id}` }),
    (id: string) => request({ method: 'POST', target: `/things/${id}`, body: `body of ${id}` }),
    (id: string) => request({ method: 'DELETE', target: `/things/${id}` }),
    (id: string) => request({ method: 'HEAD', target: `/things/${id}` }),
    () => request({ method: 'POST', target: '/nowhere', body: 'thrown away' }),
  ]
  const all = Buffer.concat(ids.map((id, i) => verbs[i % verbs.length]!(id)))
  // Cut where no request line is: that is a known limit.
  await connection.send(all)
  for (const [i, id] of ids.entries()) {
    const kind = i % verbs.length
    const reply = await connection.read({ head: kind === 3 })
    if (kind < 2) t.equal(JSON.parse(reply.text).id, id)
    else t.equal(reply.status, [204, 200, 404][kind - 2], `request ${id}`)
  }
  t.equal(connection.unread.byteLength, 0)
  t.strictSame(
    effects,
    ids.filter((_, i) => i % verbs.length !== 4),
  )
  t.equal(ledger.arrived, 100)
  t.equal(ledger.open, 0)
})

const BROKEN = ['abc', '-1', '+3', '0x3', '3, 3', '3,4', '', '1'.repeat(16), '1'.repeat(30), '3;a', '3 3']

for (const value of BROKEN) {
  test(`Content-Length "${value}" has no effect but a 400`, async (t) => {
    const { port, effects, ledger } = await bench(t)
    for (const method of ['DELETE', 'POST', 'GET']) {
      const connection = await connected(t, port)
      const headers = [['Content-Length', value]] as const
      const reply = await connection.ask({ method, target: '/things/7', headers, body: 'abc' })
      t.equal(reply.status, 400, method)
      t.equal(reply.header('connection'), 'close')
      t.equal(await connection.ended(), 'fin')
    }
    t.strictSame(effects, [])
    await ledger.balanced(0)
  })
}

test('what follows a refused request is not served', async (t) => {
  const { port, effects } = await bench(t)
  const refused: Parameters<typeof request>[0][] = [
    { headers: [['Host', 'b']] },
    {
      method: 'POST',
      headers: [
        ['Content-Length', '3'],
        ['Content-Length', '40'],
      ],
      body: 'abc',
    },
    { method: 'POST', headers: [['Transfer-Encoding', 'gzip']], body: '0\r\n\r\n' },
    {
      method: 'POST',
      headers: [
        ['Transfer-Encoding', 'chunked'],
        ['Content-Length', '3'],
      ],
      body: '0\r\n\r\n',
    },
    { method: 'HEAD', headers: [['Host', 'b']] },
  ]
  for (const parts of refused) {
    const connection = await connected(t, port)
    const bad = request({ target: '/things/7', ...parts })
    await connection.send(bad)
    await turn()
    await connection.send({ method: 'DELETE', target: '/things/8' })
    await connection.ended()
    t.match(connection.unread.toString(), /^HTTP\/1\.1 4(00|11) /)
  }
  t.strictSame(effects, [], 'no handler has run')
})

/** What a caller has sent when it goes, and whether a route has heard of it by then. */
const TRUNCATED: Record<string, { readonly bytes: Buffer; readonly arrives: boolean }> = {
  'in the request line': { bytes: Buffer.from('DELETE /things/7'), arrives: false },
  'in the header block': { bytes: Buffer.from('DELETE /things/7 HTTP/1.1\r\nHost: a\r\n'), arrives: false },
  'in the body of a DELETE': {
    bytes: request({
      method: 'DELETE',
      target: '/things/7',
      headers: [['Content-Length', '10']],
      body: 'abc',
    }),
    arrives: true,
  },
  'in front of the body of a DELETE': {
    bytes: request({ method: 'DELETE', target: '/things/7', headers: [['Content-Length', '10']] }),
    arrives: true,
  },
  'in the body of a POST': {
    bytes: request({ method: 'POST', target: '/things/7', headers: [['Content-Length', '10']], body: 'abc' }),
    arrives: true,
  },
}

for (const [where, { bytes, arrives }] of Object.entries(TRUNCATED)) {
  for (const how of ['finish', 'reset', 'destroy'] as const) {
    test(`a caller that goes ${where} (${how}) has caused nothing`, async (t) => {
      const { port, ledger, effects, server } = await bench(t)
      const connection = await connected(t, port, bytes)
      await turn()
      if (arrives) await eventually(() => ledger.open === 1)
      else t.equal(ledger.open, 0, 'the route waits for the rest')
      connection[how]()
      if (how === 'finish') t.equal((await connection.rest()).byteLength, 0, 'there is no answer')
      await ledger.balanced(arrives ? 1 : 0)
      t.strictSame(effects, [])
      if (arrives) t.match(ledger.last, { status: 0, bytesOut: 0, aborted: true })
      t.equal(server.inFlight(), 0)
    })
  }
}

test('a handler runs only once the body is complete', async (t) => {
  const { port, effects } = await bench(t)
  const connection = await connected(t, port)
  const bytes = request({ method: 'DELETE', target: '/things/7', body: 'abc' })
  await connection.send(bytes.subarray(0, -1))
  await turn()
  t.strictSame(effects, [])
  await connection.send(bytes.subarray(-1))
  t.equal((await connection.read()).status, 204)
  t.strictSame(effects, ['7'])
})

const CONNECTION_VALUES = {
  close: true,
  Close: true,
  'keep-alive, close': true,
  'close, keep-alive': true,
  'keep-alive': false,
  'Keep-Alive, Upgrade': false,
  'not-close': false,
}

for (const [value, closes] of Object.entries(CONNECTION_VALUES)) {
  test(`Connection: ${value} ${closes ? 'is answered with close, and closes' : 'does not close'}`, async (t) => {
    const { port } = await bench(t)
    const connection = await connected(t, port, { target: '/things/1', headers: [['Connection', value]] })
    const reply = await connection.read()
    t.equal(reply.status, 200)
    t.equal(reply.header('connection'), closes ? 'close' : '')
    if (closes) {
      t.equal(await connection.ended(1_000), 'fin')
    } else {
      t.equal((await connection.ask({ target: '/things/1' })).status, 200)
    }
  })
}

test('a body in one piece is read where it lies, and nothing of it can be seen when answer has returned', async (t) => {
  const ledger = new Ledger()
  const seen: { text: string; view: Uint8Array }[] = []
  const answer: Route['answer'] = (call) => {
    const view = call.body
    seen.push({ text: Buffer.from(view).toString(), view })
    return Promise.resolve(NO_CONTENT)
  }
  const route = testRoute(ledger, 'POST', '/kept', answer, { readsBody: true })
  const { port } = await startEdge(t, [route])
  const connection = await connected(t, port)
  for (const body of ['first', 'second']) {
    await connection.send(request({ method: 'POST', target: '/kept', body }))
    t.equal((await connection.read()).status, 204)
  }
  t.same(
    seen.map(({ text, view }) => [text, view.byteLength]),
    [
      ['first', 0],
      ['second', 0],
    ],
  )
})

test('a body whose admission takes a while is kept for it', async (t) => {
  const ledger = new Ledger()
  const answer: Route['answer'] = (call) => jsonReply(200, { body: Buffer.from(call.body).toString() })
  const admit: Route['admit'] = () => new Promise((resolve) => setImmediate(() => resolve(null)))
  const { port } = await startEdge(t, [
    testRoute(ledger, 'POST', '/late', answer, { readsBody: true, admit }),
  ])
  const connection = await connected(t, port)
  await connection.send(request({ method: 'POST', target: '/late', body: 'kept' }))
  t.same(JSON.parse((await connection.read()).text), { body: 'kept' })
})

test('of a repeated header the first line counts, and undeclared ones are absent', async (t) => {
  const ledger = new Ledger()
  const names = ['x-one', 'x-two', 'x-three', 'x-four', 'constructor']
  const answer: Route['answer'] = (call) =>
    jsonReply(
      200,
      names.map((name) => call.header(name)),
    )
  const { port } = await startEdge(t, [
    testRoute(ledger, 'GET', '/headers', answer, { headers: ['x-one', 'x-two', 'x-three'] }),
  ])
  const connection = await connected(t, port)
  const headers: [string, string][] = [
    ['X-Three', 'c'],
    ['X-One', 'a'],
    ['X-One', 'b'],
    ['X-Four', 'd'],
  ]
  await connection.send(request({ target: '/headers', headers }))
  t.same(JSON.parse((await connection.read()).text), ['a', '', 'c', '', ''])
  await connection.send(request({ target: '/headers', headers: [] }))
  t.same(
    JSON.parse((await connection.read()).text),
    ['', '', '', '', ''],
    'nothing is left of the call before',
  )
})
