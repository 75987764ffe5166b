import { createServer, type Server, type Socket } from 'node:net'
import { type Test, test } from 'tap'
import { arrivalSchedule } from '../../../bench/harness/http/arrival-schedule.js'
import { HttpLoad, type LoadPlan } from '../../../bench/harness/http/http-load.js'
import { renderRequest } from '../../../bench/harness/http/requests.js'
import { freePort, listen } from '../../support/servers/listen.js'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const BUSY = 'HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n'

type Answer = (socket: Socket, number: number, head: string, server: Server) => void

/** A server that hands every request (a head without a body) to `answer`, with its number from 0. */
async function serve(t: Test, answer: Answer): Promise<number> {
  let number = 0
  const server = createServer({ noDelay: true }, (socket) => {
    let text = ''
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1')
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        const head = text.slice(0, end)
        text = text.slice(end + 4)
        answer(socket, number++, head, server)
      }
    })
  })
  return await listen(t, server)
}

function planFor(port: number, more: Partial<LoadPlan> = {}): LoadPlan {
  const request = renderRequest({ method: 'GET', route: '/x', path: '/x' }, 0)
  return {
    to: { address: '127.0.0.1', port },
    schedule: arrivalSchedule([{ seconds: 0.5, rate: 200 }], 'constant', 1),
    seconds: 0.5,
    connections: 4,
    mostConnections: 1_000,
    timeoutMs: 5_000,
    kinds: ['x'],
    request: () => request,
    ...more,
  }
}

const driven = async (t: Test, answer: Answer, more?: Partial<LoadPlan>) =>
  await new HttpLoad(planFor(await serve(t, answer), more)).run()

/** Load of 100 requests, and what has become of them. */
const COUNTED: Readonly<
  Record<
    string,
    readonly [answer: Answer, counts: object, leastConnections?: number, more?: Partial<LoadPlan>]
  >
> = {
  'every request that is due is sent and answered once': [
    (socket) => socket.write(OK),
    { due: 100, sent: 100, done: 100, lost: 0, cut: 0, statuses: { '200': 100 }, latency: { count: 100 } },
  ],
  'bad statuses are counted as they are': [
    (socket, number) => socket.write(number % 4 === 0 ? BUSY : OK),
    { statuses: { '200': 75, '503': 25 } },
  ],
  'connections that the server resets or closes lose their request, and only theirs': [
    (socket, number) => {
      if (number % 10 === 3) socket.resetAndDestroy()
      else if (number % 10 === 5) socket.end()
      else socket.write(OK)
    },
    { due: 100, done: 80, lost: 20, losses: { reset: 10, closed: 10 } },
  ],
  'an answer that is no HTTP loses its request': [
    (socket, number) => socket.write(number === 7 ? 'nonsense\r\n\r\n' : OK),
    { done: 99, losses: { garbled: 1 } },
  ],
  'a server that closes after every answer is asked over new connections': [
    (socket) => socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok'),
    { done: 100, lost: 0 },
    100,
  ],
  'with so many requests per connection we close it ourselves': [
    (socket) => socket.write(OK),
    { done: 100, lost: 0 },
    20,
    { requestsPerConnection: 5 },
  ],
}

for (const [name, [answer, counts, leastConnections = 1, more]] of Object.entries(COUNTED)) {
  test(name, async (t) => {
    const { figures, partial, seconds } = await driven(t, answer, more)
    t.match(figures, counts)
    t.match({ partial, seconds }, { partial: false, seconds: 0.5 })
    t.ok(figures.connectionsOpened >= leastConnections, `${figures.connectionsOpened} connections`)
  })
}

test('while the server is silent requests go on being sent, and wait from when they were due', async (t) => {
  const held: Socket[] = []
  let begun = 0
  let isReleased = false
  const answer: Answer = (socket) => {
    if (begun === 0) {
      begun = performance.now()
      setTimeout(() => {
        isReleased = true
        for (const waiting of held.splice(0)) waiting.write(OK)
      }, 400)
    }
    if (performance.now() - begun > 100 && !isReleased) held.push(socket)
    else socket.write(OK)
  }
  const { figures } = await driven(t, answer, { connections: 2 })
  t.equal(figures.done, 100)
  // 60 requests are due in the 300 ms, 40 of them more than 100 ms before its end; a slow machine only adds to that.
  const waited = figures.latency.sorted().filter((ms) => ms > 100).length
  t.ok(waited >= 38, `${waited} waited for more than 100 ms`)
  t.ok(figures.latency.quantiles().max >= 280, 'the first of them waited for nearly all of it')
  t.ok(figures.connectionsPeak > 40, `${figures.connectionsPeak} connections`)
})

