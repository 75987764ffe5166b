// Runs in a process of its own: it measures memory.
import { createServer } from 'node:net'
import { type Test, test } from 'tap'
import type { PhaseTimeouts, UpstreamFailure, UpstreamPhase } from '../../src/upstream/port.js'
import {
  called,
  PATIENT,
  post,
  Recorded,
  testClient,
  upstreamBench,
} from '../support/clients/upstream-calls.js'
import {
  type MockUpstream,
  mockUpstream,
  type Peer,
  type Script,
} from '../support/providers/mock-upstream.js'
import { eventually } from '../support/timing/eventually.js'
import { quickest } from '../support/timing/quickest.js'

/** Where a call can stand: how the server brings it there, and how one sees that it has arrived. */
interface Standing {
  readonly phase: UpstreamPhase
  readonly limit: keyof PhaseTimeouts
  readonly sent: boolean
  readonly script: Script
  readonly there: (recorded: Recorded, mock: MockUpstream) => Promise<unknown>
  readonly origin?: (mock: MockUpstream) => string
}

const STANDINGS: Readonly<Record<string, Standing>> = {
  'in a TLS handshake that is never answered': {
    phase: 'connect',
    limit: 'connectMs',
    sent: false,
    script: () => {},
    there: (_, mock) => eventually(() => mock.peers.length === 1),
    origin: (mock) => mock.origin.replace('http:', 'https:'),
  },
  'waiting for the head': {
    phase: 'headers',
    limit: 'headersMs',
    sent: true,
    script: () => {},
    there: (_, mock) => eventually(() => mock.requests.length === 1),
  },
  'waiting for the first piece': {
    phase: 'first-token',
    limit: 'firstTokenMs',
    sent: true,
    script: (peer) => peer.streamHead(),
    there: (recorded) => recorded.headSeen.opened,
  },
  'in the middle of the body': {
    phase: 'idle',
    limit: 'idleMs',
    sent: true,
    script: (peer) => {
      peer.streamHead()
      peer.chunk('a')
    },
    there: (recorded) => recorded.firstPiece.opened,
  },
}

async function standing(t: Test, { script, there, origin }: Standing, timeouts: PhaseTimeouts = PATIENT) {
  const { mock, client } = await upstreamBench(t, script)
  const recorded = called(client, post(origin?.(mock) ?? mock.origin, { timeouts }))
  await there(recorded, mock)
  return { mock, client, recorded }
}

for (const [name, where] of Object.entries(STANDINGS)) {
  test(`a call cancelled ${name} closes its socket at once and is told nothing`, async (t) => {
    const seenAfter = async (): Promise<number> => {
      const { mock, client, recorded } = await standing(t, where)
      const toldBefore = [...recorded.told]
      const begun = performance.now()
      recorded.call.cancel()
      recorded.call.cancel()
      t.equal(client.inFlight(), 0)
      await mock.peers[0]!.closed()
      const seen = performance.now() - begun
      await eventually(() => client.sockets() === 0)
      t.same(recorded.told, toldBefore)
      t.equal(mock.peers.length, 1, 'and no connection takes its place')
      return seen
    }
    t.ok((await quickest(seenAfter, 500)) < 500, 'the server sees it in milliseconds')
  })

  test(`a call ${name} beyond the limit of the phase fails with its name`, async (t) => {
    const begun = performance.now()
    const { mock, client, recorded } = await standing(t, where, { ...PATIENT, [where.limit]: 150 })
    t.match(await recorded.end.opened, { reason: 'timeout', phase: where.phase, requestSent: where.sent })
    t.ok(performance.now() - begun >= 150, 'not early')
    await mock.peers[0]!.closed()
    await eventually(() => client.sockets() === 0 && client.inFlight() === 0)
  })

  test(`a call ${name} beyond the limit of the whole fails with that`, async (t) => {
    const { client, recorded } = await standing(t, where, { ...PATIENT, totalMs: 2_000 })
    t.match(await recorded.end.opened, { reason: 'timeout', phase: 'total', requestSent: where.sent })
    await eventually(() => client.sockets() === 0)
  })
}

test('a deadline counts like the limit of the whole', async (t) => {
  const { call } = await upstreamBench(t)
  const deadlineAt = performance.now() + 150
  const recorded = call({ deadlineAt })
  t.match(await recorded.end.opened, { reason: 'timeout', phase: 'total' })
  t.ok(performance.now() >= deadlineAt)
})

