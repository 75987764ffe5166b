import { inspect } from 'node:util'
import { test } from 'tap'
import type { ProviderFailure } from '../../../../src/gateway/providers/port/provider.js'
import {
  messagesCall,
  streamedMessages,
  textBlock,
  wholeMessage,
} from '../../../support/clients/messages-face-calls.js'
import { PATIENT } from '../../../support/clients/upstream-calls.js'
import {
  BROKEN,
  broken,
  CONTEXT_TOO_LONG,
  checkFailure,
  type ExpectedFailure,
  INVALID_REQUEST,
  overloaded,
  RATE_LIMITED,
  refused,
  TOO_LARGE,
  timedOut,
} from '../../../support/providers/expected-failures.js'
import {
  ANTHROPIC_KEY,
  type AnthropicBench,
  anthropicBench,
  breakingOff,
  frame,
  refusing,
  wireEvents,
} from '../../../support/providers/mock-anthropic.js'
import type { Script } from '../../../support/providers/mock-upstream.js'
import { freePort } from '../../../support/servers/listen.js'
import { eventually } from '../../../support/timing/eventually.js'

type Row = readonly [name: string, script: Script, expected: ExpectedFailure]

const REFUSALS: readonly Row[] = [
  [
    '400',
    refusing(400, 'invalid_request_error', 'tools.0: bad'),
    { ...INVALID_REQUEST, code: 'invalid_request_error', raw: 'tools.0: bad' },
  ],
  [
    '400 for the context',
    refusing(400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
    CONTEXT_TOO_LONG,
  ],
  [
    '401',
    refusing(401, 'authentication_error', 'invalid x-api-key'),
    { ...refused(401), code: 'authentication_error', raw: undefined },
  ],
  ['402', refusing(402, 'billing_error'), { ...refused(402), code: 'billing_error' }],
  ['403', refusing(403, 'permission_error'), { ...refused(403), code: 'permission_error' }],
  [
    '404',
    refusing(404, 'not_found_error', 'model: their-name'),
    { ...refused(404), code: 'not_found_error' },
  ],
  ['413', refusing(413, 'request_too_large'), { ...TOO_LARGE, code: 'request_too_large' }],
  [
    '429',
    refusing(429, 'rate_limit_error', 'slow', { 'retry-after': '17' }),
    { ...RATE_LIMITED, code: 'rate_limit_error', retryAfter: 17 },
  ],
  [
    '500',
    refusing(500, 'api_error', 'CANARY inner words'),
    { ...refused(500), code: 'api_error', raw: undefined },
  ],
  ['504', refusing(504, 'timeout_error'), { ...timedOut(504), code: 'timeout_error' }],
  [
    '529',
    refusing(529, 'overloaded_error', 'Overloaded'),
    { ...overloaded('refused'), code: 'overloaded_error', retryAfter: 1 },
  ],
  [
    'a page of HTML',
    (peer) => peer.answer(502, '<html>', { 'content-type': 'text/html' }),
    { ...refused(502), code: '502' },
  ],
  [
    'a redirect',
    (peer) => peer.answer(302, '', { location: 'http://127.0.0.1:1/' }),
    { ...refused(302), code: '302' },
  ],
]

const both = ['stream', 'complete'] as const
type How = (typeof both)[number]

async function failureOf({ provider }: AnthropicBench, how: How): Promise<ProviderFailure> {
  const end =
    how === 'stream'
      ? await streamedMessages(provider.messages).end.opened
      : await wholeMessage(provider.messages)
  if (typeof end === 'object' && 'fault' in end) return end
  throw new Error('the call did not fail')
}

for (const [name, script, expected] of REFUSALS) {
  for (const how of both) {
    test(`a refusal with ${name}, ${how}`, async (t) => {
      checkFailure(t, await failureOf(await anthropicBench(t, script), how), expected)
    })
  }
}

// ── Errors within a success ─────────────────────────────────────────────────

const ALL = wireEvents({ content: [textBlock('abcdefgh')] })
const failing = (type: string): object => ({ type: 'error', error: { type, message: 'CANARY words' } })

const WITHIN: readonly (readonly [string, ExpectedFailure])[] = [
  ['overloaded_error', { ...overloaded('maybe-processed'), code: 'overloaded_error' }],
  ['rate_limit_error', { ...RATE_LIMITED, code: 'rate_limit_error', retryAfter: 1 }],
  ['api_error', { ...broken(502), code: 'api_error' }],
  ['timeout_error', { ...timedOut(504), code: 'timeout_error' }],
  ['invalid_request_error', { ...INVALID_REQUEST, code: 'invalid_request_error' }],
  ['request_too_large', { ...TOO_LARGE, code: 'request_too_large' }],
]

for (const [type, expected] of WITHIN) {
  test(`an event of ${type} in the middle of a stream`, async (t) => {
    const bench = await anthropicBench(
      t,
      breakingOff(ALL.slice(0, 4), (peer) => peer.chunk(frame(failing(type) as never))),
    )
    const streamed = streamedMessages(bench.provider.messages)
    checkFailure(t, (await streamed.end.opened) as ProviderFailure, expected)
    t.same(streamed.told, ['start', 'block', 'block', 'failed'])
    await bench.mock.peers[0]!.closed()
  })

  test(`a body of ${type} under status 200`, async (t) => {
    const bench = await anthropicBench(t, (peer) => peer.json(failing(type)))
    checkFailure(t, await failureOf(bench, 'complete'), expected)
    checkFailure(t, await failureOf(bench, 'stream'), expected)
  })
}

// ── Answers that are none ───────────────────────────────────────────────────

const cut = (count: number): Script => breakingOff(ALL.slice(0, count), (peer) => peer.endChunks())
const sent = (...events: object[]): Script => breakingOff([ALL[0]!, ...(events as never[])])
const start = (index: number): object => ({
  type: 'content_block_start',
  index,
  content_block: textBlock(''),
})
const delta = (index: number): object => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'text_delta', text: 'a' },
})
const stop = (index: number): object => ({ type: 'content_block_stop', index })

