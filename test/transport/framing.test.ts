import { test } from 'tap'
import { FramingGuard, type FramingVerdict } from '../../src/transport/framing.js'

interface Case {
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly verdict: FramingVerdict
  readonly behindProxy?: FramingVerdict
  readonly length: number
}

const HOST = ['host', 'a'] as const
const length = (value: string) => ['content-length', value] as const
const coding = (value: string) => ['transfer-encoding', value] as const

const CASES: Record<string, Case> = {
  'a request without a body has the length 0': { fields: [HOST], verdict: 'ok', length: 0 },
  'a declared length is taken': { fields: [HOST, length('5')], verdict: 'ok', length: 5 },
  'zero is a length': { fields: [HOST, length('0')], verdict: 'ok', length: 0 },
  'fifteen digits are a length': {
    fields: [HOST, length('9'.repeat(15))],
    verdict: 'ok',
    length: 999_999_999_999_999,
  },
  'sixteen digits are not': {
    fields: [HOST, length('9'.repeat(16))],
    verdict: 'bad-request',
    length: Number.NaN,
  },
  'a sign is not': { fields: [HOST, length('-1')], verdict: 'bad-request', length: Number.NaN },
  'a list is not, even of equal members': {
    fields: [HOST, length('5, 5')],
    verdict: 'bad-request',
    length: Number.NaN,
  },
  'an empty length is not': { fields: [HOST, length('')], verdict: 'bad-request', length: 0 },
  'an empty length is not made good by another': {
    fields: [HOST, length(''), length('5')],
    verdict: 'bad-request',
    length: Number.NaN,
  },
  'two equal lengths are a repeat': {
    fields: [HOST, length('5'), length('5')],
    verdict: 'bad-request',
    length: Number.NaN,
  },
  'a request without Host is refused': { fields: [], verdict: 'bad-request', length: 0 },
  'an empty Host counts as one': { fields: [['host', '']], verdict: 'ok', length: 0 },
  'a Host with a space is refused': { fields: [['host', 'a b']], verdict: 'bad-request', length: 0 },
  'a Host with user information is refused': {
    fields: [['host', 'user@a']],
    verdict: 'bad-request',
    length: 0,
  },
  'a Host may be an IPv6 address with a port': { fields: [['host', '[::1]:80']], verdict: 'ok', length: 0 },
  'two Hosts are refused': { fields: [HOST, HOST], verdict: 'bad-request', length: 0 },
  'chunks are refused where no strict proxy is declared': {
    fields: [HOST, coding('chunked')],
    verdict: 'length-required',
    behindProxy: 'ok',
    length: -1,
  },
  'the name of the coding has no case': {
    fields: [HOST, coding('CHUNKED')],
    verdict: 'length-required',
    behindProxy: 'ok',
    length: -1,
  },
  'a second coding is refused everywhere': {
    fields: [HOST, coding('gzip, chunked')],
    verdict: 'length-required',
    behindProxy: 'bad-request',
    length: -1,
  },
  'a repeated coding is refused everywhere': {
    fields: [HOST, coding('chunked'), coding('chunked')],
    verdict: 'length-required',
    behindProxy: 'bad-request',
    length: -1,
  },
  'a coding with a length is refused everywhere': {
    fields: [HOST, coding('chunked'), length('5')],
    verdict: 'bad-request',
    length: 5,
  },
  'a broken length is worse than a coding': {
    fields: [HOST, coding('chunked'), length('abc')],
    verdict: 'bad-request',
    length: Number.NaN,
  },
  'two credentials are refused': {
    fields: [HOST, ['authorization', 'a'], ['authorization', 'a']],
    verdict: 'bad-request',
    length: 0,
  },
  'two media types are refused': {
    fields: [HOST, ['content-type', 'a'], ['content-type', 'a']],
    verdict: 'bad-request',
    length: 0,
  },
  'names of the same length are other fields': {
    fields: [
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
    verdict: 'ok',
    length: 0,
  },
}

function judge(guard: FramingGuard, fields: Case['fields']): FramingVerdict {
  guard.reset()
  for (const [name, value] of fields) guard.addField(name, value)
  return guard.verdict()
}

test('the framing guard', async (t) => {
  // One guard for all cases, as on a route: what one request did must not reach the next.
  const strict = new FramingGuard(false)
  const behindProxy = new FramingGuard(true)
  for (const [name, one] of Object.entries(CASES)) {
    t.equal(judge(strict, one.fields), one.verdict, name)
    t.ok(Object.is(strict.bodyLength, one.length), `${name}: length ${strict.bodyLength}`)
    t.equal(judge(behindProxy, one.fields), one.behindProxy ?? one.verdict, `${name}, behind a strict proxy`)
  }
})
