/** What the lab needs of the native edge: a listening socket that closes and comes back, a call that is dropped. */

import { type Test, test } from 'tap'
import type { HttpCall, StreamMeter } from '../../src/transport/exchange.js'
import { connectRaw } from '../support/clients/raw-http.js'
import { freePort } from '../support/servers/listen.js'
import { connected, startEdge, type TestEdge } from '../support/servers/native-edge.js'
import { Ledger, testRoute } from '../support/servers/test-routes.js'
import { eventually } from '../support/timing/eventually.js'

const PONG = { status: 200, headers: [], body: 'pong' } as const

interface Bench extends TestEdge {
  readonly ledger: Ledger
  readonly changes: number[]
  readonly settled: HttpCall[]
}

async function bench(t: Test): Promise<Bench> {
  const ledger = new Ledger()
  const changes: number[] = []
  const settled: HttpCall[] = []
  const count = testRoute(ledger, 'GET', '/', () => PONG).onSettled
  const routes = [
    testRoute(ledger, 'GET', '/ping', () => PONG, {
      onSettled: (...end) => {
        settled.push(end[5])
        count(...end)
      },
    }),
    testRoute(ledger, 'GET', '/drop', (call) => {
      call.disconnect!()
      return new Promise(() => {})
    }),
  ]
  // A socket that took any free port cannot be bound again while its connections live; workers are given theirs.
  const port = await freePort()
  const edge = await startEdge(t, routes, { port, onConnection: (change) => changes.push(change) })
  return Object.assign(edge, { ledger, changes, settled })
}

test('a server that was shut keeps its connections, takes no others, and takes them again', async (t) => {
  const { server, port } = await bench(t)
  const open = await connected(t, port)
  server.stopListening()
  server.stopListening()
  t.equal((await open.ask({ target: '/ping' })).status, 200)
  await t.rejects(connectRaw(port), { code: 'ECONNREFUSED' })
  server.reopen()
  server.reopen()
  const again = await connected(t, port, { target: '/ping' })
  t.equal((await again.read()).status, 200)
  server.drain()
  server.reopen()
  await t.rejects(connectRaw(port), { code: 'ECONNREFUSED' }, 'a drain is for good')
})

test('a dropped call closes its connection without a word and is settled once', async (t) => {
  const { ledger, port, defects } = await bench(t)
  const open = await connected(t, port, { target: '/drop' })
  await open.ended()
  t.equal(open.received, 0)
  await ledger.balanced()
  t.match(ledger.last, { status: 0, aborted: true })
  t.same(defects, [])
})

test('whoever asks is told of connections, and of the call that is settled', async (t) => {
  const { port, changes, settled } = await bench(t)
  const open = await connected(t, port, { target: '/ping' })
  await open.read()
  t.same(changes, [1])
  t.equal(settled.length, 1)
  t.type(settled[0]!.arrivedAt, 'number')
  open.destroy()
  await eventually(() => changes.length === 2)
  t.same(changes, [1, -1])
})

test('a stream is timed chunk by chunk, without its fillers', async (t) => {
  const ledger = new Ledger()
  const told: string[] = []
  const meter: StreamMeter = {
    onChunk: (_arrivedAt, ms, first) => told.push(`${first ? 'first' : 'next'} ${ms >= 0}`),
    onStall: () => told.push('waited'),
    onEnd: (_arrivedAt, chunks) => told.push(`ended ${chunks}`),
  }
  const route = testRoute(
    ledger,
    'GET',
    '/stream',
    () => ({
      status: 200,
      headers: [],
      body: {
        heartbeat: ':\n\n',
        padding: '\n',
        closingFrame: '',
        start: (sink) => {
          sink.write('a')
          setTimeout(() => {
            sink.write('b')
            sink.end()
          }, 300)
        },
      },
    }),
    { stream: meter },
  )
  const { port } = await startEdge(t, [route], { keepAliveMs: 50 })
  const open = await connected(t, port, { target: '/stream' })
  const { body } = await open.read()
  t.match(body.toString(), /^a(:\n\n)+b$/)
  await ledger.balanced()
  t.same(told, ['first true', 'next true', 'ended 2'])
})
