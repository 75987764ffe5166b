/** The `@anthropic-ai/sdk` package, unmodified, against a real server. */
import Anthropic from '@anthropic-ai/sdk'
import tap, { type Test, test } from 'tap'
import { failureOf } from '../support/clients/failure-of.js'
import { API_KEY, type GatewayServer, startGateway } from '../support/servers/gateway-server.js'

const server: GatewayServer = await startGateway({
  config: {
    providers: { lab: { kind: 'simulated', name: 'Lab', allow_request_faults: true, breaker: false } },
    models: { 'lab/plain': { endpoints: [{ provider: 'lab' }] } },
  },
})
tap.after(() => server.stop())

/** Retries would hide the first answer. */
const clientOf = (apiKey = API_KEY): Anthropic =>
  new Anthropic({ baseURL: `${server.baseUrl}/api`, apiKey, maxRetries: 0 })
const client = clientOf()
const HELLO = [{ role: 'user' as const, content: 'Say hello.' }]
const PLAIN = { model: 'sim/instant', max_tokens: 200, messages: HELLO }

const WEATHER = {
  name: 'get_weather',
  description: 'Weather of a city.',
  input_schema: {
    type: 'object' as const,
    properties: { city: { type: 'string' }, unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } },
    required: ['city', 'unit'],
    additionalProperties: false,
  },
}

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').toString('base64')
const PDF = Buffer.from('%PDF-1.4\n%%EOF\n').toString('base64')

test('create answers with a message, usage and the id of the request', async (t) => {
  const { data, request_id } = await client.messages.create(PLAIN).withResponse()
  t.match(data, { type: 'message', role: 'assistant', model: 'sim/instant', stop_reason: 'end_turn' })
  const [block] = data.content
  t.ok(block?.type === 'text' && block.text.length > 0)
  t.ok(data.usage.input_tokens > 0 && data.usage.output_tokens > 0)
  t.match(request_id, /^req-/)
  t.equal((data as { _request_id?: string | null })._request_id, request_id)
})

test('system blocks, pictures, documents and a whole conversation are taken', async (t) => {
  const answer = await client.messages.create({
    ...PLAIN,
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: PDF },
            title: 'A',
          },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Some text.' } },
          { type: 'text', text: 'What is this?' },
        ],
      },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'X' } }],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'Rain.', is_error: false }],
      },
    ],
    tools: [WEATHER],
  })
  t.equal(answer.stop_reason, 'end_turn')
  t.ok((answer.usage.cache_read_input_tokens ?? 0) > 0, 'what was marked to be cached counts as read')
})

test('tools are called, one or several, or the one that is named', async (t) => {
  const OTHER = { ...WEATHER, name: 'get_time' }
  const called = async (more: object): Promise<string[]> => {
    const answer = await client.messages.create({ ...PLAIN, tools: [WEATHER, OTHER], ...more })
    t.equal(answer.stop_reason, 'tool_use')
    return answer.content.flatMap((block) => {
      if (block.type !== 'tool_use') return []
      t.match(block.id, /^toolu_/)
      t.match(block.input, { city: String, unit: /celsius|fahrenheit/ })
      return [block.name]
    })
  }
  t.same(await called({ tool_choice: { type: 'any' } }), ['get_weather'])
  t.same(await called({ tool_choice: { type: 'tool', name: 'get_time' } }), ['get_time'])
  const parallel = [{ role: 'user', content: 'Use both in parallel.' }]
  t.same(await called({ messages: parallel }), ['get_weather', 'get_time'])
  const one = { type: 'auto', disable_parallel_tool_use: true }
  t.same(await called({ messages: parallel, tool_choice: one }), ['get_weather'])
})

test('thinking comes first and is signed', async (t) => {
  const answer = await client.messages.create({
    ...PLAIN,
    model: 'sim/reasoner',
    max_tokens: 4000,
    thinking: { type: 'enabled', budget_tokens: 1024 },
  })
  const [first, second] = answer.content
  t.ok(first?.type === 'thinking' && first.thinking.length > 0 && first.signature.length > 0)
  t.equal(second?.type, 'text')
  t.ok((answer.usage.output_tokens_details?.thinking_tokens ?? 0) > 0)
  const off = await client.messages.create({
    ...PLAIN,
    model: 'sim/reasoner',
    thinking: { type: 'disabled' },
  })
  t.same(
    off.content.map(({ type }) => type),
    ['text'],
  )
})

