import { readFileSync } from 'node:fs'
import { createServer as createTlsServer } from 'node:https'
import { Socket } from 'node:net'
import { inspect } from 'node:util'
import { test } from 'tap'
import type { UpstreamFailure } from '../../src/upstream/port.js'
import { turn } from '../support/clients/raw-http.js'
import { called, post, testClient, upstreamBench } from '../support/clients/upstream-calls.js'
import type { Peer, Script } from '../support/providers/mock-upstream.js'
import { freePort } from '../support/servers/listen.js'
import { eventually } from '../support/timing/eventually.js'
import { TLS_FILES, testCertificate } from '../support/tls/tls-files.js'

test('a call arrives as it was given, and its answer comes back', async (t) => {
  const { mock, call } = await upstreamBench(t, (peer) => peer.answer(201, 'hello', { 'Retry-After': '3' }))
  const headers = ['content-type', 'text/plain', 'accept-encoding', 'identity', 'x-one', '1']
  const recorded = call({ path: '/a?b=c', headers, body: 'é' })
  t.same(recorded.told, [], 'nothing is told before the call has returned')
  t.equal(await recorded.end.opened, 'ended')
  t.equal(recorded.status, 201)
  t.equal(recorded.headers['retry-after'], '3')
  t.equal(recorded.text(), 'hello')
  const [request] = mock.requests
  t.equal(request!.method, 'POST')
  t.equal(request!.path, '/a?b=c')
  t.equal(request!.body, 'é')
  const names = request!.rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase())
  t.same(names.sort(), ['accept-encoding', 'connection', 'content-length', 'content-type', 'host', 'x-one'])
})

test('bodies may be bytes, or absent', async (t) => {
  const { call } = await upstreamBench(t, (peer, request) =>
    peer.answer(200, `${request.method} ${request.body}`),
  )
  const bytes = new TextEncoder().encode('xxbytes').subarray(2)
  for (const [extra, text] of [
    [{ body: bytes }, 'POST bytes'],
    [{ body: null }, 'POST '],
    [{ method: 'GET', body: null }, 'GET '],
  ] as const) {
    const recorded = call(extra)
    t.equal(await recorded.end.opened, 'ended')
    t.equal(recorded.text(), text)
  }
})

test('redirects are an answer like any other', async (t) => {
  const { mock, call } = await upstreamBench(t, (peer) =>
    peer.answer(302, '', { location: 'http://127.0.0.1:1/' }),
  )
  const recorded = call()
  t.equal(await recorded.end.opened, 'ended')
  t.equal(recorded.status, 302)
  t.equal(mock.requests.length, 1)
})

test('an early hint before the answer is passed over', async (t) => {
  const { call } = await upstreamBench(t, (peer) => {
    peer.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n')
    peer.answer(200, 'late')
  })
  const recorded = call()
  t.equal(await recorded.end.opened, 'ended')
  t.same(recorded.told, ['head', 'data', 'ended'])
})

test('calls one after another use one connection', async (t) => {
  const { mock, client, call } = await upstreamBench(t, (peer) => peer.answer(200, 'x'))
  for (let i = 0; i < 5; i++) t.equal(await call().end.opened, 'ended')
  t.equal(mock.peers.length, 1)
  t.equal(client.sockets(), 1)
  t.equal(client.inFlight(), 0)
})

test('a call made while an answer ends may use its connection', async (t) => {
  const { mock, client } = await upstreamBench(t, (peer) => peer.answer(200, 'x'))
  let left = 20
  await new Promise<void>((resolve) => {
    const next = (): void => {
      if (left-- === 0) resolve()
      else
        client.call(post(mock.origin), {
          onHead() {},
          onData() {},
          onEnd: next,
          onFailure: (f) => t.fail(f.reason),
        })
    }
    next()
  })
  t.equal(mock.peers.length, 1)
})

test('a server that closes after each answer is called on a new connection each time', async (t) => {
  const { mock, client, call } = await upstreamBench(t, (peer) => {
    peer.answer(200, 'x', { connection: 'close' })
    peer.cut()
  })
  for (let i = 0; i < 5; i++) t.equal(await call().end.opened, 'ended')
  t.equal(mock.peers.length, 5)
  await eventually(() => client.sockets() === 0)
})

