import { inspect } from 'node:util'
import { test } from 'tap'
import type { FailureClass } from '../../../../src/gateway/providers/port/provider.js'
import {
  API_KEY,
  answer,
  chunk,
  completed,
  failure,
  openAiBench,
  streamed,
} from '../../../support/clients/openai-calls.js'
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
import type { Peer, Script } from '../../../support/providers/mock-upstream.js'
import { freePort } from '../../../support/servers/listen.js'
import { eventually } from '../../../support/timing/eventually.js'

type Case = readonly [name: string, script: Script, expected: ExpectedFailure]

const refusing =
  (status: number, body: unknown = {}, headers: Readonly<Record<string, string>> = {}): Script =>
  (peer) =>
    peer.json(body, status, headers)
const error = (message: string, code?: unknown, type?: string): unknown => ({
  error: { message, code, type },
})

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
  ['402', refusing(402), refused(402)],
  ['403', refusing(403), refused(403)],
  ['404', refusing(404), refused(404)],
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
  ['429 with zero', refusing(429, {}, { 'retry-after': '0' }), { ...RATE_LIMITED, retryAfter: 1 }],
  ['429 with a fraction', refusing(429, {}, { 'retry-after': '1.2' }), { ...RATE_LIMITED, retryAfter: 2 }],
  ['429 with a day', refusing(429, {}, { 'retry-after': '86400' }), { ...RATE_LIMITED, retryAfter: 3600 }],
  ['429 with nonsense', refusing(429, {}, { 'retry-after': 'soon' }), { ...RATE_LIMITED, retryAfter: 1 }],
  [
    '429 with a date long gone',
    refusing(429, {}, { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }),
    { ...RATE_LIMITED, retryAfter: 1 },
  ],
  [
    '429 with a date far away',
    refusing(429, {}, { 'retry-after': 'Wed, 21 Oct 2099 07:28:00 GMT' }),
    { ...RATE_LIMITED, retryAfter: 3600 },
  ],
  ['500', refusing(500, error('CANARY stack')), { ...refused(500), code: '500', raw: undefined }],
  ['502', refusing(502), refused(502)],
  [
    '503',
    refusing(503, {}, { 'retry-after': '3' }),
    { kind: 'unavailable', type: 'provider_overloaded', class: 'refused', status: 503, retryAfter: 3 },
  ],
  ['504', refusing(504), timedOut(504)],
  ['529', refusing(529), overloaded('refused')],
  ['a redirect', refusing(307, {}, { location: 'http://127.0.0.1:1/' }), refused(307)],
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

const cut = (peer: Peer): void => peer.cut()

