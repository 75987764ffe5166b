import { test } from 'tap'
import { type ConnectionEnd, FramingGuard } from '../../src/transport/framing.js'

type Verdict = 'ok' | 'bad-request'
type Fields = readonly (readonly [name: string, value: string])[]

/** The declared length, NaN where it is broken, -1 where the body comes in chunks. */
type Case = readonly [fields: Fields, verdict: Verdict, length: number]

const HOST = ['host', 'a'] as const
const length = (value: string) => ['content-length', value] as const
const coding = (value: string) => ['transfer-encoding', value] as const

const CASES: Record<string, Case> = {
  'a request without a body has the length 0': [[HOST], 'ok', 0],
  'a declared length is taken': [[HOST, length('5')], 'ok', 5],
  'zero is a length': [[HOST, length('0')], 'ok', 0],
  'fifteen digits are a length': [[HOST, length('9'.repeat(15))], 'ok', 999_999_999_999_999],
  'sixteen digits are not': [[HOST, length('9'.repeat(16))], 'bad-request', NaN],
  'a sign is not': [[HOST, length('-1')], 'bad-request', NaN],
  'a list is not, even of equal members': [[HOST, length('5, 5')], 'bad-request', NaN],
  'an empty length is not': [[HOST, length('')], 'bad-request', 0],
  'an empty length is not made good by another': [[HOST, length(''), length('5')], 'bad-request', NaN],
  'two equal lengths are a repeat': [[HOST, length('5'), length('5')], 'bad-request', NaN],
  'a request without Host is refused': [[], 'bad-request', 0],
  'an empty Host counts as one': [[['host', '']], 'ok', 0],
  'a Host with a space is refused': [[['host', 'a b']], 'bad-request', 0],
  'a Host with user information is refused': [[['host', 'user@a']], 'bad-request', 0],
  'a Host may be an IPv6 address with a port': [[['host', '[::1]:80']], 'ok', 0],
  'two Hosts are refused': [[HOST, HOST], 'bad-request', 0],
  'chunks are taken': [[HOST, coding('chunked')], 'ok', -1],
  'the name of the coding has no case': [[HOST, coding('CHUNKED')], 'ok', -1],
  'a second coding is refused': [[HOST, coding('gzip, chunked')], 'bad-request', -1],
  'another coding is refused': [[HOST, coding('identity')], 'bad-request', -1],
  'a coding with a byte of 0x80 and above is refused': [[HOST, coding('chunked\xff')], 'bad-request', -1],
  'a repeated coding is refused': [[HOST, coding('chunked'), coding('chunked')], 'bad-request', -1],
  'a coding with a length is refused': [[HOST, coding('chunked'), length('5')], 'bad-request', 5],
  'a broken length is worse than a coding': [[HOST, coding('chunked'), length('abc')], 'bad-request', NaN],
  'two credentials are refused': [[HOST, ['authorization', 'a'], ['authorization', 'a']], 'bad-request', 0],
  'two media types are refused': [[HOST, ['content-type', 'a'], ['content-type', 'a']], 'bad-request', 0],
  'two API keys are refused': [[HOST, ['x-api-key', 'a'], ['x-api-key', 'b']], 'bad-request', 0],
  'a credential and an API key are not': [[HOST, ['authorization', 'a'], ['x-api-key', 'b']], 'ok', 0],
  'a field without a name is refused': [[HOST, ['', 'a']], 'bad-request', 0],
  'names of the same length are other fields': [
    [
      HOST,
      ['etag', 'a'],
      ['etag', 'b'],
      ['x-auth-token', 'a'],
      ['x-auth-token', 'b'],
      ['x-first-value', 'a'],
      ['x-first-value', 'b'],
      ['x-second-value', 'a'],
      ['x-second-value', 'b'],
      ['x-seventeen-bytes', 'a'],
    ],
    'ok',
    0,
  ],
}

function feed(guard: FramingGuard, fields: Fields): void {
  guard.reset()
  for (const [name, value] of fields) guard.addField(name, value)
}

test('the framing guard', async (t) => {
  // One guard for all cases, as on a route: what one request did must not reach the next.
  for (const guard of [new FramingGuard(false), new FramingGuard(true)]) {
    for (const [name, [fields, verdict, length]] of Object.entries(CASES)) {
      feed(guard, fields)
      t.equal(guard.isBroken(), verdict === 'bad-request', name)
      t.ok(Object.is(guard.bodyLength, length), `${name}: length ${guard.bodyLength}`)
    }
  }
})

const connection = (...values: string[]): Fields => [
  HOST,
  ...values.map((value) => ['connection', value] as const),
]
const CHUNKED: Fields = [HOST, coding('chunked')]

const ENDS: Record<string, readonly [fields: Fields, end: ConnectionEnd, behindProxy?: ConnectionEnd]> = {
  'a request that says nothing keeps the connection': [[HOST], 'none'],
  'keep-alive keeps it': [connection('keep-alive'), 'none'],
  'the word is read by uWS as well': [connection('close'), 'native'],
  'any five letters are the word for uWS': [connection('abcde'), 'native'],
  'within a list it is ours to end': [connection('TE, close'), 'ours'],
  'in a second field it is ours to end, because uWS reads the first': [
    connection('keep-alive', 'close'),
    'ours',
  ],
  'the word is not taken back': [connection('close', 'keep-alive'), 'native'],
  'a word that only begins so is another': [connection('closed'), 'none'],
  'a body in chunks is the last, unless a strict proxy has parsed it': [CHUNKED, 'ours', 'none'],
  'a body in chunks with the word': [[...CHUNKED, ['connection', 'close']], 'native'],
}

test('who ends the connection', async (t) => {
  for (const [name, [fields, end, behindProxy = end]] of Object.entries(ENDS)) {
    for (const [strictProxy, expected] of [
      [false, end],
      [true, behindProxy],
    ] as const) {
      const guard = new FramingGuard(strictProxy)
      feed(guard, fields)
      t.equal(guard.connectionEnd, expected, name)
    }
  }
})
