/** Reused connections that the server has closed, and interim answers (contract/decisions 42, 43). */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createTlsServer } from 'node:https'
import { test } from 'tap'
import type { UpstreamFailure } from '../../src/upstream/port.js'
import { called, post, testClient, upstreamBench } from '../support/clients/upstream-calls.js'
import type { Peer } from '../support/providers/mock-upstream.js'
import { TLS_FILES, testCertificate } from '../support/tls/tls-files.js'

const ENDINGS = [
  ['resets', (peer: Peer) => peer.reset()],
  ['closes', (peer: Peer) => peer.cut()],
] as const

/** Answers the first call of each connection, and `then` the second one. */
function onReuse(then: (peer: Peer) => void): (peer: Peer) => void {
  return (peer) => (peer.requests === 1 ? peer.answer(200, 'x') : then(peer))
}

for (const [how, end] of ENDINGS) {
  test(`a call whose reused connection the server ${how} goes out once more, on a fresh one`, async (t) => {
    const { mock, client, call } = await upstreamBench(t, onReuse(end))
    await call().end.opened
    const recorded = call({ body: 'again' })
    t.equal(await recorded.end.opened, 'ended')
    t.same(recorded.told, ['head', 'data', 'ended'])
    t.same(
      mock.requests.map(({ body }) => body),
      ['{}', 'again', 'again'],
    )
    t.equal(mock.peers.length, 2)
    t.equal(client.inFlight(), 0)
    t.equal(client.sockets(), 1)
  })

  test(`a call whose fresh connection the server ${how} has failed`, async (t) => {
    const { mock, call } = await upstreamBench(t, end)
    t.match(await call().end.opened, { reason: 'reset', requestSent: true })
    t.equal(mock.requests.length, 1)
  })

  test(`a call that may not be repeated fails when the server ${how} its reused connection`, async (t) => {
    const { mock, call } = await upstreamBench(t, onReuse(end))
    await call().end.opened
    t.match(await call({ repeatable: false }).end.opened, { reason: 'reset', requestSent: true })
    t.equal(mock.requests.length, 2)
  })
}

test('once a byte of an answer has come, the call is not repeated', async (t) => {
  for (const bytes of ['H', 'HTTP/1.1 200 OK\r\ncontent-le', 'HTTP/1.1 103 Early Hints\r\n\r\n']) {
    const { mock, call } = await upstreamBench(
      t,
      onReuse((peer) => {
        peer.write(bytes)
        peer.cut()
      }),
    )
    await call().end.opened
    const end = (await call().end.opened) as UpstreamFailure
    t.ok(end.requestSent, JSON.stringify(bytes))
    t.equal(mock.requests.length, 2)
  }
})

test('the second connection is a fresh one, also where other reused ones are idle, and within the limit', async (t) => {
  const held: Peer[] = []
  const { mock, client, call } = await upstreamBench(t, (peer) => {
    if (peer.requests > 1) peer.reset()
    else if (mock.peers.length < 3) {
      held.push(peer)
      if (held.length === 2) for (const each of held) each.answer(200, 'x')
    } else peer.answer(200, 'x')
  })
  const limits = { connections: 2, keepAliveMs: 10_000 }
  await Promise.all([call({ limits }), call({ limits })].map(({ end }) => end.opened))
  t.equal(await call({ limits }).end.opened, 'ended')
  t.equal(mock.peers.length, 3)
  t.ok(client.sockets() <= 2)
})

test('a call is repeated once, and when nobody is there any more it was sent all the same', async (t) => {
  const { mock, call } = await upstreamBench(
    t,
    onReuse((peer) => {
      void mock.close()
      peer.reset()
    }),
  )
  await call().end.opened
  t.match(await call().end.opened, { requestSent: true })
  t.equal(mock.requests.length, 2)
})