test('waiting for a connection has the limit of connecting, and what waited is never sent', async (t) => {
  const { mock, call } = await upstreamBench(t)
  const limits = { connections: 1, keepAliveMs: 10_000 }
  const first = call({ limits, body: 'first' })
  await eventually(() => mock.requests.length === 1)
  const late = call({ limits, timeouts: { ...PATIENT, connectMs: 100 } })
  const cancelled = call({ limits })
  cancelled.call.cancel()
  t.match(await late.end.opened, { reason: 'timeout', phase: 'queue', requestSent: false })
  mock.script = (peer) => peer.answer(200, 'x')
  mock.peers[0]!.answer(200, 'x')
  t.equal(await first.end.opened, 'ended')
  t.equal(await call({ limits, body: 'last' }).end.opened, 'ended')
  t.same(
    mock.requests.map((request) => request.body),
    ['first', 'last'],
  )
  t.same(cancelled.told, [])
})

test('a call that waits for a connection beyond the limit of the whole fails for that wait', async (t) => {
  const { call } = await upstreamBench(t)
  const limits = { connections: 1, keepAliveMs: 10_000 }
  call({ limits })
  const late = call({ limits, deadlineAt: performance.now() + 100 })
  late.call.pause()
  t.match(await late.end.opened, { reason: 'timeout', phase: 'queue', requestSent: false })
})

test('connecting has its limit for itself, however long the wait before', async (t) => {
  const { mock, client } = await upstreamBench(t)
  const limits = { connections: 1, keepAliveMs: 10_000 }
  const origin = mock.origin.replace('http:', 'https:')
  const first = called(client, post(origin, { limits }))
  const begun = performance.now()
  const second = called(client, post(origin, { limits, timeouts: { ...PATIENT, connectMs: 2_000 } }))
  await eventually(() => performance.now() - begun >= 1_000)
  // Its successor opens a connection of its own, to a server that never answers the handshake.
  first.call.cancel()
  t.match(await second.end.opened, { reason: 'timeout', phase: 'connect', requestSent: false })
  t.ok(performance.now() - begun >= 3_000)
})

test('a call cancelled before its connection is made opens none that stays', async (t) => {
  const { mock, client, call } = await upstreamBench(t, (peer) => peer.answer(200, 'x'))
  const recorded = call()
  recorded.call.cancel()
  await eventually(() => client.sockets() === 0)
  t.equal(await call().end.opened, 'ended')
  t.equal(mock.requests.length, 1)
  t.same(recorded.told, [])
})

test('pieces that keep coming keep the call alive beyond the idle limit', async (t) => {
  const { call } = await upstreamBench(t, (peer) => {
    peer.streamHead()
    let left = 75
    const timer = setInterval(() => {
      if (left-- > 0) peer.chunk('x')
      else {
        clearInterval(timer)
        peer.endChunks()
      }
    }, 40)
  })
  const recorded = call({ timeouts: { ...PATIENT, idleMs: 1_500 } })
  t.equal(await recorded.end.opened, 'ended')
  t.equal(recorded.text(), 'x'.repeat(75))
})

test('a receiver may cancel from within everything it is told', async (t) => {
  for (const word of ['head', 'data'] as const) {
    const { client, call } = await upstreamBench(t, (peer) => {
      peer.streamHead()
      for (let i = 0; i < 5; i++) peer.chunk('x')
    })
    class Leaving extends Recorded {
      override onHead(...all: Parameters<Recorded['onHead']>): void {
        super.onHead(...all)
        if (word === 'head') this.call.cancel()
      }
      override onData(chunk: Uint8Array): void {
        super.onData(chunk)
        this.call.cancel()
      }
    }
    const recorded = call({}, new Leaving())
    await recorded.headSeen.opened
    await eventually(() => client.sockets() === 0)
    t.equal(recorded.told.at(-1), word)
    t.equal(recorded.told.filter((told) => told === word).length, 1)
  }
})

test('a receiver may cancel another call from within what it is told', async (t) => {
  const { mock, call } = await upstreamBench(t, (peer, request) => {
    peer.streamHead()
    if (request.body === 'first') peer.chunk('x')
  })
  const second = call({ body: 'second' })
  await second.headSeen.opened
  const first = new Recorded()
  first.onData = () => second.call.cancel()
  call({ body: 'first' }, first)
  await eventually(() => mock.open() === 1)
  t.same(second.told, ['head'])
})

// ── Letting go ──────────────────────────────────────────────────────────────