test('a request without an answer is a sample at the time it was given up', async (t) => {
  const answer: Answer = (socket, number) => {
    if (number !== 10) socket.write(OK)
  }
  const { figures } = await driven(t, answer, { timeoutMs: 2_500 })
  t.equal(figures.done, 99)
  t.match(figures.losses, { timeout: 1 })
  t.equal(figures.latency.count, 100)
  const { max } = figures.latency.quantiles()
  t.ok(max >= 2_500, `given up after ${max} ms`)
})

test('no more connections are opened than allowed: the rest waits, and its latency says so', async (t) => {
  const answer: Answer = (socket) => setTimeout(() => socket.write(OK), 20)
  const { figures } = await driven(t, answer, { connections: 1, mostConnections: 2 })
  t.equal(figures.done, 100)
  t.equal(figures.connectionsPeak, 2)
  // Two connections answer 100 a second, 200 a second are due.
  const late = figures.lateness.quantiles()
  t.ok(late.max > 200, `sent up to ${late.max} ms late`)
})

test('the stamps are the shared clock, in order', async (t) => {
  const seen: bigint[][] = []
  const answer: Answer = (socket, _number, head) => {
    const of = (name: string) => BigInt(new RegExp(`^${name}: (\\d+)$`, 'm').exec(head)![1]!)
    seen.push([of('X-Lab-Due'), of('X-Lab-Sent'), process.hrtime.bigint()])
    socket.write(OK)
  }
  await driven(t, answer, { labHeaders: true })
  t.equal(seen.length, 100)
  t.ok(
    seen.every(([due, sent, now]) => due! <= sent! && sent! <= now! && now! - due! < 30_000_000_000n),
    'due before sent before arrived, by one clock',
  )
})

test('a closed loop asks again when it is answered, on each of its connections', async (t) => {
  const { figures } = await driven(t, (socket) => setTimeout(() => socket.write(OK), 10), {
    schedule: null,
    connections: 5,
    seconds: 2,
  })
  t.equal(figures.connectionsOpened, 5)
  t.equal(figures.done, figures.due)
  t.ok(figures.done > 100 && figures.done <= 1_000, `${figures.done} answers of at most 1,000`)
})

test('an interruption ends the run at once and counts what it cut', async (t) => {
  const port = await serve(t, () => {})
  const load = new HttpLoad(
    planFor(port, { schedule: arrivalSchedule([{ seconds: 60, rate: 100 }], 'constant', 1) }),
  )
  const began = performance.now()
  setTimeout(() => load.interrupt(), 200)
  const { figures, partial, seconds } = await load.run()
  t.ok(performance.now() - began < 5_000)
  t.equal(partial, true)
  t.ok(seconds < 5)
  t.equal(figures.cut, figures.due)
  t.ok(figures.due > 0)
})

test('a server that goes away in the middle does not end the run, and every request has its place', async (t) => {
  const { figures } = await driven(t, (socket, number, _, server) => {
    if (number < 30) socket.write(OK)
    else {
      server.close()
      socket.resetAndDestroy()
    }
  })
  t.equal(figures.due, 100)
  t.equal(figures.done + figures.lost + figures.cut, 100)
  t.ok((figures.losses.refused ?? 0) > 0, JSON.stringify(figures.losses))
})

test('nobody there is said at once', async (t) => {
  const port = await freePort()
  await t.rejects(new HttpLoad(planFor(port)).run(), { message: /nobody accepts connections/ })
})

test('a plan that skips sends nothing while every connection is busy, and counts what it left out', async (t) => {
  // The first request is never answered: the only connection stays busy until the driver gives it up.
  const answer: Answer = (socket, number) => {
    if (number > 0) socket.write(OK)
  }
  const more = { connections: 1, mostConnections: 1, whenBusy: 'skip', timeoutMs: 250 } as const
  const { figures } = await driven(t, answer, more)
  t.equal(figures.due, 100)
  t.ok(figures.skipped > 0)
  t.equal(figures.done + figures.skipped + (figures.losses.timeout ?? 0), 100)
})

test('who wants to see the answers gets them with headers and body, from the start on', async (t) => {
  const port = await serve(t, (socket, number) => socket.write(number % 2 === 0 ? OK : BUSY))
  const seen: string[] = []
  let started = 0
  const plan = planFor(port, {
    onStart: () => started++,
    onAnswer: ({ status, headers, body }, ms) => {
      if (ms < 0) t.fail('an answer before its request')
      seen.push(`${status} ${headers.get('content-length')} ${body}`)
    },
  })
  const { figures, seconds, secondsToLastAnswer } = await new HttpLoad(plan).run()
  t.equal(started, 1)
  t.equal(seen.length, figures.done)
  t.same([...new Set(seen)].sort(), ['200 2 ok', '503 0 '])
  t.ok(secondsToLastAnswer >= seconds)
})
