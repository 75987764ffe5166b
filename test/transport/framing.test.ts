import { test } from 'tap'
import { FramingGuard, type FramingVerdict } from '../../src/transport/framing.js'

type Fields = readonly (readonly [name: string, value: string])[]

/** The declared length, NaN where it is broken; and the verdict behind a strict proxy where that is another. */
type Case = readonly [fields: Fields, verdict: FramingVerdict, length: number, behindProxy?: FramingVerdict]

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
  'chunks are refused where no strict proxy is declared': [
    [HOST, coding('chunked')],
    'length-required',
    -1,
    'ok',
  ],
  'the name of the coding has no case': [[HOST, coding('CHUNKED')], 'length-required', -1, 'ok'],
  'a second coding is refused everywhere': [
    [HOST, coding('gzip, chunked')],
    'length-required',
    -1,
    'bad-request',
  ],
  'a repeated coding is refused everywhere': [
    [HOST, coding('chunked'), coding('chunked')],
    'length-required',
    -1,
    'bad-request',
  ],
  'a coding with a length is refused everywhere': [[HOST, coding('chunked'), length('5')], 'bad-request', 5],
  'a broken length is worse than a coding': [[HOST, coding('chunked'), length('abc')], 'bad-request', NaN],
  'two credentials are refused': [[HOST, ['authorization', 'a'], ['authorization', 'a']], 'bad-request', 0],
  'two media types are refused': [[HOST, ['content-type', 'a'], ['content-type', 'a']], 'bad-request', 0],
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

function judge(guard: FramingGuard, fields: Fields): FramingVerdict {
  guard.reset()
  for (const [name, value] of fields) guard.addField(name, value)
  return guard.verdict()
}

test('the framing guard', async (t) => {
  // One guard for all cases, as on a route: what one request did must not reach the next.
  const strict = new FramingGuard(false)
  const behindProxy = new FramingGuard(true)
  for (const [name, [fields, verdict, length, proxied = verdict]] of Object.entries(CASES)) {
    t.equal(judge(strict, fields), verdict, name)
    t.ok(Object.is(strict.bodyLength, length), `${name}: length ${strict.bodyLength}`)
    t.equal(judge(behindProxy, fields), proxied, `${name}, behind a strict proxy`)
  }
})
