/** Nothing behind the last answer of a connection is run (contract/decisions 47; RFC 9112 sections 6.3, 9.3.2 and 9.6). */
import { type Test, test } from 'tap'
import type { Reply } from '../../src/transport/exchange.js'
import { chunked, type RawConnection, request, turn } from '../support/clients/raw-http.js'
import {
  connected,
  IS_NEWER_BUILD,
  pausedReader,
  startEdge,
  type TestEdge,
} from '../support/servers/native-edge.js'
import { jsonReply, Ledger, testRoute } from '../support/servers/test-routes.js'

interface Bench extends TestEdge {
  readonly ledger: Ledger
  /** Bodies of the calls of `/effect` whose handler has run. */
  readonly effects: string[]
}

const PONG: Reply = { status: 200, headers: [], body: 'pong' }
const BIG = Buffer.alloc(300_000, 'x')
/** More than the kernel holds for a reader that takes nothing. */
const HUGE = Buffer.alloc(12 * 1024 * 1024, 'y')

async function bench(t: Test): Promise<Bench> {
  const ledger = new Ledger()
  const effects: string[] = []
  const routes = [
    testRoute(ledger, 'GET', '/ping', () => PONG),
    testRoute(ledger, 'GET', '/none', () => ({ status: 204, headers: [], body: null })),
    testRoute(ledger, 'GET', '/late', async () => {
      await turn()
      return PONG
    }),
    testRoute(ledger, 'GET', '/soon', async () => PONG),
    testRoute(ledger, 'GET', '/soon-none', async () => ({ status: 204, headers: [], body: null })),
    testRoute(ledger, 'GET', '/big', () => ({ ...PONG, body: BIG })),
    testRoute(ledger, 'GET', '/huge', () => ({ ...PONG, body: HUGE })),
    testRoute(ledger, 'POST', '/echo', (call) => ({ ...PONG, body: Uint8Array.from(call.body) }), {
      readsBody: true,
      bodyLimit: 100_000,
    }),
    testRoute(ledger, 'POST', '/echo-soon', async (call) => ({ ...PONG, body: Uint8Array.from(call.body) }), {
      readsBody: true,
    }),
    testRoute(
      ledger,
      'POST',
      '/effect',
      (call) => {
        effects.push(Buffer.from(call.body).toString())
        return jsonReply(201, {})
      },
      { readsBody: true },
    ),
    testRoute(ledger, '*', '/*', () => jsonReply(404, {})),
  ]
  return { ...(await startEdge(t, routes)), ledger, effects }
}

const EFFECT = request({ method: 'POST', target: '/effect', body: 'ran' })

function post(headers: readonly (readonly [string, string])[], body: string | Uint8Array): Buffer {
  return request({ method: 'POST', target: '/echo', headers, body })
}
const coded = (coding: string, body: string | Uint8Array = chunked('hello')): Buffer =>
  post([['Transfer-Encoding', coding]], body)

interface Last {
  readonly bytes: Buffer
  readonly status: number
  readonly head?: true
  readonly body?: string | Buffer
}

const refused400 = (bytes: Buffer): Last => ({ bytes, status: 400, body: '{"fault":"bad-request"}' })
const answered = (bytes: Buffer, body: string, status = 200): Last => ({ bytes, status, body })

const get = (target: string, ...headers: (readonly [string, string])[]): Buffer =>
  request({ target, headers })
const both = (name: string, one: string, two: string) => [one, two].map((value) => [name, value] as const)
const twice = (name: string, one: string, two: string): Buffer => post(both(name, one, two), 'hello')
const BEARERS = both('Authorization', 'Bearer a', 'Bearer b')

const REFUSALS: Record<string, Last> = {
  'unequal lengths': refused400(twice('Content-Length', '5', '6')),
  'equal lengths': refused400(twice('Content-Length', '5', '5')),
  'lengths of which one is none': refused400(twice('Content-Length', '5', 'abc')),
  'lengths with a byte of 0x80 and above': refused400(twice('Content-Length', '\xff5', '6\xff')),
  'a length of 16 digits': refused400(post([['Content-Length', '0000000000000005']], 'hello')),
  // The newer build refuses it itself.
  ...(IS_NEWER_BUILD
    ? {}
    : {
        'a repeated Host': refused400(
          request({ host: null, target: '/ping', headers: both('Host', 'a', 'b') }),
        ),
      }),
  'a Host that is none': refused400(request({ target: '/ping', host: 'a/b' })),
  'a repeated credential': refused400(get('/ping', ...BEARERS)),
  'a repeated API key': refused400(get('/ping', ...both('X-Api-Key', 'a', 'b'))),
  'a method that is none': refused400(request({ method: 'P{NG', target: '/ping' })),
  'a repeated credential before a body': refused400(post([...BEARERS, ['Content-Length', '5']], 'hello')),
  'a coding that does not end in chunked': refused400(coded('gzip')),
  'chunked in front of another coding': refused400(coded('chunked, gzip')),
  'chunked twice': refused400(coded('chunked, chunked')),
  'an unknown coding': refused400(coded('identity')),
  'an unknown coding of a malformed body': refused400(coded('identity', '3\r\nabcXX0\r\n\r\n')),
  'a body that is too large': answered(post([], Buffer.alloc(100_001)), '{"fault":"payload-too-large"}', 413),
}