const BROKEN_ANSWERS: readonly Case[] = [
  ['a reset before the head', (peer) => peer.reset(), { ...broken(0), code: 'reset' }],
  ['a close before the head', cut, { ...broken(0), code: 'reset' }],
  ['no HTTP', (peer) => peer.write('CANARY\r\n\r\n'), { ...broken(0), code: 'protocol' }],
  ['a page for an answer', (peer) => peer.answer(200, '<html>', { 'content-type': 'text/html' }), BROKEN],
  ['JSON that is none', (peer) => peer.answer(200, '{"CANARY"'), BROKEN],
  ['JSON that is no object', (peer) => peer.json([1]), BROKEN],
  ['nothing at all', (peer) => peer.answer(200, ''), BROKEN],
  ['no choices', (peer) => peer.json({ choices: [] }), BROKEN],
  ['choices without a message', (peer) => peer.json({ choices: [{ index: 0 }] }), BROKEN],
  [
    'a coding that was not asked for',
    (peer) => peer.json(answer({ content: 'x' }), 200, { 'content-encoding': 'gzip' }),
    BROKEN,
  ],
  [
    'an error in a success',
    (peer) => peer.json(error('CANARY', 'server_error')),
    { ...broken(502), code: 'server_error' },
  ],
  [
    'a limit in a success',
    (peer) => peer.json({ error: { message: 'm', code: 429 } }),
    { ...RATE_LIMITED, code: '429', retryAfter: 1 },
  ],
  [
    'an overload in a success, by name',
    (peer) => peer.json(error('m', undefined, 'overloaded_error')),
    { ...overloaded('maybe-processed'), code: 'overloaded_error' },
  ],
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

const STREAMS: readonly Case[] = [
  ['no terminator', (peer) => peer.stream([chunk({ content: 'a' }), chunk({}, 'stop')], false), BROKEN],
  ['nothing in the stream', (peer) => peer.stream([], false), BROKEN],
  ['a terminator and nothing else', (peer) => peer.stream([]), BROKEN],
  ['a malformed event', (peer) => peer.stream([chunk({ content: 'a' }), '{"CANARY"']), BROKEN],
  ['an event that is no object', (peer) => peer.stream([chunk({ content: 'a' }), '[1]']), BROKEN],
  [
    'an error event',
    (peer) => peer.stream([chunk({ content: 'a' }), error('CANARY', 502)]),
    { ...broken(502), code: '502' },
  ],
  [
    'a limit in an event',
    (peer) => peer.stream([error('m', '429')]),
    { ...RATE_LIMITED, code: '429', retryAfter: 1 },
  ],
  [
    'an error event whose code is nonsense',
    (peer) => peer.stream([{ error: { message: 'm', code: { toString: 1, valueOf: 1 } } }]),
    { ...broken(502), code: '502' },
  ],
  [
    'an event of type error',
    (peer) => {
      peer.streamHead()
      peer.chunk('event: error\ndata: {"type":"overloaded_error","message":"m"}\n\n')
    },
    overloaded('maybe-processed'),
  ],
  [
    'a tool call that is never named',
    (peer) => peer.stream([chunk({ tool_calls: [{ index: 0, id: 'x', function: { arguments: '{}' } }] })]),
    BROKEN,
  ],
  [
    'a cut after two events',
    (peer) => {
      peer.streamHead()
      peer.event(chunk({ content: 'a' }))
      peer.event(chunk({ content: 'b' }))
      peer.cut()
    },
    { ...BROKEN, code: 'reset' },
  ],
  [
    'a chunked coding that breaks',
    (peer) => {
      peer.streamHead()
      peer.event(chunk({ content: 'a' }))
      peer.write('zz\r\n')
    },
    { ...BROKEN, code: 'protocol' },
  ],
]

for (const how of ['complete', 'stream'] as const) {
  for (const [name, script, expected] of [
    ...REFUSALS,
    ...BROKEN_ANSWERS,
    ...(how === 'stream' ? STREAMS : []),
  ]) {
    test(`${how}: ${name}`, async (t) => {
      const { mock, client, provider } = await openAiBench(t, script)
      const failed = await failure(provider, how)
      checkFailure(t, failed, expected)
      t.equal(failed.fault.metadata?.provider_name, 'Their Display')
      t.equal(mock.requests.length, 1, 'nothing is tried again')
      t.notMatch(inspect(failed, { depth: 9, showHidden: true }), /CANARY|canary/)
      await eventually(() => client.inFlight() === 0)
    })
  }

  test(`${how}: a refused connection was not sent`, async (t) => {
    const { provider } = await openAiBench(t, () => {}, {
      baseUrl: `http://127.0.0.1:${await freePort()}/v1`,
    })
    const failed = await failure(provider, how)
    t.match(failed, { class: 'not-sent', status: 0, fault: { kind: 'provider-failed' } })
    t.match(failed.fault.metadata, { error_type: 'provider_unavailable', provider_code: 'refused' })
  })

  test(`${how}: a body over 64 MiB fails`, async (t) => {
    const { client, provider } = await openAiBench(t, (peer) => {
      peer.head(200, { 'content-type': 'application/json', 'content-length': '80000000' })
      peer.write(Buffer.alloc(80_000_000, ' '))
    })
    t.match((await failure(provider, how)).fault, { kind: 'provider-failed' })
    await eventually(() => client.sockets() === 0)
  })
}

function begun(peer: Peer): void {
  peer.streamHead()
  peer.event(chunk({ content: 'a' }))
}

const SILENCES: readonly (readonly [limit: keyof typeof PATIENT, Script, FailureClass, status: number])[] = [
  ['headersMs', () => {}, 'maybe-processed', 0],
  ['firstTokenMs', (peer) => peer.streamHead(), 'maybe-processed', 200],
  ['idleMs', begun, 'maybe-processed', 200],
  ['totalMs', begun, 'maybe-processed', 200],
]

for (const [limit, script, kind, status] of SILENCES) {
  test(`silence beyond ${limit} is a timeout of the provider`, async (t) => {
    const { client, provider } = await openAiBench(t, script, { timeouts: { ...PATIENT, [limit]: 100 } })
    const failed = await failure(provider, 'stream')
    t.match(failed, {
      class: kind,
      status,
      fault: { kind: 'provider-timeout', metadata: { error_type: 'timeout' } },
    })
    await eventually(() => client.sockets() === 0)
  })
}

test('a handshake that is never answered was not sent', async (t) => {
  const { mock, provider } = await openAiBench(t, () => {})
  const { provider: secure } = await openAiBench(t, () => {}, {
    baseUrl: mock.origin.replace('http:', 'https:'),
    timeouts: { ...PATIENT, connectMs: 100 },
  })
  t.ok(provider)
  t.match(await failure(secure, 'stream'), {
    class: 'not-sent',
    status: 0,
    fault: { kind: 'provider-failed' },
  })
})

test('a call for which no connection became free is our own doing: the provider is not blamed', async (t) => {
  const { client, provider } = await openAiBench(t, () => {}, {
    timeouts: { ...PATIENT, connectMs: 100 },
    limits: { connections: 1, keepAliveMs: 10_000 },
  })
  const first = streamed(provider)
  for (const how of ['stream', 'complete'] as const) {
    const failed = await failure(provider, how)
    t.match(failed, { class: 'not-sent', status: 0, fault: { kind: 'unavailable', retryAfter: 1 } })
    t.equal(failed.fault.metadata, undefined)
    t.match(failed.fault.detail, /Their Display: no connection/)
  }
  first.flow.cancel()
  await eventually(() => client.sockets() === 0)
})

test('a reason is shown without credentials, and cut', async (t) => {
  const secrets = [
    API_KEY,
    'sk-proj-abcdefgh12345678',
    'Bearer abc.def',
    'eyJhbGciOi.eyJzdWIi.c2ln',
    'a1b2c3d4e5f6a7b8c9d0e1f2a3b4',
    'op-header-value',
  ]
  for (const secret of secrets) {
    const { provider } = await openAiBench(
      t,
      refusing(400, error(`Key ${secret} is bad${'!'.repeat(900)}`)),
      { headers: { 'x-op': 'op-header-value' } },
    )
    const raw = String((await failure(provider, 'complete')).fault.metadata?.raw)
    t.match(raw, /^Key \[redacted\] is bad!+…$/)
    t.equal(raw.length, 500)
  }
})

test('a whole answer under another JSON type is taken', async (t) => {
  const { provider } = await openAiBench(t, (peer) =>
    peer.json(answer({ content: 'x' }), 200, { 'content-type': 'application/vnd.x+json; charset=utf-8' }),
  )
  t.match(await completed(provider).end.opened, { choices: [{ message: { content: 'x' } }] })
})

test('a failure is told once and never in the turn of the call', async (t) => {
  const { provider } = await openAiBench(t, () => {}, { baseUrl: 'http://127.0.0.1:1/v1' })
  const one = streamed(provider)
  t.same(one.told, [])
  await one.end.opened
  one.flow.cancel()
  t.same(one.told, ['failed'])
})

test('a client that is being closed is our own doing: a new try makes sense', async (t) => {
  const { mock, client, provider } = await openAiBench(t, () => {})
  const one = streamed(provider)
  await eventually(() => mock.requests.length === 1)
  await client.close()
  t.match(await one.end.opened, { class: 'maybe-processed', fault: { kind: 'unavailable', retryAfter: 1 } })
  t.match(await streamed(provider).end.opened, { class: 'not-sent', fault: { kind: 'unavailable' } })
})