test('a body that is read while it is sent is read anew', async (t) => {
  const { mock, call } = await upstreamBench(
    t,
    onReuse((peer) => peer.reset()),
  )
  await call().end.opened
  let reads = 0
  async function* read(): AsyncIterable<Uint8Array> {
    reads++
    yield Buffer.from('ab')
    yield Buffer.from('cd')
  }
  const headers = ['content-type', 'text/plain', 'content-length', '4']
  t.equal(await call({ headers, body: { read } }).end.opened, 'ended')
  t.equal(reads, 2)
  t.equal(mock.requests.at(-1)!.body, 'abcd')
})

test('a caller that leaves while its call is repeated leaves no connection behind', async (t) => {
  const { mock, client, call } = await upstreamBench(t, (peer) => {
    if (mock.peers.length === 1) onReuse((each) => each.reset())(peer)
  })
  await call().end.opened
  const recorded = call()
  while (mock.requests.length < 3) await new Promise((resolve) => setImmediate(resolve))
  recorded.call.cancel()
  t.equal(client.inFlight(), 0)
  await mock.peers[1]!.closed()
  t.equal(client.sockets(), 0)
})

const INTERIM: readonly (readonly [what: string, bytes: string])[] = [
  ['100', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ['102', 'HTTP/1.1 102 Processing\r\n\r\n'],
  ['103', 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'],
  ['100 and 103', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'],
  ['five of 100', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(5)],
]

for (const [what, bytes] of INTERIM) {
  test(`an answer after an interim ${what} is that answer, also on the next call of the connection`, async (t) => {
    const { mock, call } = await upstreamBench(t, (peer) => {
      peer.write(bytes)
      peer.answer(200, 'late')
    })
    for (let calls = 0; calls < 3; calls++) {
      const recorded = call()
      t.equal(await recorded.end.opened, 'ended')
      t.equal(recorded.text(), 'late')
    }
    t.equal(mock.peers.length, 1)
  })
}

test('a long answer may come in one piece with the interim one before it', async (t) => {
  const long = 'a'.repeat(40_000)
  const { call } = await upstreamBench(t, (peer) => {
    const interim = 'HTTP/1.1 100 Continue\r\n\r\n'
    peer.write(`${interim}HTTP/1.1 200 OK\r\ncontent-length: ${long.length}\r\n\r\n${long}`)
  })
  const recorded = call()
  t.equal(await recorded.end.opened, 'ended')
  t.equal(recorded.text(), long)
})

test('interim answers and the answer may come in pieces of any size', async (t) => {
  for (const size of [1, 2, 7, 12, 13]) {
    const { call } = await upstreamBench(t, (peer) => {
      const answer =
        'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\na: b\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nlate'
      const drip = (at: number): void => {
        if (at >= answer.length) return
        peer.socket.write(answer.slice(at, at + size), () => setImmediate(drip, at + size))
      }
      drip(0)
    })
    const recorded = call()
    t.equal(await recorded.end.opened, 'ended', `pieces of ${size}`)
    t.equal(recorded.text(), 'late')
  }
})

test('interim answers without an end are no answer', async (t) => {
  const { call } = await upstreamBench(t, (peer) => {
    peer.write(`HTTP/1.1 103 Early Hints\r\n${`a: ${'b'.repeat(100)}\r\n`.repeat(400)}`)
  })
  t.match(await call().end.opened, { reason: 'too-large' })
})

test('interim answers are skipped over TLS as well', async (t) => {
  const files = { key: readFileSync(TLS_FILES.keyFile), cert: readFileSync(TLS_FILES.certFile) }
  const server = createTlsServer(files, (_, response) => {
    response.writeContinue()
    response.writeProcessing()
    response.end('late')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as { readonly port: number }
  const client = testClient(t, { authorities: testCertificate() })
  const recorded = called(client, post(`https://localhost:${port}`))
  t.equal(await recorded.end.opened, 'ended')
  t.equal(recorded.text(), 'late')
})