const CLOSE = ['Connection', 'close'] as const

const CLOSES: Record<string, Last> = {
  'a GET': answered(get('/ping', CLOSE), 'pong'),
  'a GET in other letters': answered(get('/ping', ['connection', 'CLOSE']), 'pong'),
  'a GET that lists it': answered(get('/ping', ['Connection', 'keep-alive, close']), 'pong'),
  'a GET without an answer’s body': answered(get('/none', CLOSE), '', 204),
  'a HEAD': {
    bytes: request({ method: 'HEAD', target: '/ping', headers: [CLOSE] }),
    status: 200,
    head: true,
    body: '',
  },
  'a POST': answered(post([CLOSE], 'hello'), 'hello'),
  'a GET whose answer is promised': answered(get('/soon', CLOSE), 'pong'),
  'a GET that lists it and whose answer is promised': answered(
    get('/soon', ['Connection', 'keep-alive, close']),
    'pong',
  ),
  'a GET whose promised answer has no body': answered(get('/soon-none', CLOSE), '', 204),
  'a POST whose answer is promised': answered(
    request({ method: 'POST', target: '/echo-soon', headers: [CLOSE], body: 'hello' }),
    'hello',
  ),
  'an unknown path': answered(get('/nowhere', CLOSE), '{}', 404),
}

/** One whole answer that says close, then the end of the connection, and nothing in between. */
async function onlyAnswer(t: Test, connection: RawConnection, last: Last): Promise<void> {
  const reply = await connection.read({ head: last.head === true })
  t.equal(reply.status, last.status)
  t.equal(reply.header('connection'), 'close')
  const expected = Buffer.from(last.body ?? '')
  // A refusal that is written while a body is coming ends in a line end.
  const body = reply.body.subarray(0, expected.byteLength)
  t.ok(body.equals(expected), 'the answer is whole', { found: body.subarray(0, 100).toString() })
  await connection.ended(1_000)
  t.equal(connection.unread.toString('latin1'), '', 'nothing follows it')
}

for (const [kind, lasts] of [
  ['a refusal of', REFUSALS],
  ['Connection: close on', CLOSES],
] as const) {
  for (const [name, last] of Object.entries(lasts)) {
    test(`what is behind ${kind} ${name} is not run, and the caller gets its whole answer`, async (t) => {
      const { port, effects, ledger, defects } = await bench(t)
      const alone = await connected(t, port, last.bytes)
      await onlyAnswer(t, alone, last)
      const samePacket = await connected(t, port, Buffer.concat([last.bytes, EFFECT]))
      await onlyAnswer(t, samePacket, last)
      const inTwo = await connected(
        t,
        port,
        Buffer.concat([last.bytes, EFFECT.subarray(0, 40)]),
        EFFECT.subarray(40),
      )
      await onlyAnswer(t, inTwo, last)
      const laterPacket = await connected(t, port, last.bytes, EFFECT)
      await onlyAnswer(t, laterPacket, last)
      t.strictSame(effects, [], 'nothing was run')
      await ledger.balanced(4)
      t.equal(ledger.arrived, 4, 'nor counted')
      t.strictSame(defects, [])
    })

    test(`however much is behind ${kind} ${name}, none of it is run and the connection ends`, async (t) => {
      const { port, effects, ledger } = await bench(t)
      const connection = await connected(
        t,
        port,
        Buffer.concat([last.bytes, ...Array<Buffer>(5).fill(EFFECT)]),
      )
      await connection.ended(1_000)
      t.strictSame(effects, [])
      await ledger.balanced()
      t.equal(ledger.arrived, 1)
    })
  }
}