test('every socket sends without delay and probes after a minute', async (t) => {
  const noDelay = t.capture(Socket.prototype, 'setNoDelay', Socket.prototype.setNoDelay)
  const keepAlive = t.capture(Socket.prototype, 'setKeepAlive', Socket.prototype.setKeepAlive)
  const { call } = await upstreamBench(t, (peer) => peer.answer(200, 'x'))
  await call().end.opened
  const [own] = keepAlive()
  t.same(own?.args, [true, 60_000])
  t.ok(noDelay().some(({ receiver, args }) => receiver === own?.receiver && args[0] === true))
})

test('an idle connection is closed after its time, and its pool is forgotten', async (t) => {
  const { mock, client, call } = await upstreamBench(t, (peer) => peer.answer(200, 'x'))
  const limits = { connections: 10, keepAliveMs: 50 }
  await call({ limits }).end.opened
  await eventually(() => client.sockets() === 0 && mock.open() === 0)
  t.equal(await call({ limits }).end.opened, 'ended', 'and is opened again')
})

test('a connection that the server has closed meanwhile is not used', async (t) => {
  const { mock, call } = await upstreamBench(t, (peer) => peer.answer(200, 'x'))
  await call().end.opened
  mock.peers[0]!.cut()
  await mock.peers[0]!.closed()
  t.equal(await call().end.opened, 'ended')
  t.equal(mock.peers.length, 2)
})

test('beyond the connections of an origin calls wait, in order', async (t) => {
  const held: (() => void)[] = []
  const { mock, client, call } = await upstreamBench(t, (peer, request) =>
    held.push(() => peer.answer(200, request.body)),
  )
  const limits = { connections: 2, keepAliveMs: 10_000 }
  const calls = ['a', 'b', 'c', 'd'].map((body) => call({ limits, body }))
  await eventually(() => held.length === 2)
  t.equal(client.inFlight(), 4)
  t.equal(client.sockets(), 2)
  calls[2]!.call.cancel()
  t.equal(client.inFlight(), 3, 'one that waits can be taken back')
  held[0]!()
  await eventually(() => held.length === 3)
  held[1]!()
  held[2]!()
  for (const i of [0, 1, 3]) t.equal(await calls[i]!.end.opened, 'ended')
  t.same(
    mock.requests.map((request) => request.body),
    ['a', 'b', 'd'],
  )
  t.equal(mock.peers.length, 2)
})

test('callers who wait for a connection get theirs in turn, however many calls of one wait', async (t) => {
  const held: (() => void)[] = []
  const { mock, call } = await upstreamBench(t, (peer, request) =>
    held.push(() => peer.answer(200, request.body)),
  )
  const limits = { connections: 1, keepAliveMs: 10_000 }
  const calls = ['a1', 'a2', 'a3', 'a4', 'b1'].map((body) => call({ limits, body, caller: body[0]! }))
  for (let served = 0; served < calls.length; served++) {
    await eventually(() => held.length > served)
    held[served]!()
  }
  for (const one of calls) t.equal(await one.end.opened, 'ended')
  t.same(
    mock.requests.map((request) => request.body),
    ['a1', 'a2', 'b1', 'a3', 'a4'],
  )
})

test('the last tenth of the connections is for callers who hold less than half of them', async (t) => {
  const { mock, call } = await upstreamBench(t)
  const limits = { connections: 20, keepAliveMs: 10_000 }
  const greedy = Array.from({ length: 25 }, () => call({ limits, body: 'greedy', caller: 'a' }))
  await eventually(() => mock.requests.length === 18)
  call({ limits, body: 'b', caller: 'b' })
  call({ limits, body: 'c', caller: 'c' })
  await eventually(() => mock.requests.length === 20)
  t.same(
    mock.requests
      .slice(18)
      .map((request) => request.body)
      .sort(),
    ['b', 'c'],
  )
  for (const one of greedy.slice(0, 2)) one.call.cancel()
  await turn()
  t.equal(mock.requests.length, 20, 'who is beyond its part waits for as many to come free')
  greedy[2]!.call.cancel()
  await eventually(() => mock.requests.length === 21)
  t.equal(mock.requests[20]!.body, 'greedy')
})

