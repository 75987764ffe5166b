/** What an answer says about itself: usage, cost, routing (contract/gateway 3). */
import tap, { test } from 'tap'
import { ChatCompletion } from '../../../src/features/chat/response-schema.js'
import { chatBench, mockChunk, mockCompletion, mockStream } from '../../support/servers/chat-bench.js'

const { ask, upstream } = await chatBench(tap)

test('a whole answer is the contract’s, whatever the provider left out', async (t) => {
  upstream.script = (peer) =>
    peer.json({
      choices: [{ message: { content: 'bare' } }],
      usage: { prompt_tokens: 10, completion_tokens: 5 },
    })
  const asked = await ask()
  t.equal(asked.status, 200)
  t.ok(ChatCompletion.safeParse(asked.json()).success, asked.text)
  t.match(asked.json(), {
    model: 'acme/mock',
    provider: 'Mock',
    choices: [
      { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'bare', refusal: null } },
    ],
    usage: { total_tokens: 15, cost: 0.00002 },
  })
  t.equal(asked.json().id, asked.headers.get('x-generation-id'))
})

const SHAPES = [
  ['plain', { prompt_tokens: 100, completion_tokens: 50 }, 0.0002, 0, 0],
  [
    'cached and reasoning tokens inside their sums',
    {
      prompt_tokens: 100,
      completion_tokens: 50,
      prompt_tokens_details: { cached_tokens: 40 },
      completion_tokens_details: { reasoning_tokens: 30 },
    },
    0.0002,
    40,
    30,
  ],
  [
    'cache hits beside misses',
    { prompt_tokens: 100, completion_tokens: 50, prompt_cache_hit_tokens: 40 },
    0.0002,
    40,
    0,
  ],
] as const

for (const [shape, figures, cost, cached, reasoning] of SHAPES) {
  test(`usage and cost of a provider that counts in the shape: ${shape}`, async (t) => {
    upstream.script = (peer) => peer.json(mockCompletion('x', { usage: figures }))
    const { usage } = (await ask()).json()
    t.match(usage, {
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 150,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens_details: { reasoning_tokens: reasoning },
      cost,
    })
  })
}

const METADATA = { 'X-Service-Metadata': 'enabled' }

test('without figures tokens are counted, and the metadata says estimated: whole', async (t) => {
  upstream.script = (peer) => peer.json(mockCompletion('one two three', { usage: undefined }))
  const { usage, service_metadata: metadata } = (await ask({}, METADATA)).json()
  t.equal(usage.completion_tokens, 3)
  t.ok(usage.prompt_tokens > 0)
  t.equal(metadata.usage_estimated, true)
})

test('without figures tokens are counted, and the metadata says estimated: streamed', async (t) => {
  upstream.script = (peer) =>
    peer.stream([mockChunk({ content: 'one two' }), mockChunk({ content: ' three' }), mockChunk({}, 'stop')])
  const last = (await ask({ stream: true }, METADATA)).events().at(-2)
  t.equal(last.usage.completion_tokens, 3)
  t.equal(last.service_metadata.usage_estimated, true)
})

const OPT_INS = [
  ['X-Service-Metadata', 'enabled', true],
  ['X-Service-Metadata', 'Enabled', true],
  ['X-OpenRouter-Metadata', 'enabled', true],
  ['X-Service-Experimental-Metadata', 'enabled', true],
  ['X-OpenRouter-Experimental-Metadata', 'enabled', true],
  ['X-Service-Metadata', 'disabled', false],
  ['X-Service-Metadata', 'yes', false],
] as const

for (const [name, value, given] of OPT_INS) {
  test(`${name}: ${value} ${given ? 'brings' : 'brings no'} routing metadata, whole and streamed`, async (t) => {
    upstream.script = (peer) => peer.json(mockCompletion('x'))
    t.equal('service_metadata' in (await ask({}, { [name]: value })).json(), given)
    upstream.script = (peer) => peer.stream(mockStream('x'))
    const events = (await ask({ stream: true }, { [name]: value })).events()
    t.equal('service_metadata' in events.at(-2), given)
  })
}

test('routing metadata also stands on errors behind the routing, and not before it', async (t) => {
  upstream.script = (peer) => peer.json({ error: { message: 'no' } }, 503)
  const failed = await ask({}, METADATA)
  t.equal(failed.status, 503)
  t.match(failed.json().service_metadata, {
    attempt: 0,
    attempts: [{ provider: 'Mock', status: 503 }],
    endpoints: { available: [{ selected: false }] },
  })
  t.match(failed.headers.get('x-generation-id'), /^gen-/)
  t.notOk('service_metadata' in (await ask({ model: 'acme/none' }, METADATA)).json())
})

const STATUSES = [
  [400, 400, 'invalid_request'],
  [401, 502, 'provider_unavailable'],
  [403, 502, 'provider_unavailable'],
  [404, 502, 'provider_unavailable'],
  [413, 413, 'payload_too_large'],
  [422, 422, 'unprocessable'],
  [429, 429, 'rate_limit_exceeded'],
  [500, 502, 'provider_unavailable'],
  [503, 503, 'provider_overloaded'],
  [529, 529, 'provider_overloaded'],
] as const

for (const [said, status, type] of STATUSES) {
  for (const stream of [false, true]) {
    test(`a provider’s ${said} is a ${status}, ${stream ? 'streamed' : 'whole'}`, async (t) => {
      upstream.script = (peer) => peer.json({ error: { message: 'said the provider' } }, said)
      const asked = await ask({ stream })
      t.equal(asked.status, status)
      t.match(asked.json().error, { code: status, metadata: { error_type: type, provider_name: 'Mock' } })
    })
  }
}

test('a redirect is not followed', async (t) => {
  const seen = upstream.requests.length
  upstream.script = (peer) => peer.json({}, 307, { location: `${upstream.origin}/elsewhere` })
  t.equal((await ask()).status, 502)
  t.equal(upstream.requests.length, seen + 1)
})

for (const figure of ['-1', '0.5', '1000000001', '9007199254740991', '1e300', '1e999']) {
  for (const stream of [false, true]) {
    test(`${figure} tokens are not believed, ${stream ? 'streamed' : 'whole'}: they are estimated, and that is said`, async (t) => {
      const usage = `{"prompt_tokens":10,"completion_tokens":${figure}}`
      upstream.script = (peer) => {
        if (!stream) peer.answer(200, `{"choices":[{"message":{"content":"two words"}}],"usage":${usage}}`)
        else
          peer.stream([
            mockChunk({ content: 'two words' }),
            mockChunk({}, 'stop'),
            `{"choices":[],"usage":${usage}}`,
          ])
      }
      const asked = await ask({ stream }, { 'X-Service-Metadata': 'enabled' })
      t.equal(asked.status, 200)
      const { usage: told, service_metadata: metadata } = stream ? asked.events().at(-2) : asked.json()
      t.ok(told.completion_tokens > 0 && told.completion_tokens < 10, asked.text)
      t.ok(told.cost > 0 && told.cost < 0.001)
      t.equal(metadata.usage_estimated, true)
    })
  }
}
