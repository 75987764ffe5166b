/** How the calls of a provider fail, whatever its format: what its caller sees, and that nothing stays open. */
import { inspect } from 'node:util'
import { test } from 'tap'
import { transportFailure } from '../../../../src/gateway/providers/port/failure.js'
import type { FailureClass, ProviderFailure } from '../../../../src/gateway/providers/port/provider.js'
import { API_KEY } from '../../../support/clients/openai-calls.js'
import { PATIENT } from '../../../support/clients/upstream-calls.js'
import {
  BROKEN,
  broken,
  CONTEXT_TOO_LONG,
  checkFailure,
  type ExpectedFailure,
  INVALID_REQUEST,
  overloaded,
  POLICY_VIOLATION,
  RATE_LIMITED,
  refused,
  TOO_LARGE,
  timedOut,
} from '../../../support/providers/expected-failures.js'
import { refusing as refusingTyped } from '../../../support/providers/mock-anthropic.js'
import type { Peer, Script } from '../../../support/providers/mock-upstream.js'
import { PROVIDER_FORMATS, type ProviderFormat } from '../../../support/providers/provider-formats.js'
import { freePort } from '../../../support/servers/listen.js'
import { eventually } from '../../../support/timing/eventually.js'

const HOW = ['complete', 'stream'] as const

type Case = readonly [name: string, script: Script, expected: ExpectedFailure]

const refusing =
  (status: number, body: unknown = {}, headers: Readonly<Record<string, string>> = {}): Script =>
  (peer) =>
    peer.json(body, status, headers)
const error = (message: string, code?: unknown, type?: string): unknown => ({
  error: { message, code, type },
})

/** Refusals that say in their type what they are; none of them shows its words. */
const TYPED: readonly (readonly [type: string, ExpectedFailure])[] = [
  ['authentication_error', refused(401)],
  ['billing_error', refused(402)],
  ['permission_error', refused(403)],
  ['not_found_error', refused(404)],
  ['request_too_large', TOO_LARGE],
  ['rate_limit_error', RATE_LIMITED],
  ['api_error', refused(500)],
  ['timeout_error', timedOut(504)],
  ['overloaded_error', { ...overloaded('refused'), retryAfter: 1 }],
]

/** What `Retry-After` says, and the seconds that are believed. */
const WAITS: readonly (readonly [text: string, seconds: number])[] = [
  ['0', 1],
  ['1.2', 2],
  ['86400', 3600],
  ['soon', 1],
  ['Wed, 21 Oct 2015 07:28:00 GMT', 1],
  ['Wed, 21 Oct 2099 07:28:00 GMT', 3600],
]

