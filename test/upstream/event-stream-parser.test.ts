import fc from 'fast-check'
import { test } from 'tap'
import { EventStreamParser } from '../../src/upstream/event-stream-parser.js'

type Event = readonly [data: string, event: string]

function read(pieces: readonly (string | Uint8Array)[]): Event[] {
  const events: Event[] = []
  const stream = new EventStreamParser((data, event) => events.push([data, event]))
  for (const piece of pieces) stream.push(Buffer.from(piece))
  return events
}

/** The rules of the WHATWG, read from the whole text at once. */
function naive(bytes: Buffer): Event[] {
  const text = new TextDecoder('utf-8', { ignoreBOM: false }).decode(bytes)
  const lines = text.split(/\r\n|\n|\r/)
  lines.pop()
  const events: Event[] = []
  let data: string[] = []
  let event = ''
  for (const line of lines) {
    if (line === '') {
      if (data.length > 0) events.push([data.join('\n'), event === '' ? 'message' : event])
      data = []
      event = ''
      continue
    }
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (name === 'data') data.push(value)
    if (name === 'event') event = value
  }
  return events
}

/** Events of the usual type. */
const messages = (...data: string[]): Event[] => data.map((each) => [each, 'message'])

const CASES: readonly (readonly [name: string, bytes: string, events: readonly Event[]])[] = [
  ['one event', 'data: {"a":1}\n\n', messages('{"a":1}')],
  ['no space after the colon', 'data:x\n\n', messages('x')],
  ['only one space is taken', 'data:  x \n\n', messages(' x ')],
  ['several at once', 'data: 1\n\ndata: 2\n\ndata: 3\n\n', messages('1', '2', '3')],
  ['lines are joined', 'data: a\ndata\ndata: b\n\n', messages('a\n\nb')],
  ['empty data is an event', 'data\n\ndata:\n\n', messages('', '')],
  ['no data is no event', 'event: x\n\nid: 1\n\n\n\n', []],
  [
    'a type, and gone after it',
    'event: e\ndata: 1\n\ndata: 2\n\n',
    [
      ['1', 'e'],
      ['2', 'message'],
    ],
  ],
  ['a type without a value', 'event: e\nevent\ndata: 1\n\n', messages('1')],
  ['comments are dropped', ': ping\n\n:\n\ndata: 1\n: in between\n\n', messages('1')],
  ['id, retry and unknown fields are dropped', 'id: 7\nretry: 9\nfoo: bar\ndata: 1\n\n', messages('1')],
  ['a field that only begins like data', 'database: 1\ndata x: 2\n\n', []],
  ['CRLF', 'data: 1\r\n\r\ndata: 2\r\n\r\n', messages('1', '2')],
  ['CR', 'data: 1\r\rdata: 2\r\r', messages('1', '2')],
  ['all line ends mixed', 'data: 1\r\ndata: 2\rdata: 3\n\r\ndata: 4\n\n', messages('1\n2\n3', '4')],
  ['a byte order mark', '\ufeffdata: 1\n\n', messages('1')],
  ['a second mark belongs to the field name', '\ufeff\ufeffdata: 1\n\ndata: 2\n\n', messages('2')],
  ['an event without its blank line is none', 'data: 1\n\ndata: 2\n', messages('1')],
  ['characters of every width', 'data: é€😀\n\n', messages('é€😀')],
]

for (const [name, bytes, events] of CASES) {
  test(`${name}, whole and byte by byte`, async (t) => {
    t.same(read([bytes]), events)
    t.same(read([...Buffer.from(bytes)].map((byte) => Uint8Array.of(byte))), events)
    t.same(naive(Buffer.from(bytes)), events, 'the reference reads the same')
  })
}

test('any bytes cut anywhere give the events of the reference', async (t) => {
  const token = fc.constantFrom(
    'data',
    'data:',
    'data: ',
    'event: e',
    ':',
    ' ',
    'x',
    '{"a":"é😀"}',
    '\n',
    '\n\n',
    '\r',
    '\r\n',
    '\ufeff',
    'id: 1',
  )
  const property = fc.property(
    fc.array(token, { maxLength: 40 }),
    fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 30 }),
    (tokens, sizes) => {
      const bytes = Buffer.from(tokens.join(''))
      t.strictSame(read(cut(bytes, sizes)), naive(bytes))
    },
  )
  fc.assert(property, { numRuns: 1_000 })
})