test('a page of uWS is the last answer as well', async (t) => {
  const { port, effects } = await bench(t)
  for (const value of ['abc', '5, 5', '-1', '1'.repeat(25)]) {
    const connection = await connected(
      t,
      port,
      Buffer.concat([post([['Content-Length', value]], 'hello'), EFFECT]),
    )
    const reply = await connection.read()
    t.equal(reply.status, 400, value)
    t.equal(await connection.ended(1_000), 'fin')
  }
  t.strictSame(effects, [])
})

test('an answer that comes later and says close is the last one', async (t) => {
  const { port, effects } = await bench(t)
  const connection = await connected(t, port, get('/late', CLOSE))
  const last = answered(Buffer.alloc(0), 'pong')
  await onlyAnswer(t, connection, last)
  const behind = await connected(t, port, Buffer.concat([get('/late', CLOSE), EFFECT]))
  await behind.ended(1_000)
  t.strictSame(effects, [])
})

const MUCH = { status: 200, body: BIG } as const

test('an answer that is larger than the socket takes at once is whole, and its connection ends', async (t) => {
  const { port, ledger } = await bench(t)
  for (const wish of ['close', 'TE, close']) {
    const bytes = get('/big', ['Connection', wish])
    const connection = await connected(t, port, bytes)
    await onlyAnswer(t, connection, { bytes, ...MUCH })
  }
  await ledger.balanced(2)
})

test('what is behind an answer that the socket has not taken yet cuts it, and is not run', async (t) => {
  const { port, effects } = await bench(t)
  for (const fragments of [[Buffer.concat([get('/huge', CLOSE), EFFECT])], [get('/huge', CLOSE), EFFECT]]) {
    const connection = await pausedReader(t, port, ...fragments)
    await turn()
    connection.resume()
    await connection.ended(1_000)
    t.ok(connection.received < HUGE.byteLength)
  }
  t.strictSame(effects, [])
})

test('a reader that takes its time gets the whole of its last answer', async (t) => {
  const { port, ledger } = await bench(t)
  for (const connectionHeader of ['close', 'TE, close']) {
    const connection = await pausedReader(t, port, get('/huge', ['Connection', connectionHeader]))
    for (let i = 0; i < 50; i++) await turn()
    connection.resume()
    const { body } = await connection.read()
    t.ok(body.equals(HUGE), `all ${HUGE.byteLength} bytes`)
    t.equal(await connection.ended(1_000), 'fin')
  }
  await ledger.balanced(2)
})

for (const target of ['/ping', '/soon', '/late']) {
  test(`what others send in the same turn as the last answer of ${target} is served`, async (t) => {
    const { port, ledger } = await bench(t)
    const others = await Promise.all(Array.from({ length: 8 }, () => connected(t, port)))
    for (let round = 0; round < 20; round++) {
      const leaving = await Promise.all(Array.from({ length: 8 }, () => connected(t, port)))
      await Promise.all(
        leaving.flatMap((one, i) => [
          one.send(Buffer.concat([get(target, CLOSE), ...(target === '/late' ? [] : [EFFECT])])),
          others[i]!.send(Buffer.concat([get('/ping'), get('/ping')])),
        ]),
      )
      for (const other of others) {
        for (let i = 0; i < 2; i++) t.equal((await other.read()).status, 200)
        t.equal(other.ending, null)
      }
      for (const one of leaving) t.equal((await one.read()).status, 200)
    }
    await ledger.balanced()
    t.equal(ledger.arrived, 20 * 8 * 3)
  })
}

test('what others send in the same turn as a last answer that waits for its reader is served', async (t) => {
  const { port } = await bench(t)
  const others = await Promise.all(Array.from({ length: 8 }, () => connected(t, port)))
  for (const wish of ['close', 'TE, close']) {
    for (let round = 0; round < 10; round++) {
      const leaving = await pausedReader(t, port)
      await turn() // it is accepted
      await Promise.all([
        leaving.send(get('/huge', ['Connection', wish])),
        ...others.map((other) => other.send(Buffer.concat([get('/ping'), get('/ping')]))),
      ])
      for (const other of others) {
        for (let i = 0; i < 2; i++) t.equal((await other.read()).status, 200)
        t.equal(other.ending, null)
      }
      leaving.destroy()
    }
  }
})

test('requests in front of the last one are answered, also in one packet', async (t) => {
  const { port, effects } = await bench(t)
  const connection = await connected(
    t,
    port,
    Buffer.concat([EFFECT, get('/ping'), get('/ping', CLOSE), EFFECT]),
  )
  t.equal((await connection.read()).status, 201)
  t.equal((await connection.read()).header('connection'), '')
  await onlyAnswer(t, connection, answered(EFFECT, 'pong'))
  t.strictSame(effects, ['ran'])
})