const REFUSALS: readonly Case[] = [
  [
    '400',
    refusing(400, error('tools[0] is bad', null, 'invalid_request_error')),
    {
      ...INVALID_REQUEST,
      code: 'invalid_request_error',
      raw: 'tools[0] is bad',
      note: 'The provider rejected the request',
    },
  ],
  ['400 without a reason', refusing(400), { ...INVALID_REQUEST, code: '400', raw: undefined }],
  [
    '400 for the context, by code',
    refusing(400, error('too much', 'context_length_exceeded')),
    { ...CONTEXT_TOO_LONG, code: 'context_length_exceeded', raw: 'too much' },
  ],
  [
    '400 for the context, by words',
    refusing(400, error("This model's maximum context length is 4096 tokens.")),
    CONTEXT_TOO_LONG,
  ],
  [
    '400 for the context, by other words',
    refusing(400, error('prompt is too long: 210000 tokens > 200000 maximum', null, 'invalid_request_error')),
    CONTEXT_TOO_LONG,
  ],
  ['400 for the content', refusing(400, error('no', 'content_policy_violation')), POLICY_VIOLATION],
  [
    '400 for the content, by words',
    refusing(
      400,
      error('The response was filtered due to the prompt triggering our content management policy'),
    ),
    POLICY_VIOLATION,
  ],
  [
    '401',
    refusing(401, error('Incorrect API key', 'invalid_api_key')),
    { ...refused(401), code: 'invalid_api_key', raw: undefined },
  ],
  ...[402, 403, 404, 502].map((status): Case => [`${status}`, refusing(status), refused(status)]),
  ['408', refusing(408), timedOut(408)],
  ['413', refusing(413), TOO_LARGE],
  [
    '422',
    refusing(422, error('no such voice')),
    { kind: 'unprocessable', type: 'unprocessable', class: 'refused', status: 422, raw: 'no such voice' },
  ],
  [
    '429 with seconds',
    refusing(429, error('slow down', 'rate_limit'), { 'retry-after': '7' }),
    { ...RATE_LIMITED, code: 'rate_limit', retryAfter: 7, raw: undefined },
  ],
  ['429 without', refusing(429), { ...RATE_LIMITED, retryAfter: 1 }],
  ...WAITS.map(
    ([text, retryAfter]): Case => [
      `429 with ${text}`,
      refusing(429, {}, { 'retry-after': text }),
      { ...RATE_LIMITED, retryAfter },
    ],
  ),
  ['500', refusing(500, error('CANARY stack')), { ...refused(500), code: '500', raw: undefined }],
  [
    '503',
    refusing(503, {}, { 'retry-after': '3' }),
    { kind: 'unavailable', type: 'provider_overloaded', class: 'refused', status: 503, retryAfter: 3 },
  ],
  ['504', refusing(504), timedOut(504)],
  ['529', refusing(529), overloaded('refused')],
  ['a redirect', refusing(307, {}, { location: 'http://127.0.0.1:1/' }), { ...refused(307), code: '307' }],
  [
    'a redirect without a body',
    (peer) => peer.answer(302, '', { location: 'http://127.0.0.1:1/' }),
    { ...refused(302), code: '302' },
  ],
  [
    'a page',
    (peer) => peer.answer(502, '<html>CANARY</html>', { 'content-type': 'text/html' }),
    { ...refused(502), code: '502' },
  ],
  [
    'an error that is a text',
    refusing(400, { error: 'plain words' }),
    { ...INVALID_REQUEST, raw: 'plain words' },
  ],
  [
    'an error in a list',
    refusing(400, [error('listed', 400)]),
    { ...INVALID_REQUEST, code: '400', raw: 'listed' },
  ],
  [
    'an error without its wrapping',
    refusing(400, { message: 'bare', type: 'BadRequestError' }),
    { ...INVALID_REQUEST, code: 'BadRequestError', raw: 'bare' },
  ],
  [
    'a code that is a sentence',
    refusing(400, error('m', 'not a word at all')),
    { ...INVALID_REQUEST, code: '400' },
  ],
  ['a code that is our credential', refusing(500, error('m', API_KEY)), { ...refused(500), code: '500' }],
  [
    'an error body that is cut',
    (peer) => {
      peer.head(429, { 'content-length': '100', 'retry-after': '5' })
      peer.write('{"err')
      peer.cut()
    },
    { ...RATE_LIMITED, retryAfter: 5 },
  ],
  ['an error body without an end', endless(500), refused(500)],
  ...TYPED.map(
    ([type, expected]): Case => [
      `${expected.status} with ${type}`,
      refusingTyped(expected.status, type, 'CANARY words'),
      { ...expected, code: type, raw: undefined },
    ],
  ),
]

function endless(status: number): Script {
  return (peer) => {
    peer.head(status, { 'content-length': '100000000' })
    const more = (): void => {
      while (!peer.socket.destroyed && peer.write('x'.repeat(10_000)));
      peer.socket.once('drain', more)
    }
    more()
  }
}

const BROKEN_ANSWERS: readonly Case[] = [
  ['a reset before the head', (peer) => peer.reset(), { ...broken(0), code: 'reset' }],
  ['a close before the head', (peer) => peer.cut(), { ...broken(0), code: 'reset' }],
  ['no HTTP', (peer) => peer.write('CANARY\r\n\r\n'), { ...broken(0), code: 'protocol' }],
  [
    'a page for an answer',
    (peer) => peer.answer(200, '<html>', { 'content-type': 'text/html' }),
    { ...BROKEN, code: '200' },
  ],
  ['JSON that is none', (peer) => peer.answer(200, '{"CANARY"'), BROKEN],
  ['JSON that is no object', (peer) => peer.json([1]), BROKEN],
  ['nothing at all', (peer) => peer.answer(200, ''), BROKEN],
  [
    'a cut in the body',
    (peer) => {
      peer.head(200, { 'content-type': 'application/json', 'content-length': '1000' })
      peer.write('{"choices":[')
      peer.cut()
    },
    { ...BROKEN, code: 'reset' },
  ],
]

