/** The `openai` package, unmodified, against a real server. */
import OpenAI from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import tap, { type Test, test } from 'tap'
import { z } from 'zod'
import { failureOf } from '../support/clients/failure-of.js'
import { API_KEY, type GatewayServer, startGateway } from '../support/servers/gateway-server.js'

const server: GatewayServer = await startGateway()
tap.after(() => server.stop())

/** Retries would hide the first answer. */
const clientOf = (apiKey = API_KEY): OpenAI => new OpenAI({ baseURL: server.apiUrl, apiKey, maxRetries: 0 })
const client = clientOf()
const HELLO = [{ role: 'user' as const, content: 'Say hello.' }]
const PLAIN = { model: 'sim/instant', messages: HELLO }

const create = (more: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming> = {}) =>
  client.chat.completions.create({ ...PLAIN, ...more })
const stream = (more: Partial<OpenAI.ChatCompletionCreateParamsStreaming> = {}) =>
  client.chat.completions.create({ ...PLAIN, ...more, stream: true })

const WEATHER = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'Weather of a city.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } },
      required: ['city', 'unit'],
      additionalProperties: false,
    },
  },
}

test('create answers with a message and usage', async (t) => {
  const { data, request_id } = await create().withResponse()
  t.match(data, { object: 'chat.completion', model: 'sim/instant', choices: [{ finish_reason: 'stop' }] })
  t.ok((data.choices[0]?.message.content ?? '').length > 0)
  t.ok(data.usage !== undefined && data.usage.total_tokens > 0)
  t.match(request_id, /^req-/)
})

test('a stream says what the whole answer says, and its usage', async (t) => {
  const whole = await create({ seed: 7 })
  const chunks = await stream({ seed: 7 })
  let text = ''
  let total = 0
  for await (const chunk of chunks) {
    text += chunk.choices[0]?.delta.content ?? ''
    total = chunk.usage?.total_tokens ?? total
  }
  t.equal(text, whole.choices[0]?.message.content)
  t.equal(total, whole.usage?.total_tokens)
})

test('stream().finalChatCompletion() assembles tool calls', async (t) => {
  const final = await client.chat.completions
    .stream({ model: 'sim/instant', messages: HELLO, tools: [WEATHER], tool_choice: 'required' })
    .finalChatCompletion()
  const call = final.choices[0]?.message.tool_calls?.[0]
  t.equal(final.choices[0]?.finish_reason, 'tool_calls')
  if (call?.type !== 'function') throw new Error('no function was called')
  t.equal(call.function.name, 'get_weather')
  t.match(JSON.parse(call.function.arguments), { city: String, unit: /^(celsius|fahrenheit)$/ })
})

test('a tool loop ends with an answer', async (t) => {
  const asked = await create({ tools: [WEATHER], tool_choice: 'required' })
  const message = asked.choices[0]!.message
  const answered = await create({
    messages: [
      ...HELLO,
      message,
      { role: 'tool', tool_call_id: message.tool_calls![0]!.id, content: '{"degrees":21}' },
    ],
    tools: [WEATHER],
  })
  t.equal(answered.choices[0]?.finish_reason, 'stop')
  t.ok((answered.choices[0]?.message.content ?? '').length > 0)
})

test('parse gives an object of the schema', async (t) => {
  const Person = z.object({ name: z.string(), age: z.number().int(), tags: z.array(z.string()) })
  const parsed = await client.chat.completions.parse({
    model: 'sim/instant',
    messages: HELLO,
    response_format: zodResponseFormat(Person, 'person'),
  })
  t.ok(Person.safeParse(parsed.choices[0]?.message.parsed).success)
})

test('models are listed', async (t) => {
  const ids = []
  for await (const model of client.models.list()) ids.push(model.id)
  t.ok(ids.includes('sim/instant'))
  t.ok(ids.includes('sim/standard'))
})

async function apiErrorOf(t: Test, call: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error = await failureOf(call)
  t.ok(error instanceof OpenAI.APIError, String(error))
  return error as InstanceType<typeof OpenAI.APIError>
}

const ERROR_CLASSES = {
  400: OpenAI.BadRequestError,
  401: OpenAI.AuthenticationError,
  404: OpenAI.NotFoundError,
  429: OpenAI.RateLimitError,
  502: OpenAI.InternalServerError,
} as const

const ERRORS = [
  ['a wrong key', () => clientOf('sk-wrong-0123456789').chat.completions.create(PLAIN), 401],
  ['an unknown model', () => create({ model: 'sim/nothing' }), 404],
  ['a value out of range', () => create({ temperature: 2.1 }), 400],
  ['a prompt that is too long', () => create({ model: 'sim/fault-context-length' }), 400],
  ['a provider’s rate limit', () => create({ model: 'sim/fault-rate-limited' }), 429],
  ['a provider that fails', () => create({ model: 'sim/fault-error' }), 502],
  ['a provider that fails a stream', () => stream({ model: 'sim/fault-error' }), 502],
] as const

for (const [what, call, status] of ERRORS) {
  const kind = ERROR_CLASSES[status]

  test(`${what} has its error class, status and code`, async (t) => {
    const error = await apiErrorOf(t, call())
    t.ok(error instanceof kind, `${status} is ${error.constructor.name}`)
    t.equal(error.status, status)
    t.equal(error.code as unknown, status)
    t.match(error.requestID, /^req-/)
  })
}

test('a failure in the middle of a stream throws after what came before', async (t) => {
  const chunks = await stream({ model: 'sim/fault-cut' })
  let text = ''
  const read = async (): Promise<void> => {
    for await (const chunk of chunks) text += chunk.choices[0]?.delta.content ?? ''
  }
  const error = await apiErrorOf(t, read())
  t.ok(text.length > 0)
  t.equal(error.code as unknown, 502)
})

test('a stream can be left early, and the next call is served', async (t) => {
  const chunks = await stream({ model: 'sim/standard' })
  for await (const _ of chunks) break
  t.ok(chunks.controller.signal.aborted)
  t.match(await create(), { object: 'chat.completion' })
})

test('log probabilities', async (t) => {
  const answer = await create({ logprobs: true, top_logprobs: 2, max_tokens: 5 })
  const tokens = answer.choices[0]?.logprobs?.content ?? []
  t.equal(tokens.map(({ token }) => token).join(''), answer.choices[0]?.message.content)
  for (const token of tokens) t.equal(token.top_logprobs.length, 2)
})
