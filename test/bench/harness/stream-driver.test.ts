import { createServer, type Server } from 'node:net'
import { type Test, test } from 'tap'
import { isComplete, type StreamOutcome } from '../../../bench/harness/sse/checked-streams.js'
import { StreamConnection } from '../../../bench/harness/sse/stream-connection.js'
import { streamEvents } from '../../../bench/performance/gateway/mock-answers.js'
import { tagOf } from '../../../bench/performance/gateway/mock-models.js'
import { freePort, listen } from '../../support/servers/listen.js'

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

async function opened(t: Test, server: Server): Promise<StreamConnection> {
  return (await StreamConnection.open(await listen(t, server)))!
}

/** What the driver says of an answer that arrives as these pieces; the server then closes when `closes`. */
async function driven(t: Test, pieces: readonly string[], closes = false): Promise<StreamOutcome> {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.once('data', async () => {
      for (const piece of pieces) await new Promise((written) => socket.write(piece, written))
      if (closes) socket.end()
    })
  })
  const connection = await opened(t, server)
  const outcome = await connection.call(Buffer.from('a request'), TAG)
  connection.leave()
  return outcome
}

test('a whole stream is complete', async (t) => {
  const outcome = await driven(t, [answer(EVENTS)])
  t.ok(isComplete(outcome, EXPECTED))
  t.match(outcome, { status: 200, tokens: 5, disordered: 0, crossed: 0, terminated: true, lost: null })
})

test('a stream is complete however it is cut into pieces and chunks', async (t) => {
  const cuts = {
    bytewise: answer(EVENTS).split(''),
    chunksAcross: [`${HEAD}${chunked(EVENTS.join('').match(/[\s\S]{1,37}/g)!)}0\r\n\r\n`],
    oneChunk: [answer([EVENTS.join('')])],
  }
  for (const [name, pieces] of Object.entries(cuts)) {
    t.ok(isComplete(await driven(t, pieces), EXPECTED), name)
  }
})

test('comments between events are no fault', async (t) => {
  t.ok(isComplete(await driven(t, [answer([': waiting\n\n', ...EVENTS])]), EXPECTED))
})

const WITHOUT_DONE = EVENTS.slice(0, -1)
type Fault = readonly [
  name: string,
  pieces: readonly string[],
  says: Partial<StreamOutcome>,
  closes?: boolean,
]

const FAULTS: readonly Fault[] = [
  ['the terminator is missing', [answer(WITHOUT_DONE)], { terminated: false }],
  ['the terminator comes twice', [answer([...EVENTS, EVENTS.at(-1)!])], { terminated: false }],
  [
    'the finish reason is missing',
    [answer(EVENTS.filter((event) => !event.includes('"stop"')))],
    { terminated: false },
  ],
  ['a token is missing', [answer(EVENTS.toSpliced(2, 1))], { tokens: 4, disordered: 1 }],
  ['a token comes twice', [answer(EVENTS.toSpliced(2, 0, EVENTS[2]!))], { tokens: 6, disordered: 1 }],
  [
    'a token is of another request',
    [answer(EVENTS.with(2, EVENTS[2]!.replace(TAG, tagOf(8))))],
    { crossed: 1 },
  ],
  ['the connection closes in the middle', [answer(EVENTS).slice(0, 900)], { lost: 'closed' }, true],
  ['the framing has no end', [`${HEAD}${chunked(EVENTS)}`], { terminated: true, lost: 'closed' }, true],
  [
    'the call is refused',
    ['HTTP/1.1 429 Too Many Requests\r\nContent-Length: 9\r\n\r\ntoo much!'],
    { status: 429, tokens: 0, lost: null, refusalText: 'too much!' },
  ],
  ['the bytes are no HTTP', ['hello\r\n\r\n'], { status: 0, lost: 'garbled' }],
]

for (const [name, pieces, says, closes] of FAULTS) {
  test(`a stream is not complete when ${name}`, async (t) => {
    const outcome = await driven(t, pieces, closes)
    t.notOk(isComplete(outcome, EXPECTED))
    t.match(outcome, says)
  })
}

test('a caller that leaves ends its call as aborted', async (t) => {
  const connection = await opened(
    t,
    createServer((socket) => socket.resume()),
  )
  const call = connection.call(Buffer.from('a request'), '')
  connection.leave()
  t.equal((await call).lost, 'aborted')
  t.notOk(connection.usable)
})

test('a port where nobody listens gives no connection', async (t) => {
  t.equal(await StreamConnection.open(await freePort()), null)
})