type Within = readonly [name: string, error: object, ExpectedFailure]

const ofType = (type: string, expected: ExpectedFailure): Within => [
  type,
  { type, message: 'm' },
  { ...expected, code: type },
]

/** Errors within an answer that began as a success. */
const WITHIN: readonly Within[] = [
  ['an error', { message: 'CANARY', code: 'server_error' }, { ...broken(502), code: 'server_error' }],
  ['an error with a status', { message: 'CANARY', code: 502 }, { ...broken(502), code: '502' }],
  ['a limit', { message: 'm', code: 429 }, { ...RATE_LIMITED, code: '429', retryAfter: 1 }],
  ['a limit in a text', { message: 'm', code: '429' }, { ...RATE_LIMITED, code: '429', retryAfter: 1 }],
  ['a nonsensical code', { message: 'm', code: { toString: 1 } }, { ...broken(502), code: '502' }],
  ofType('overloaded_error', overloaded('maybe-processed')),
  ofType('rate_limit_error', { ...RATE_LIMITED, retryAfter: 1 }),
  ofType('api_error', broken(502)),
  ofType('timeout_error', timedOut(504)),
  ofType('invalid_request_error', INVALID_REQUEST),
  ofType('request_too_large', TOO_LARGE),
]

function brokenStreams(format: ProviderFormat): readonly Case[] {
  const { head, pieces, tail } = format.frames(['a', 'b'])
  const begun = [...head, ...pieces]
  const saying =
    (frames: readonly string[], then: (peer: Peer) => void = (peer) => peer.endChunks()): Script =>
    (peer) => {
      peer.streamHead()
      for (const frame of frames) peer.chunk(frame)
      then(peer)
    }
  const laterOn = (end: (peer: Peer) => void) => (peer: Peer) => setTimeout(() => end(peer), 50)
  return [
    ['no terminator', saying([...begun, ...tail.slice(0, -1)]), { ...BROKEN, code: '200' }],
    ['nothing in the stream', saying([]), BROKEN],
    ...['{"CANARY"', '[1]'].map(
      (data): Case => [
        `${data} for an event`,
        saying([...begun, `data: ${data}\n\n`, ...tail], () => {}),
        { ...BROKEN, code: '200' },
      ],
    ),
    ['a cut with two events', saying(begun, (peer) => peer.cut()), { ...BROKEN, code: 'reset' }],
    [
      'a cut after two events',
      saying(
        begun,
        laterOn((peer) => peer.cut()),
      ),
      { ...BROKEN, code: 'reset' },
    ],
    [
      'a reset after two events',
      saying(
        begun,
        laterOn((peer) => peer.reset()),
      ),
      { ...BROKEN, code: 'reset' },
    ],
    [
      'a chunked coding that breaks',
      saying(begun, (peer) => peer.write('zz\r\n')),
      { ...BROKEN, code: 'protocol' },
    ],
    ...WITHIN.flatMap(([name, error, expected]): Case[] => [
      [`${name} in the first event`, saying([format.errorFrame(error), ...tail]), expected],
      [`${name} in an event`, saying([...begun, format.errorFrame(error), ...tail]), expected],
    ]),
  ]
}