/** Pieces of the given sizes, over and over; empty ones included. */
function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = i > 4 * bytes.length ? bytes.length : sizes[i % sizes.length]!
    pieces.push(bytes.subarray(at, at + size))
    at += size
  }
  return pieces
}

test('what it keeps is a copy, so that borrowed bytes may change', async (t) => {
  const events: string[] = []
  const stream = new EventStreamParser((data) => events.push(data))
  const borrowed = Buffer.from('data: abc')
  stream.push(borrowed)
  borrowed.fill('!')
  stream.push(Buffer.from('def\n\n'))
  t.same(events, ['abcdef'])
})

test('plain byte arrays are read like buffers', async (t) => {
  const events: string[] = []
  const stream = new EventStreamParser((data) => events.push(data))
  const bytes = new TextEncoder().encode('xxdata: 1\n\ndata: 2\r\n\r\n')
  stream.push(bytes.subarray(2))
  t.same(events, ['1', '2'])
})

for (const [name, pieces] of [
  ['in one line', [`data: ${'x'.repeat(200)}`]],
  ['in one line that ends', [`data: ${'x'.repeat(200)}\n\n`]],
  ['in many lines', Array.from({ length: 40 }, () => 'data: x\n')],
  ['in comments without an end', Array.from({ length: 200 }, () => ':')],
] as const) {
  test(`an event that outgrows the limit ${name} stops the reader`, async (t) => {
    const events: string[] = []
    const stream = new EventStreamParser((data) => events.push(data), 100)
    t.ok(stream.push(Buffer.from('data: ok\n\n')))
    t.notOk(pieces.map((piece) => stream.push(Buffer.from(piece))).at(-1))
    stream.push(Buffer.from('\n\ndata: late\n\n'))
    t.same(events, ['ok'])
  })
}

test('events beyond the limit in sum are fine', async (t) => {
  let events = 0
  const stream = new EventStreamParser(() => events++, 100)
  for (let i = 0; i < 100; i++) t.ok(stream.push(Buffer.from(': ping\n\nevent: x\ndata: 12345\n\n')))
  t.equal(events, 100)
})

test('a listener that stops the reader hears nothing more', async (t) => {
  for (const bytes of [
    'data: 1\n\ndata: 2\n\n',
    ': c\ndata: 1\n\ndata: 2\n\n',
    'data: 1\r\n\r\ndata: 2\r\n\r\n',
  ]) {
    const events: string[] = []
    const stream = new EventStreamParser((data) => {
      events.push(data)
      stream.stop()
    })
    t.ok(stream.push(Buffer.from(bytes)))
    stream.push(Buffer.from('data: 3\n\n'))
    t.same(events, ['1'])
  }
})

test('the data of an event that has not ended can be seen', async (t) => {
  const cases = [
    ['data: [DONE]', '[DONE]'],
    ['data: [DONE]\n', '[DONE]'],
    ['data: a\ndata: b', 'a\nb'],
    ['dat', ''],
    ['', ''],
    ['data: 1\n\n', ''],
  ]
  for (const [bytes, unfinished] of cases) {
    const stream = new EventStreamParser(() => {})
    stream.push(Buffer.from(bytes!))
    t.equal(stream.unfinished(), unfinished)
  }
})

test('a long event that trickles in costs no more than its size', async (t) => {
  const events: string[] = []
  const stream = new EventStreamParser((data) => events.push(data))
  const byte = Buffer.from('x')
  stream.push(Buffer.from('data: '))
  const begun = performance.now()
  for (let i = 0; i < 1_000_000; i++) stream.push(byte)
  stream.push(Buffer.from('\n\n'))
  t.equal(events[0]?.length, 1_000_000)
  t.ok(performance.now() - begun < 5_000)
})