const STREAMS: Readonly<Record<string, Script>> = {
  'that ends before its begin': cut(0),
  'that ends after its begin': cut(1),
  'that ends in the middle of a block': cut(4),
  'that ends between its end and its terminator': cut(ALL.length - 1),
  'whose terminator comes in the middle of a block': sent(start(0), { type: 'message_stop' }),
  'whose terminator comes without an end': sent({ type: 'message_stop' }),
  'whose blocks do not begin at 0': sent(start(1)),
  'that leaves out a number': sent(start(0), stop(0), start(2)),
  'that begins a block within another': sent(start(0), start(1)),
  'with a delta of no block': sent(delta(0)),
  'with a delta of a closed block': sent(start(0), stop(0), delta(0)),
  'with a delta that says nothing': sent(start(0), { type: 'content_block_delta', index: 0 }),
  'that closes a block twice': sent(start(0), stop(0), stop(0)),
  'with a block without a kind': sent({ type: 'content_block_start', index: 0, content_block: {} }),
  'with an event that is no JSON': breakingOff([ALL[0]!], (peer) => peer.chunk('data: {"type":\n\n')),
  'with an event that is no object': breakingOff([ALL[0]!], (peer) => peer.chunk('data: [1]\n\n')),
  'of another media type': (peer) => peer.answer(200, 'hello', { 'content-type': 'text/plain' }),
  'in a coding nobody asked for': (peer) => peer.answer(200, 'xx', { 'content-encoding': 'gzip' }),
}

for (const [name, script] of Object.entries(STREAMS)) {
  test(`a stream ${name} fails`, async (t) => {
    const bench = await anthropicBench(t, script)
    checkFailure(t, await failureOf(bench, 'stream'), { ...BROKEN, code: '200' })
    await eventually(() => bench.client.inFlight() === 0)
  })
}

const DOCUMENTS: Readonly<Record<string, unknown>> = {
  'no object': [1],
  'no content': { type: 'message', role: 'assistant' },
  'no assistant': { type: 'message', role: 'user', content: [] },
  'a block that is none': { type: 'message', role: 'assistant', content: ['text'] },
}

for (const [name, body] of Object.entries(DOCUMENTS)) {
  test(`a whole answer with ${name} fails, asked for either way`, async (t) => {
    const bench = await anthropicBench(t, (peer) => peer.json(body))
    for (const how of both) checkFailure(t, await failureOf(bench, how), BROKEN)
  })
}

