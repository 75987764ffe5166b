import fc from 'fast-check'
import { test } from 'tap'
import {
  MalformedResponse,
  ResponseFraming,
  ResponseHead,
} from '../../../bench/harness/http/response-framing.js'

const SIZED = 'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nhello world!'
const CHUNKED =
  'HTTP/1.1 503 Gone\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\n'
const EMPTY = 'HTTP/1.1 204 No Content\r\n\r\n'
const INTERIM = `HTTP/1.1 100 Continue\r\n\r\n${SIZED}`

const CASES: readonly (readonly [string, string, status: number, bodyBytes: number, closes: boolean])[] = [
  ['a length', SIZED, 200, 12, false],
  ['chunks', CHUNKED, 503, 15, true],
  ['no body', EMPTY, 204, 0, false],
  ['a length of 0', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', 200, 0, false],
  ['an interim answer before', INTERIM, 200, 12, false],
]

for (const [name, text, ...says] of CASES) {
  test(`an answer with ${name} ends where it ends, however it is cut`, async (t) => {
    const bytes = Buffer.from(text)
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: bytes.length - 1 }), { maxLength: 6 }), (places) => {
        const cuts = [0, ...places.sort((a, b) => a - b), bytes.length]
        const framing = new ResponseFraming()
        const ends = cuts.slice(1).map((to, i) => framing.feed(bytes.subarray(cuts[i]!, to)))
        t.same([framing.status, framing.bodyBytes, framing.closes], says)
        // Complete once, with the last piece that holds anything.
        return ends.filter(Boolean).length === 1
      }),
      { numRuns: 100 },
    )
  })
}

test('two answers of one connection are told apart', async (t) => {
  const framing = new ResponseFraming()
  t.equal(framing.feed(Buffer.from(SIZED)), true)
  t.equal(framing.feed(Buffer.from(EMPTY)), true)
  t.equal(framing.status, 204)
})

test('an answer without a length ends with its connection', async (t) => {
  const framing = new ResponseFraming()
  t.equal(framing.feed(Buffer.from('HTTP/1.1 200 OK\r\n\r\nsome')), false)
  t.equal(framing.endedByClose(), true)
  t.equal(framing.bodyBytes, 4)
  t.equal(framing.closes, true)
  t.equal(new ResponseFraming().endedByClose(), false)
})

test('what is no answer is refused', async (t) => {
  const wrong = [
    'SSH-2.0-OpenSSH_9.2\r\n\r\n',
    'HTTP/1.1 abc\r\n\r\n',
    `${SIZED}more`,
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    `HTTP/1.1 200 OK\r\n${'x'.repeat(70_000)}`,
    'HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc',
    'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 3 or so\r\n\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n',
    'HTTP/1.1 200 OK\r\nno field\r\n\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n123456789\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nTrailer: no\r\n\r\n',
  ]
  for (const text of wrong) {
    const fault = t.throws(() => new ResponseFraming().feed(Buffer.from(text)))
    t.ok(fault instanceof MalformedResponse, JSON.stringify(text.slice(0, 40)))
  }
})

test('the parts of an answer are told, its body without the framing', async (t) => {
  const bytes = Buffer.from(`${INTERIM.slice(0, INTERIM.indexOf(SIZED))}${CHUNKED}`)
  for (let size = 1; size <= bytes.length; size++) {
    const heads: ResponseHead[] = []
    let body = ''
    const framing = new ResponseFraming({
      head: (head) => heads.push(head),
      data: (from, start, end) => {
        body += from.toString('latin1', start, end)
      },
    })
    for (let at = 0; at < bytes.length; at += size) framing.feed(bytes.subarray(at, at + size))
    if (body !== 'hello0123456789' || heads.length !== 1 || heads[0]!.status !== 503)
      t.fail(`pieces of ${size}`)
  }
  t.pass('whatever the size of the pieces')
})

test('an answer to HEAD has no body, whatever length it tells', async (t) => {
  const framing = new ResponseFraming()
  framing.toHeadRequest = true
  t.equal(framing.feed(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n')), true)
  t.equal(framing.bodyBytes, 0)
})

test('a head tells its fields in order, repeated ones joined', async (t) => {
  const head = new ResponseHead(
    'HTTP/1.1 404 Not Found\r\nVary: a\r\nX-Other:  1 \r\nvary: b\r\nConnection: x, Close',
    false,
  )
  const first = { version: 'HTTP/1.1', status: 404, reason: 'Not Found' }
  t.match(head, { ...first, framing: 'until-close', closes: true })
  t.same(head.fields.slice(0, 3), [
    ['vary', 'a'],
    ['x-other', '1'],
    ['vary', 'b'],
  ])
  t.equal(head.header('vary'), 'a, b')
  t.equal(head.header('absent'), '')
  t.throws(
    () => new ResponseHead('HTTP/1.1 200 OK\r\nbad name: 1', false).fields,
    new MalformedResponse('no header field: "bad name: 1"'),
  )
})
