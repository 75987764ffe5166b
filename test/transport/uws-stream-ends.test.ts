import { type Test, test } from 'tap'
import { askRaw, turn } from '../support/clients/raw-http.js'
import { connected } from '../support/servers/native-edge.js'
import {
  event,
  FILLER,
  LAST_WORDS,
  listening,
  type Producer,
  produce,
  streamBench,
  type Told,
} from '../support/servers/stream-bench.js'
import { eventually } from '../support/timing/eventually.js'
import { quickest } from '../support/timing/quickest.js'

test('a stream that says nothing says its filler, again and again', async (t) => {
  const keepAliveMs = 300
  const all = await streamBench(t, { start: () => {}, options: { keepAliveMs } })
  const started = performance.now()
  const connection = await listening(t, all)
  await connection.readHead()
  for (let i = 1; i <= 3; i++) {
    t.equal(String(await connection.chunk(2_000)), FILLER)
    t.ok(performance.now() - started >= keepAliveMs * i - 20, 'not before the silence is over')
  }
})

test('the head of a stream leaves with its first bytes', async (t) => {
  const all = await streamBench(t, { start: () => {} })
  const connection = await listening(t, all)
  await turn()
  t.notMatch(connection.unread.toString(), /\r\n\r\n/, 'uWS ends the head with the first write')
  all.producers[0]!.sink.write('first')
  t.equal((await connection.readHead()).status, 200)
  t.equal(String(await connection.chunk()), 'first')
})

test('a stream that speaks says no filler', async (t) => {
  // Where the process is kept from its core for as long as a silence may last, the stream is silent indeed: once more.
  for (let tries = 0; tries < 5; tries++) {
    const { text, longestMs } = await ticked(t)
    if (longestMs >= KEEP_ALIVE_MS - 100) continue
    t.notMatch(text, /filler/)
    return
  }
  t.fail('the machine was too slow to tell')
})

const KEEP_ALIVE_MS = 600

/** A stream that says something every tenth of a second, fifteen times, and the longest time in which it said nothing. */
async function ticked(t: Test): Promise<{ text: string; longestMs: number }> {
  const all = await streamBench(t, { start: () => {}, options: { keepAliveMs: KEEP_ALIVE_MS } })
  const connection = await listening(t, all)
  const { sink } = all.producers[0]!
  let [longestMs, last] = [0, performance.now()]
  const ticker = setInterval(() => {
    sink.write('tick\n\n')
    longestMs = Math.max(longestMs, performance.now() - last)
    last = performance.now()
  }, 100)
  t.teardown(() => clearInterval(ticker))
  await connection.readHead()
  let text = ''
  while (text.length < 15 * 'tick\n\n'.length) text += await connection.chunk()
  clearInterval(ticker)
  return { text, longestMs }
}

test('a stream without a filler stays silent', async (t) => {
  const all = await streamBench(t, {
    start: () => {},
    filler: '',
    options: { keepAliveMs: 50 },
    deadlineMs: 1_000,
  })
  const connection = await listening(t, all)
  await connection.readHead()
  t.equal(String(await connection.chunk()), LAST_WORDS)
})

for (const late of [false, true]) {
  const how = late ? 'started late' : 'started at once'
  test(`a stream over its deadline ends with its last words (${how})`, async (t) => {
    const all = await streamBench(t, {
      start: ({ sink }) => void sink.write('first\n\n'),
      deadlineMs: 400,
      late,
    })
    const connection = await listening(t, all)
    const reply = await connection.read()
    t.equal(reply.text, `first\n\n${LAST_WORDS}`)
    await all.ledger.balanced()
    t.match(all.ledger.last, { status: 200, bytesOut: reply.body.byteLength, aborted: true })
    t.equal(all.producers[0]!.gone, 1)
    t.equal(all.producers[0]!.sink.write('more'), true, 'what comes later is dropped')
    all.producers[0]!.sink.end()
    await connection.send({ target: '/ping' })
    t.equal((await connection.read()).text, 'pong', 'and the connection is still well framed')
    t.equal(all.ledger.arrived, 2)
  })
}

test('a stream without last words just ends', async (t) => {
  const all = await streamBench(t, {
    start: ({ sink }) => void sink.write('first'),
    lastWords: '',
    deadlineMs: 300,
  })
  const connection = await listening(t, all)
  t.equal((await connection.read()).text, 'first')
})

test('a reader that stops is cut after its time, without an end that would look whole', async (t) => {
  const sendTimeoutMs = 600
  const most = sendTimeoutMs + 1_500
  const cutAfter = async (): Promise<number> => {
    const told: Told = { refusals: 0 }
    const start = produce(100_000, 64_000, told, (go) => go())
    const all = await streamBench(t, { start, options: { sendTimeoutMs } })
    const connection = await connected(t, all.port)
    connection.pause()
    const started = performance.now()
    await connection.send({ target: '/stream' })
    await eventually(() => told.refusals > 0)
    await all.ledger.balanced()
    const took = performance.now() - started
    t.ok(took >= sendTimeoutMs - 5, `cut after ${took} ms`)
    t.match(all.ledger.last, { status: 200, aborted: true })
    t.equal(all.producers[0]!.gone, 1)
    connection.resume()
    await t.rejects(connection.read(), 'the body has no end')
    t.equal(all.server.inFlight(), 0)
    return took
  }
  t.ok((await quickest(cutAfter, most)) < most, 'and soon after it')
})

for (const how of ['reset', 'destroy', 'finish'] as const) {
  test(`a caller that leaves in mid-stream (${how}) is told to the producer once`, async (t) => {
    const all = await streamBench(t, { start: ({ sink }) => void sink.write('first') })
    const connection = await listening(t, all)
    await connection.readHead()
    t.equal(String(await connection.chunk()), 'first')
    connection[how]()
    const producer = all.producers[0]!
    await eventually(() => producer.gone > 0, 1_000)
    await all.ledger.balanced()
    t.match(all.ledger.last, { status: 200, bytesOut: 5, aborted: true })
    t.equal(producer.sink.write('more'), true, 'what comes later is dropped')
    producer.sink.end()
    await turn()
    t.equal(producer.gone, 1)
    t.equal(all.ledger.settlements.length, 1)
    let late = 0
    producer.sink.onAbort(() => late++)
    t.equal(late, 1, 'who asks later hears at once')
    t.equal(all.server.inFlight(), 0)
    t.strictSame(all.defects, [])
  })
}

const DEFECTS: Record<string, (producer: Producer) => void> = {
  'while it starts': () => {
    throw new Error('on purpose')
  },
  'while it is told to go on': ({ sink }) => {
    sink.onDrain(() => {
      throw new Error('on purpose')
    })
    while (sink.write(event(0))) {
      // Until the reader is behind.
    }
  },
  'while it is told that its caller has gone': (producer) => {
    producer.sink.onAbort(() => {
      throw new Error('on purpose')
    })
    producer.sink.write('first')
  },
}

for (const [when, start] of Object.entries(DEFECTS)) {
  test(`a producer that throws ${when} loses its call and nothing else`, async (t) => {
    const all = await streamBench(t, { start, deadlineMs: 1_000 })
    const connection = await connected(t, all.port, { target: '/stream' })
    await connection.ended(3_000)
    await all.ledger.balanced()
    t.match(all.ledger.last, { aborted: true })
    t.equal(all.ledger.arrived, 1)
    t.match(all.defects, [{ message: 'on purpose' }])
    t.equal(all.defects.length, 1)
    t.equal((await askRaw(all.port, { target: '/ping' })).status, 200)
    t.equal(all.server.inFlight(), 0)
  })
}