/** A call whose first piece has come, of a server that waits then. */
async function midway(t: Test) {
  const bench = await upstreamBench(t, (peer) => {
    peer.streamHead()
    peer.chunk('a')
  })
  const recorded = bench.call()
  await recorded.firstPiece.opened
  return { ...bench, recorded, peer: bench.mock.peers[0]! }
}

test('a released call tells nothing more, and its connection serves again', async (t) => {
  const { call, mock, client, recorded, peer } = await midway(t)
  recorded.call.release()
  recorded.call.release()
  mock.script = (next) => next.answer(200, 'x')
  peer.chunk('rest')
  peer.endChunks()
  await eventually(() => client.inFlight() === 0)
  t.equal(client.sockets(), 1)
  t.equal(await call().end.opened, 'ended')
  t.equal(mock.peers.length, 1)
  t.same(recorded.told, ['head', 'data'])
})

test('a released call whose rest is long is cut', async (t) => {
  const { client, recorded, peer } = await midway(t)
  recorded.call.release()
  peer.chunk('x'.repeat(200_000))
  await peer.closed()
  await eventually(() => client.sockets() === 0 && client.inFlight() === 0)
})

test('a released call whose rest trickles is cut after a second', async (t) => {
  const { recorded, peer } = await midway(t)
  recorded.call.release()
  const begun = performance.now()
  const trickle = setInterval(() => peer.chunk('x'), 50)
  t.teardown(() => clearInterval(trickle))
  await peer.closed()
  const took = performance.now() - begun
  t.ok(took >= 900 && took < 3_000, `after ${took} ms`)
})

test('a released call cannot be paused any more', async (t) => {
  const { client, recorded, peer } = await midway(t)
  recorded.call.pause()
  recorded.call.release()
  recorded.call.pause()
  peer.chunk('rest')
  peer.endChunks()
  await eventually(() => client.inFlight() === 0)
  t.equal(client.sockets(), 1)
})

// ── Receivers that throw ────────────────────────────────────────────────────

for (const word of ['onHead', 'onData', 'onEnd', 'onFailure'] as const) {
  test(`what a receiver throws in ${word} is told, and its call is over`, async (t) => {
    const mock = await mockUpstream(t, (peer) =>
      word === 'onFailure' ? peer.reset() : peer.answer(200, 'x'),
    )
    const defects: unknown[] = []
    const client = testClient(t, { onDefect: (error) => defects.push(error) })
    const recorded = new Recorded()
    const bug = new Error('bug')
    recorded[word] = () => {
      throw bug
    }
    called(client, post(mock.origin), recorded)
    await eventually(() => defects.length > 0 && client.inFlight() === 0)
    t.same(defects, [bug])
    if (word === 'onHead' || word === 'onData') t.match(await recorded.end.opened, { reason: 'protocol' })
  })
}

// ── Backpressure ────────────────────────────────────────────────────────────

const FLOOD_BYTES = 64 * 1024 * 1024

/** Sends a body of so many bytes as fast as it may; tells how many have been taken from it. */
function flood(peer: Peer, bytes: number, fill: string, written = { bytes: 0 }): void {
  peer.head(200, { 'content-length': String(bytes) })
  const piece = Buffer.alloc(32 * 1024, fill)
  const more = (): void => {
    while (written.bytes < bytes) {
      written.bytes += piece.length
      if (!peer.write(piece)) {
        peer.socket.once('drain', more)
        return
      }
    }
  }
  more()
}

test('a paused call stops the server from writing, stays alive and goes on where it was', async (t) => {
  const written = { bytes: 0 }
  const { call } = await upstreamBench(t, (peer) => flood(peer, FLOOD_BYTES, 'x', written))
  const recorded = new Recorded()
  let taken = 0
  recorded.onData = (chunk) => {
    taken += chunk.length
    recorded.firstPiece.open()
  }
  call({ timeouts: { ...PATIENT, idleMs: 200 } }, recorded)
  await recorded.firstPiece.opened
  recorded.call.pause()
  const memory = process.memoryUsage()
  let seen = -1
  await eventually(async () => {
    const stood = seen === written.bytes
    seen = written.bytes
    await new Promise((resolve) => setTimeout(resolve, 150))
    return stood && seen === written.bytes
  })
  const takenWhilePaused = taken
  t.ok(written.bytes < FLOOD_BYTES / 2, `the server stopped at ${written.bytes} bytes`)
  t.ok(process.memoryUsage().rss - memory.rss < 32 * 1024 * 1024)
  await new Promise((resolve) => setTimeout(resolve, 500))
  t.same(recorded.told, ['head'], 'the idle limit stands still')
  t.equal(taken, takenWhilePaused, 'nothing arrives')
  recorded.call.resume()
  t.equal(await recorded.end.opened, 'ended')
  t.equal(taken, FLOOD_BYTES)
})

