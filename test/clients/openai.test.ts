/** The `openai` package, unmodified, against a real server. */
import OpenAI from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import tap, { type Test, test } from 'tap'
import { z } from 'zod'
import { API_KEY, type GatewayServer, startGateway } from '../support/servers/gateway-server.js'

const server: GatewayServer = await startGateway()
tap.after(() => server.stop())

/** Retries would hide the first answer. */
const clientOf = (apiKey = API_KEY): OpenAI => new OpenAI({ baseURL: server.apiUrl, apiKey, maxRetries: 0 })
const client = clientOf()
const HELLO = [{ role: 'user' as const, content: 'Say hello.' }]

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
  const { data, request_id } = await client.chat.completions
    .create({ model: 'sim/instant', messages: HELLO })
    .withResponse()
  t.match(data, { object: 'chat.completion', model: 'sim/instant', choices: [{ finish_reason: 'stop' }] })
  t.ok((data.choices[0]?.message.content ?? '').length > 0)
  t.ok(data.usage !== undefined && data.usage.total_tokens > 0)
  t.match(request_id, /^req-/)
})

test('a stream says what the whole answer says, and its usage', async (t) => {
  const whole = await client.chat.completions.create({ model: 'sim/instant', messages: HELLO, seed: 7 })
  const stream = await client.chat.completions.create({
    model: 'sim/instant',
    messages: HELLO,
    seed: 7,
    stream: true,
  })
  let text = ''
  let total = 0
  for await (const chunk of stream) {
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
  const asked = await client.chat.completions.create({
    model: 'sim/instant',
    messages: HELLO,
    tools: [WEATHER],
    tool_choice: 'required',
  })
  const message = asked.choices[0]!.message
  const answered = await client.chat.completions.create({
    model: 'sim/instant',
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

async function failureOf(t: Test, call: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  )
  t.ok(error instanceof OpenAI.APIError, String(error))
  return error as InstanceType<typeof OpenAI.APIError>
}

const chat = (model: string, stream = false): Promise<unknown> =>
  client.chat.completions.create({ model, messages: HELLO, stream })

const ask = (more: object): Promise<unknown> =>
  client.chat.completions.create({ model: 'sim/instant', messages: HELLO, ...more })

const ERRORS = [
  [
    'a wrong key',
    () => clientOf('sk-wrong-0123456789').chat.completions.create({ model: 'sim/instant', messages: HELLO }),
    OpenAI.AuthenticationError,
    401,
  ],
  ['an unknown model', () => chat('sim/nothing'), OpenAI.NotFoundError, 404],
  ['a value out of range', () => ask({ temperature: 2.1 }), OpenAI.BadRequestError, 400],
  ['a prompt that is too long', () => chat('sim/fault-context-length'), OpenAI.BadRequestError, 400],
  ['a provider’s rate limit', () => chat('sim/fault-rate-limited'), OpenAI.RateLimitError, 429],
  ['a provider that fails', () => chat('sim/fault-error'), OpenAI.InternalServerError, 502],
  ['a provider that fails a stream', () => chat('sim/fault-error', true), OpenAI.InternalServerError, 502],
] as const

for (const [what, call, kind, status] of ERRORS) {
  test(`${what} has its error class, status and code`, async (t) => {
    const error = await failureOf(t, call())
    t.ok(error instanceof kind, `${status} is ${error.constructor.name}`)
    t.equal(error.status, status)
    t.equal(error.code as unknown, status)
    t.match(error.requestID, /^req-/)
  })
}

test('a failure in the middle of a stream throws after what came before', async (t) => {
  const stream = await client.chat.completions.create({
    model: 'sim/fault-cut',
    messages: HELLO,
    stream: true,
  })
  let text = ''
  const error = await failureOf(
    t,
    (async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    })(),
  )
  t.ok(text.length > 0)
  t.equal(error.code as unknown, 502)
})

test('a stream can be left early, and the next call is served', async (t) => {
  const stream = await client.chat.completions.create({
    model: 'sim/standard',
    messages: HELLO,
    stream: true,
  })
  for await (const _ of stream) break
  t.ok(stream.controller.signal.aborted)
  t.match(await chat('sim/instant'), { object: 'chat.completion' })
})

test('log probabilities', async (t) => {
  const answer = await client.chat.completions.create({
    model: 'sim/instant',
    messages: HELLO,
    logprobs: true,
    top_logprobs: 2,
    max_tokens: 5,
  })
  const tokens = answer.choices[0]?.logprobs?.content ?? []
  t.equal(tokens.map(({ token }) => token).join(''), answer.choices[0]?.message.content)
  for (const token of tokens) t.equal(token.top_logprobs.length, 2)
})
