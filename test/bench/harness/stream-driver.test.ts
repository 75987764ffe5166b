import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'tap'
import { isComplete, type StreamOutcome } from '../../../bench/harness/sse/checked-stream.js'
import { StreamConnection } from '../../../bench/harness/sse/stream-connection.js'
import { streamEvents } from '../../../bench/performance/gateway/mock-answers.js'
import { tagOf } from '../../../bench/performance/gateway/mock-models.js'

const MODEL = 'bench/stream-5-tagged'
const TAG = tagOf(7)
const EXPECTED = { tokens: 5, tag: TAG }
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n'

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString()
const EVENTS = streamEvents(MODEL, 5, TAG).map(textOf)

/** Each text as an HTTP chunk of its own. */
const chunked = (parts: readonly string[]): string =>
  parts.map((part) => `${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`).join('')

const answer = (parts: readonly string[]): string => `${HEAD}${chunked(parts)}0\r\n\r\n`

/** What the driver says of an answer that arrives as these pieces; the server then closes when `closes`. */
async function driven(pieces: readonly string[], closes = false): Promise<StreamOutcome> {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => {})
    socket.once('data', async () => {
      for (const piece of pieces) await new Promise((written) => socket.write(piece, written))
      if (closes) socket.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const connection = await StreamConnection.open((server.address() as AddressInfo).port)
  const outcome = await connection!.call(Buffer.from('a request'), TAG)
  connection!.leave()
  server.close()
  return outcome
}

test('a whole stream is complete', async (t) => {
  const outcome = await driven([answer(EVENTS)])
  t.ok(isComplete(outcome, EXPECTED))
  t.match(outcome, { status: 200, tokens: 5, disordered: 0, crossed: 0, terminated: true, lost: null })
})

test('a stream is complete however it is cut into pieces and chunks', async (t) => {
  const bytewise = answer(EVENTS).split('')
  const chunksAcross = `${HEAD}${chunked(EVENTS.join('').match(/[\s\S]{1,37}/g)!)}0\r\n\r\n`
  const oneChunk = answer([EVENTS.join('')])
  for (const [name, pieces] of Object.entries({
    bytewise,
    chunksAcross: [chunksAcross],
    oneChunk: [oneChunk],
  })) {
    t.ok(isComplete(await driven(pieces), EXPECTED), name)
  }
})

test('comments between events are no fault', async (t) => {
  t.ok(isComplete(await driven([answer([': waiting\n\n', ...EVENTS])]), EXPECTED))
})

interface Fault {
  readonly name: string
  readonly pieces: readonly string[]
  readonly closes?: boolean
  readonly says: Partial<StreamOutcome>
}

const WITHOUT_DONE = EVENTS.slice(0, -1)
const FAULTS: readonly Fault[] = [
  { name: 'the terminator is missing', pieces: [answer(WITHOUT_DONE)], says: { terminated: false } },
  {
    name: 'the terminator comes twice',
    pieces: [answer([...EVENTS, EVENTS.at(-1)!])],
    says: { terminated: false },
  },
  {
    name: 'the finish reason is missing',
    pieces: [answer(EVENTS.filter((event) => !event.includes('"stop"')))],
    says: { terminated: false },
  },
  {
    name: 'a token is missing',
    pieces: [answer(EVENTS.toSpliced(2, 1))],
    says: { tokens: 4, disordered: 1 },
  },
  {
    name: 'a token comes twice',
    pieces: [answer(EVENTS.toSpliced(2, 0, EVENTS[2]!))],
    says: { tokens: 6, disordered: 1 },
  },
  {
    name: 'a token is of another request',
    pieces: [answer(EVENTS.with(2, EVENTS[2]!.replace(TAG, tagOf(8))))],
    says: { crossed: 1 },
  },
  {
    name: 'the connection closes in the middle',
    pieces: [answer(EVENTS).slice(0, 900)],
    closes: true,
    says: { lost: 'closed' },
  },
  {
    name: 'the framing has no end',
    pieces: [`${HEAD}${chunked(EVENTS)}`],
    closes: true,
    says: { terminated: true, lost: 'closed' },
  },
  {
    name: 'the call is refused',
    pieces: ['HTTP/1.1 429 Too Many Requests\r\nContent-Length: 9\r\n\r\ntoo much!'],
    says: { status: 429, tokens: 0, lost: null, refusalText: 'too much!' },
  },
  { name: 'the bytes are no HTTP', pieces: ['hello\r\n\r\n'], says: { status: 0, lost: 'garbled' } },
]

for (const { name, pieces, closes, says } of FAULTS) {
  test(`a stream is not complete when ${name}`, async (t) => {
    const outcome = await driven(pieces, closes)
    t.notOk(isComplete(outcome, EXPECTED))
    t.match(outcome, says)
  })
}

test('a caller that leaves ends its call as aborted', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const connection = await StreamConnection.open((server.address() as AddressInfo).port)
  const call = connection!.call(Buffer.from('a request'), '')
  connection!.leave()
  t.equal((await call).lost, 'aborted')
  t.notOk(connection!.usable)
  server.close()
})

test('a port where nobody listens gives no connection', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  t.equal(await StreamConnection.open(port), null)
})