test('the limit of the whole stands still while the call is paused', async (t) => {
  const { call } = await upstreamBench(t, (peer) => flood(peer, 1024 * 1024, 'x', { bytes: 0 }))
  const recorded = new Recorded()
  recorded.onData = () => recorded.firstPiece.open()
  const begun = performance.now()
  call({ timeouts: { ...PATIENT, totalMs: 1_000 } }, recorded)
  await recorded.firstPiece.opened
  recorded.call.pause()
  await eventually(() => performance.now() - begun >= 1_500)
  t.same(recorded.told, ['head'])
  recorded.call.resume()
  t.equal(await recorded.end.opened, 'ended')
})

test('pausing before the head holds the body back', async (t) => {
  const { call } = await upstreamBench(t, (peer) => peer.answer(200, 'x'.repeat(1000)))
  const recorded = call()
  recorded.call.pause()
  await recorded.headSeen.opened
  t.same(recorded.told, ['head'])
  recorded.call.resume()
  t.equal(await recorded.end.opened, 'ended')
})

test('pausing and resuming at random, also from within other calls, loses nothing', async (t) => {
  const bytes = 4 * 1024 * 1024
  const { call } = await upstreamBench(t, (peer, request) => flood(peer, bytes, request.body))
  const all = [0, 1, 2, 3].map(() => new Recorded())
  const sums = [0, 0, 0, 0]
  all.forEach((recorded, i) => {
    recorded.onData = (chunk) => {
      sums[i]! += chunk.length
      if (chunk.some((byte) => byte !== 48 + i)) t.fail('a piece of another call')
      recorded.call.pause()
      all[(i + 1) % 4]!.call.resume()
      setImmediate(() => recorded.call.resume())
    }
  })
  all.forEach((recorded, i) => call({ body: String(i) }, recorded))
  for (const recorded of all) t.equal(await recorded.end.opened, 'ended')
  t.same(sums, [bytes, bytes, bytes, bytes])
})

// ── Many ────────────────────────────────────────────────────────────────────

test('three hundred calls left in any phase leave no socket, and the others get their own answers', async (t) => {
  const { mock, client, call } = await upstreamBench(t, (peer, request) => {
    const { tag, fate } = JSON.parse(request.body) as { tag: number; fate: string }
    if (fate === 'silent') return
    peer.streamHead()
    if (fate === 'head') return
    peer.chunk(`<${tag}>`)
    if (fate === 'whole') peer.endChunks()
  })
  const limits = { connections: 60, keepAliveMs: 10_000 }
  const fates = ['silent', 'head', 'middle', 'whole', 'queued'] as const
  const calls = Array.from({ length: 300 }, (_, tag) => {
    const fate = fates[tag % fates.length]!
    const body = JSON.stringify({ tag, fate: fate === 'queued' ? 'silent' : fate })
    const recorded = call({ limits, body })
    if (fate === 'queued') recorded.call.cancel()
    if (fate === 'head') void recorded.headSeen.opened.then(() => recorded.call.cancel())
    if (fate === 'middle') void recorded.firstPiece.opened.then(() => recorded.call.cancel())
    if (fate === 'silent') setTimeout(() => recorded.call.cancel(), 20 + (tag % 50))
    return { recorded, fate, tag }
  })
  for (const { recorded, fate, tag } of calls) {
    if (fate !== 'whole') continue
    t.equal(await recorded.end.opened, 'ended')
    t.equal(recorded.text(), `<${tag}>`)
  }
  await eventually(() => client.inFlight() === 0)
  await client.close()
  t.equal(client.sockets(), 0)
  await eventually(() => mock.open() === 0)
})

test('a server that answers on the wrong connection is never believed', async (t) => {
  const rogue = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n'
      socket.write(`${answer}a${answer}b`)
    })
  })
  await new Promise<void>((resolve) => rogue.listen(0, '127.0.0.1', resolve))
  t.teardown(() => rogue.close())
  const client = testClient(t)
  const origin = `http://127.0.0.1:${(rogue.address() as { port: number }).port}`
  for (let i = 0; i < 3; i++) {
    const recorded = called(client, post(origin))
    const end = (await recorded.end.opened) as 'ended' | UpstreamFailure
    if (end === 'ended') t.equal(recorded.text(), 'a')
  }
})