test('an error event that names no type is an error', async (t) => {
  const bench = await anthropicBench(
    t,
    breakingOff(ALL.slice(0, 4), (peer) =>
      peer.chunk('event: error\ndata: {"error":{"type":"overloaded_error"}}\n\n'),
    ),
  )
  t.match(await failureOf(bench, 'stream'), { fault: { kind: 'provider-overloaded' }, status: 529 })
})

test('figures that came before a failure are told before it, once something was said', async (t) => {
  const bench = await anthropicBench(t, cut(ALL.length - 1))
  const streamed = streamedMessages(bench.provider.messages)
  await streamed.end.opened
  t.same(streamed.told.slice(-2), ['usage', 'failed'])
  const empty = wireEvents({ content: [] })
  bench.mock.script = breakingOff(empty.slice(0, -1), (peer) => peer.endChunks())
  const silent = streamedMessages(bench.provider.messages)
  await silent.end.opened
  t.same(silent.told, ['start', 'failed'], 'another endpoint may still answer')
})

// ── Transport ───────────────────────────────────────────────────────────────

const STALLS: Readonly<Record<string, readonly [Script, keyof typeof PATIENT]>> = {
  'before the head': [() => {}, 'headersMs'],
  'before the first event': [(peer) => peer.streamHead(), 'firstTokenMs'],
  'in the middle': [breakingOff(ALL.slice(0, 4)), 'idleMs'],
}

for (const [name, [script, limit]] of Object.entries(STALLS)) {
  test(`a server that stalls ${name} is left in time`, async (t) => {
    const bench = await anthropicBench(t, script, { timeouts: { ...PATIENT, [limit]: 200 } })
    const failure = (await streamedMessages(bench.provider.messages).end.opened) as ProviderFailure
    t.match(failure, {
      fault: { kind: 'provider-timeout', metadata: { error_type: 'timeout' } },
      class: 'maybe-processed',
    })
    await bench.mock.peers[0]!.closed()
  })
}

test('a connection that breaks in the middle is a failure of the provider', async (t) => {
  for (const how of ['cut', 'reset'] as const) {
    const bench = await anthropicBench(
      t,
      breakingOff(ALL.slice(0, 4), (peer) => setTimeout(() => peer[how](), 50)),
    )
    t.match(await streamedMessages(bench.provider.messages).end.opened, {
      fault: { kind: 'provider-failed' },
      class: 'maybe-processed',
    })
  }
})

test('where nobody listens, nothing was sent', async (t) => {
  const bench = await anthropicBench(t, () => {}, { baseUrl: `http://127.0.0.1:${await freePort()}` })
  for (const how of both) t.match(await failureOf(bench, how), { class: 'not-sent', status: 0 })
  t.match(await bench.provider.countMessages(messagesCall()), { kind: 'provider-failed' })
})

// ── Secrets ─────────────────────────────────────────────────────────────────

const EXTRA = 'extra-canary-header-value'
const LEAKY = `key ${ANTHROPIC_KEY} and ${EXTRA} and Bearer abc.def and sk-ant-api03-OTHER0123456789`

test('no credential is ever seen in a failure, whoever repeats it', async (t) => {
  const scripts: Script[] = [
    ...[400, 401, 413, 429, 500, 529].map((status) => refusing(status, LEAKY, LEAKY)),
    refusing(400, ANTHROPIC_KEY, LEAKY),
    (peer) => peer.json({ type: 'error', error: { type: 'invalid_request_error', message: LEAKY } }),
    breakingOff([{ type: 'error', error: { type: 'invalid_request_error', message: LEAKY } }]),
    (peer) => peer.answer(500, LEAKY),
  ]
  for (const script of scripts) {
    const bench = await anthropicBench(t, script, { headers: { 'x-extra': EXTRA } })
    for (const how of both) {
      const failure = await failureOf(bench, how)
      const shown = inspect(failure, { depth: 9, showHidden: true })
      for (const secret of [ANTHROPIC_KEY, EXTRA, 'OTHER0123456789', 'abc.def']) t.notMatch(shown, secret)
    }
  }
})