for (const format of PROVIDER_FORMATS) {
  for (const how of HOW) {
    const cases: readonly Case[] = [
      ...REFUSALS,
      ...BROKEN_ANSWERS,
      [
        'a coding that was not asked for',
        (peer) => peer.json(format.document('x'), 200, { 'content-encoding': 'gzip' }),
        { ...BROKEN, code: '200' },
      ],
      ...WITHIN.map(
        ([name, error, expected]): Case => [
          `${name} in a success`,
          (peer) => peer.json(format.errorDocument(error)),
          expected,
        ],
      ),
      ...(how === 'stream' ? brokenStreams(format) : []),
    ]
    for (const [name, script, expected] of cases) {
      test(`${format.name}, ${how}: ${name}`, async (t) => {
        const { mock, client, failure } = await format.bench(t, script)
        const failed = await failure(how)
        checkFailure(t, failed, expected)
        t.equal(failed.fault.metadata?.provider_name, 'Their Display')
        t.equal(mock.requests.length, 1, 'nothing is tried again')
        t.notMatch(inspect(failed, { depth: 9, showHidden: true }), /CANARY|canary/)
        await eventually(() => client.inFlight() === 0)
      })
    }

    test(`${format.name}, ${how}: a refused connection was not sent`, async (t) => {
      const baseUrl = `http://127.0.0.1:${await freePort()}/v1`
      const failed = await (await format.bench(t, () => {}, { baseUrl })).failure(how)
      t.match(failed, { class: 'not-sent', status: 0, fault: { kind: 'provider-failed' } })
      t.match(failed.fault.metadata, { error_type: 'provider_unavailable', provider_code: 'refused' })
    })

    test(`${format.name}, ${how}: a body over 64 MiB fails`, async (t) => {
      const { client, failure } = await format.bench(t, (peer) => {
        peer.head(200, { 'content-type': 'application/json', 'content-length': '80000000' })
        peer.write(Buffer.alloc(80_000_000, ' '))
      })
      t.match((await failure(how)).fault, { kind: 'provider-failed' })
      await eventually(() => client.sockets() === 0)
    })
  }

  test(`${format.name}: an answer that is all brackets fails before it is parsed`, async (t) => {
    const body = Buffer.from(`{"a":[${'[],'.repeat(4_000_000)}1]}`)
    const { failure } = await format.bench(t, (peer) => {
      peer.head(200, { 'content-type': 'application/json', 'content-length': String(body.length) })
      peer.write(body)
    })
    const { fault } = await failure('complete')
    t.match(fault.detail, /no JSON object, or holds too much/)
  })

  const begun = (peer: Peer): void => {
    const { head, pieces } = format.frames(['a'])
    peer.streamHead()
    for (const frame of [...head, ...pieces]) peer.chunk(frame)
  }

  for (const [name, error, expected] of WITHIN) {
    test(`${format.name}: ${name} in a stream comes after what was told of it, and closes its socket`, async (t) => {
      const { mock, stream } = await format.bench(t, (peer) => {
        begun(peer)
        peer.chunk(format.errorFrame(error))
      })
      const one = stream()
      checkFailure(t, (await one.end.opened) as ProviderFailure, expected)
      t.same(one.told, [...format.begun, 'failed'])
      await mock.peers[0]!.closed()
    })
  }

  const SILENCES: readonly (readonly [keyof typeof PATIENT, Script, FailureClass, status: number])[] = [
    ['headersMs', () => {}, 'maybe-processed', 0],
    ['firstTokenMs', (peer) => peer.streamHead(), 'maybe-processed', 200],
    ['idleMs', begun, 'maybe-processed', 200],
    ['totalMs', begun, 'maybe-processed', 200],
  ]

  for (const [limit, script, kind, status] of SILENCES) {
    test(`${format.name}: silence beyond ${limit} is a timeout of the provider`, async (t) => {
      // That of the whole runs from the begin on, so the head of a slow machine has to come within it.
      const timeouts = { ...PATIENT, [limit]: limit === 'totalMs' ? 2_000 : 100 }
      const { mock, client, failure } = await format.bench(t, script, { timeouts })
      const fault = { kind: 'provider-timeout', metadata: { error_type: 'timeout' } }
      t.match(await failure('stream'), { class: kind, status, fault })
      await mock.peers[0]!.closed()
      await eventually(() => client.sockets() === 0)
    })
  }

  test(`${format.name}: a handshake that is never answered was not sent`, async (t) => {
    const { mock } = await format.bench(t, () => {})
    const { failure } = await format.bench(t, () => {}, {
      baseUrl: mock.origin.replace('http:', 'https:'),
      timeouts: { ...PATIENT, connectMs: 100 },
    })
    t.match(await failure('stream'), { class: 'not-sent', status: 0, fault: { kind: 'provider-failed' } })
  })

  test(`${format.name}: a call for which no connection became free is our own doing: the provider is not blamed`, async (t) => {
    const { client, stream, failure } = await format.bench(t, () => {}, {
      timeouts: { ...PATIENT, connectMs: 100 },
      limits: { connections: 1, keepAliveMs: 10_000 },
    })
    const first = stream()
    for (const how of HOW) {
      const failed = await failure(how)
      t.match(failed, { class: 'not-sent', status: 0, fault: { kind: 'unavailable', retryAfter: 1 } })
      t.equal(failed.fault.metadata, undefined)
      t.match(failed.fault.detail, /Their Display: no connection/)
    }
    first.flow.cancel()
    await eventually(() => client.sockets() === 0)
  })

  test(`${format.name}: a reason is shown without credentials, and cut`, async (t) => {
    const secrets = [
      API_KEY,
      'sk-proj-abcdefgh12345678',
      'Bearer abc.def',
      'eyJhbGciOi.eyJzdWIi.c2ln',
      'a1b2c3d4e5f6a7b8c9d0e1f2a3b4',
      'op-header-value',
    ]
    const headers = { 'x-op': 'op-header-value' }
    for (const secret of secrets) {
      const words = `Key ${secret} is bad${'!'.repeat(900)}`
      const { failure } = await format.bench(t, refusing(400, error(words)), { headers })
      const raw = String((await failure('complete')).fault.metadata?.raw)
      t.match(raw, /^Key \[redacted\] is bad!+…$/)
      t.equal(raw.length, 500)
    }
  })

  test(`${format.name}: no credential is ever seen in a failure, whoever repeats it`, async (t) => {
    const extra = 'extra-canary-header-value'
    const leaky = `key ${API_KEY} and ${extra} and Bearer abc.def and sk-ant-api03-OTHER0123456789`
    const leak = { type: 'invalid_request_error', message: leaky }
    const scripts: readonly Script[] = [
      ...[400, 401, 413, 429, 500, 529].map((status) => refusing(status, error(leaky, leaky, leaky))),
      refusing(400, error(leaky, undefined, API_KEY)),
      (peer) => peer.json(format.errorDocument(leak)),
      (peer) => {
        peer.streamHead()
        peer.chunk(format.errorFrame(leak))
      },
      (peer) => peer.answer(500, leaky),
    ]
    for (const script of scripts) {
      const { failure } = await format.bench(t, script, { headers: { 'x-extra': extra } })
      for (const how of HOW) {
        const shown = inspect(await failure(how), { depth: 9, showHidden: true })
        for (const secret of [API_KEY, extra, 'OTHER0123456789', 'abc.def']) t.notMatch(shown, secret)
      }
    }
  })

  test(`${format.name}: a whole answer under another JSON type is taken`, async (t) => {
    const type = { 'content-type': 'application/vnd.x+json; charset=utf-8' }
    const { complete } = await format.bench(t, (peer) => peer.json(format.document('TEXT'), 200, type))
    t.match(JSON.stringify(await complete().end.opened), /TEXT/)
  })

  test(`${format.name}: a failure is told once and never in the turn of the call`, async (t) => {
    const { stream } = await format.bench(t, () => {}, { baseUrl: 'http://127.0.0.1:1/v1' })
    const one = stream()
    t.same(one.told, [])
    await one.end.opened
    one.flow.cancel()
    t.same(one.told, ['failed'])
  })

  test(`${format.name}: a client that is being closed is our own doing: a new try makes sense`, async (t) => {
    const { mock, client, stream, failure } = await format.bench(t, () => {})
    const one = stream()
    await eventually(() => mock.requests.length === 1)
    await client.close()
    t.match(await one.end.opened, { class: 'maybe-processed', fault: { kind: 'unavailable', retryAfter: 1 } })
    t.match(await failure('stream'), { class: 'not-sent', fault: { kind: 'unavailable' } })
  })
}

test('a connection that this machine has no means to open is not the fault of the provider', async (t) => {
  const source = { name: 'Acme', secrets: [] }
  const failing = (code: string, requestSent = false) => {
    const cause = Object.assign(new Error(code), { code })
    return transportFailure({ reason: 'refused', phase: 'connect', requestSent, cause }, source, 0)
  }
  for (const code of ['EMFILE', 'EADDRNOTAVAIL'])
    t.match(failing(code), { class: 'not-sent', status: 0, fault: { kind: 'unavailable', retryAfter: 1 } })
  t.match(failing('ECONNREFUSED'), { class: 'not-sent', fault: { kind: 'provider-failed' } })
  t.match(failing('ENOBUFS', true), { class: 'maybe-processed', fault: { kind: 'provider-failed' } })
})