test('calls that are nobody’s have all connections: whoever makes them shares them', async (t) => {
  const { mock, call } = await upstreamBench(t)
  for (let n = 0; n < 20; n++) call({ limits: { connections: 20, keepAliveMs: 10_000 }, caller: '' })
  t.equal(await eventually(() => mock.requests.length === 20), true)
})

test('who waits because of how many it holds goes on as soon as it may, not when a connection comes free', async (t) => {
  const { mock, call } = await upstreamBench(t)
  const limits = { connections: 40, keepAliveMs: 10_000 }
  for (let n = 0; n < 18; n++) for (const caller of ['a', 'b']) call({ limits, caller, body: caller })
  call({ limits, caller: 'a', body: 'waits' })
  await eventually(() => mock.requests.length === 36)
  call({ limits, caller: 'c', body: 'c' })
  await eventually(() => mock.requests.length === 38)
  t.same(
    mock.requests
      .slice(36)
      .map(({ body }) => body)
      .sort(),
    ['c', 'waits'],
  )
})

test('a waiting call goes on when the connection it waits for breaks', async (t) => {
  const { call } = await upstreamBench(t, (peer, request) =>
    request.body === 'bad' ? peer.reset() : peer.answer(200, 'x'),
  )
  const limits = { connections: 1, keepAliveMs: 10_000 }
  const bad = call({ limits, body: 'bad' })
  const good = call({ limits })
  t.match(await bad.end.opened, { reason: 'reset', requestSent: true })
  t.equal(await good.end.opened, 'ended')
})

test('other limits are another pool', async (t) => {
  const { mock, client, call } = await upstreamBench(t)
  call({ limits: { connections: 1, keepAliveMs: 1_000 } })
  call({ limits: { connections: 1, keepAliveMs: 2_000 } })
  call({ limits: { connections: 1, keepAliveMs: 2_000 } })
  await eventually(() => mock.requests.length === 2)
  t.equal(client.sockets(), 2)
})