const STREAMED: readonly (readonly [what: string, more: object])[] = [
  ['text', {}],
  ['a text that is cut off', { max_tokens: 5 }],
  ['thinking', { model: 'sim/reasoner', max_tokens: 4000, thinking: { type: 'adaptive' } }],
  ['a call', { tools: [WEATHER], tool_choice: { type: 'any' } }],
  ['two calls', { tools: [WEATHER], messages: [{ role: 'user', content: 'Twice in parallel.' }] }],
  ['a search', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
]

for (const [what, more] of STREAMED) {
  test(`stream().finalMessage() of ${what} is what create answers`, async (t) => {
    const request = { ...PLAIN, ...more }
    const whole = await client.messages.create(request)
    const streamed = await client.messages.stream(request).finalMessage()
    t.strictSame(streamed.content, whole.content)
    t.equal(streamed.stop_reason, whole.stop_reason)
    t.equal(streamed.usage.input_tokens, whole.usage.input_tokens)
    t.equal(streamed.usage.output_tokens, whole.usage.output_tokens)
  })
}

test('raw events come in the order of the format', async (t) => {
  const types: string[] = []
  for await (const event of await client.messages.create({ ...PLAIN, max_tokens: 2, stream: true })) {
    types.push(event.type)
  }
  t.strictSame(types, [
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
})

test('structured output fits its schema', async (t) => {
  const answer = await client.messages.create({
    ...PLAIN,
    max_tokens: 1000,
    output_config: { format: { type: 'json_schema', schema: WEATHER.input_schema } },
  })
  const [block] = answer.content
  t.ok(block?.type === 'text')
  t.match(JSON.parse(block?.type === 'text' ? block.text : ''), { city: String, unit: String })
})

test('stop sequences are told', async (t) => {
  const answer = await client.messages.create({
    ...PLAIN,
    messages: [{ role: 'user', content: 'echo: one two three four' }],
    stop_sequences: ['nine', ' three'],
  })
  t.match(answer, { stop_reason: 'stop_sequence', stop_sequence: ' three', content: [{ text: 'one two' }] })
})

test('a refusal is told with its details', async (t) => {
  const answer = await client.messages.create({ ...PLAIN, model: 'sim/fault-content-filter' })
  t.match(answer, { stop_reason: 'refusal', stop_details: { type: 'refusal', explanation: String } })
})

test('citations of documents and of searches', async (t) => {
  const cited = await client.messages.create({
    ...PLAIN,
    messages: [
      {
        role: 'user',
        content: [
          {
            type: 'document',
            source: { type: 'text', media_type: 'text/plain', data: 'The grass is green.' },
            citations: { enabled: true },
          },
          { type: 'text', text: 'What is green?' },
        ],
      },
    ],
  })
  const [block] = cited.content
  t.match(block, {
    citations: [{ type: 'char_location', cited_text: 'The grass is green.', document_index: 0 }],
  })
})

test('tokens are counted, as many as an answer says', async (t) => {
  const { input_tokens } = await client.messages.countTokens({
    model: 'sim/instant',
    messages: HELLO,
    tools: [WEATHER],
  })
  const answer = await client.messages.create({ ...PLAIN, tools: [WEATHER] })
  t.equal(input_tokens, answer.usage.input_tokens)
})

test('beta calls, which have a query, are served', async (t) => {
  const answer = await client.beta.messages.create({ ...PLAIN, betas: ['context-1m-2025-08-07'] })
  t.equal(answer.type, 'message')
})

async function apiErrorOf(t: Test, call: Promise<unknown>): Promise<InstanceType<typeof Anthropic.APIError>> {
  const error = await failureOf(call)
  t.ok(error instanceof Anthropic.APIError, String(error))
  return error as InstanceType<typeof Anthropic.APIError>
}

const ask = (more: object): Promise<unknown> => client.messages.create({ ...PLAIN, ...more })

/** By status: the class and the type of the error. */
const ERROR_KINDS = {
  400: [Anthropic.BadRequestError, 'invalid_request_error'],
  401: [Anthropic.AuthenticationError, 'authentication_error'],
  404: [Anthropic.NotFoundError, 'not_found_error'],
  429: [Anthropic.RateLimitError, 'rate_limit_error'],
  502: [Anthropic.InternalServerError, 'api_error'],
} as const

const ERRORS = [
  ['a wrong key', () => clientOf('sk-wrong-0123456789').messages.create(PLAIN), 401],
  ['an unknown model', () => ask({ model: 'sim/nothing' }), 404],
  ['a value out of range', () => ask({ temperature: 2.1 }), 400],
  ['a prompt that is too long', () => ask({ model: 'sim/fault-context-length' }), 400],
  ['a provider’s rate limit', () => ask({ model: 'sim/fault-rate-limited' }), 429],
  ['a provider that fails', () => ask({ model: 'sim/fault-error' }), 502],
  ['a provider that fails a stream', () => ask({ model: 'sim/fault-error', stream: true }), 502],
] as const

for (const [what, call, status] of ERRORS) {
  const [kind, type] = ERROR_KINDS[status]

  test(`${what} has its error class, status and type`, async (t) => {
    const error = await apiErrorOf(t, call())
    t.ok(error instanceof kind, `${status} is ${error.constructor.name}`)
    t.equal(error.status, status)
    t.equal(error.type, type)
    t.match(error.requestID, /^req-/)
  })
}

test('a failure in the middle of a stream throws after what came before', async (t) => {
  let text = ''
  const read = async (): Promise<void> => {
    const stream = await client.messages.create({ ...PLAIN, model: 'sim/fault-cut', stream: true })
    for await (const event of stream) {
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text
    }
  }
  const error = await apiErrorOf(t, read())
  t.ok(text.length > 0)
  t.equal(error.type, 'api_error')
})

test('every stop reason can be asked for', async (t) => {
  for (const reason of [
    'end_turn',
    'max_tokens',
    'stop_sequence',
    'tool_use',
    'pause_turn',
    'refusal',
    'model_context_window_exceeded',
  ]) {
    const headers = { 'X-Service-Simulate': `stop_reason=${reason}` }
    const final = await client.messages.stream({ ...PLAIN, model: 'lab/plain' }, { headers }).finalMessage()
    t.equal(final.stop_reason, reason)
    t.equal(final.stop_details?.type, reason === 'refusal' ? 'refusal' : undefined)
  }
})