test('https is spoken with a certificate that is trusted, and refused with another', async (t) => {
  const server = createTlsServer(
    { key: readFileSync(TLS_FILES.keyFile), cert: readFileSync(TLS_FILES.certFile) },
    (_, response) => response.end('secret'),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const origin = `https://localhost:${(server.address() as { port: number }).port}`
  const trusting = testClient(t, { authorities: testCertificate() })
  for (let i = 0; i < 2; i++) {
    const recorded = called(trusting, post(origin))
    t.equal(await recorded.end.opened, 'ended')
    t.equal(recorded.text(), 'secret')
  }
  const failure = await called(testClient(t), post(origin)).end.opened
  t.match(failure, { reason: 'refused', phase: 'connect', requestSent: false })
})

// ── Failures ────────────────────────────────────────────────────────────────

const raw =
  (bytes: string, end: (peer: Peer) => void = () => {}): Script =>
  (peer) => {
    if (bytes !== '') peer.write(bytes)
    end(peer)
  }
const streaming =
  (piece: string, end: (peer: Peer) => void): Script =>
  (peer) => {
    peer.streamHead()
    if (piece !== '') peer.chunk(piece)
    end(peer)
  }
const cut = (peer: Peer): void => peer.cut()
const reset = (peer: Peer): void => peer.reset()

const HEAD = 'HTTP/1.1 200 OK\r\n'
const BOTH_FRAMINGS = 'content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'

type Fault = readonly [
  name: string,
  script: Script,
  reason: UpstreamFailure['reason'] | null,
  phase: UpstreamFailure['phase'] | null,
  told: string[],
]

const FAULTS: readonly Fault[] = [
  ['a reset before the head', raw('', reset), 'reset', 'headers', []],
  ['a close before the head', raw('', cut), 'reset', 'headers', []],
  ['half a head', raw(`${HEAD}conte`, cut), 'reset', 'headers', []],
  ['no HTTP', raw('SSH-2.0-OpenSSH\r\n\r\n'), 'protocol', 'headers', []],
  ['both framings at once', raw(HEAD + BOTH_FRAMINGS), null, 'headers', []],
  ['a head that never ends', raw(`${HEAD}x: ${'y'.repeat(40_000)}`), 'too-large', 'headers', []],
  ['a cut before the first piece', streaming('', cut), 'reset', 'first-token', ['head']],
  ['a reset in the middle', streaming('a', (peer) => setImmediate(reset, peer)), 'reset', null, ['head']],
  [
    'a length that is not reached',
    raw(`${HEAD}content-length: 10\r\n\r\nabc`, cut),
    'reset',
    'idle',
    ['head', 'data'],
  ],
  [
    'a chunk size that is none',
    streaming('', (peer) => peer.write('zz\r\n')),
    'protocol',
    'first-token',
    ['head'],
  ],
]

for (const [name, script, reason, phase, told] of FAULTS) {
  test(`${name} fails the call`, async (t) => {
    const { mock, client, call } = await upstreamBench(t, script)
    const recorded = call()
    const failure = { ...(reason !== null && { reason }), ...(phase !== null && { phase }) }
    t.match(await recorded.end.opened, { requestSent: true, ...failure })
    t.same(recorded.told.slice(0, told.length), told)
    t.equal(recorded.told.filter((word) => word === 'failed').length, 1)
    t.equal(client.inFlight(), 0)
    await eventually(() => client.sockets() === 0 && mock.open() === 0)
    t.equal(mock.peers.length, 1, 'nothing is tried again')
  })
}

test('a failure carries none of the bytes of the answer', async (t) => {
  const { call } = await upstreamBench(t, (peer) => peer.write('CANARY-4711 not HTTP\r\n\r\n'))
  const failure = await call().end.opened
  t.notMatch(inspect(failure, { depth: 9, showHidden: true }), /CANARY/)
})

test('a refused connection fails in a later turn, and nothing was sent', async (t) => {
  const client = testClient(t)
  const recorded = called(client, post(`http://127.0.0.1:${await freePort()}`))
  t.same(recorded.told, [])
  t.match(await recorded.end.opened, { reason: 'refused', phase: 'connect', requestSent: false })
  await eventually(() => client.sockets() === 0)
  t.equal(client.inFlight(), 0)
})

test('a name that does not exist is a refusal', async (t) => {
  const recorded = called(testClient(t), post('http://nowhere.invalid:1'))
  t.match(await recorded.end.opened, { reason: 'refused', requestSent: false })
})

for (const [name, extra] of [
  ['an origin that is none', { origin: 'nonsense' }],
  ['a header with a line end', { headers: ['x', 'a\r\nb: c'] }],
  ['a path with a space', { path: '/a b' }],
] as const) {
  test(`${name} fails in a later turn, and nothing was sent`, async (t) => {
    const { mock, client, call } = await upstreamBench(t)
    const recorded = call(extra)
    t.same(recorded.told, [])
    const failure = (await recorded.end.opened) as UpstreamFailure
    t.equal(failure.requestSent, false)
    t.equal(mock.requests.length, 0)
    t.equal(client.inFlight(), 0)
  })
}

// ── Closing ─────────────────────────────────────────────────────────────────

test('closing fails what is under way or waits, and closes every socket', async (t) => {
  const { mock, client, call } = await upstreamBench(t, (peer) => peer.streamHead())
  const limits = { connections: 2, keepAliveMs: 10_000 }
  const calls = [1, 2, 3].map(() => call({ limits }))
  await calls[0]!.headSeen.opened
  await calls[1]!.headSeen.opened
  await client.close()
  for (const { end } of calls) t.match(await end.opened, { reason: 'closing' })
  t.match(await calls[2]!.end.opened, { requestSent: false })
  t.equal(client.sockets(), 0)
  await eventually(() => mock.open() === 0)
  const late = call()
  t.match(await late.end.opened, { reason: 'closing', requestSent: false })
  t.equal(mock.requests.length, 2)
  await client.close()
})

test('idle connections are closed too', async (t) => {
  const { mock, client, call } = await upstreamBench(t, (peer) => peer.answer(200, 'x'))
  await call().end.opened
  await client.close()
  t.equal(client.sockets(), 0)
  await mock.peers[0]!.closed()
})
