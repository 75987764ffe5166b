/** `@openrouter/sdk`, unmodified, against a real server: it checks every answer against its own schemas. */
import { OpenRouter } from '@openrouter/sdk'
import type { ChatFunctionTool, ChatRequest, ChatResult, ChatStreamChunk } from '@openrouter/sdk/models'
import * as errors from '@openrouter/sdk/models/errors'
import tap, { test } from 'tap'
import { failureOf } from '../support/clients/failure-of.js'
import { API_KEY, CANARY_PROMPT, MANAGEMENT_KEY, startGateway } from '../support/servers/gateway-server.js'

const server = await startGateway()
tap.teardown(() => server.stop())

/** Retries would hide the first answer, and wait for an hour. */
function clientOf(apiKey = API_KEY): OpenRouter {
  return new OpenRouter({ serverURL: server.apiUrl, apiKey, retryConfig: { strategy: 'none' } })
}

const client = clientOf()
const manager = clientOf(MANAGEMENT_KEY)

type Wishes = Partial<ChatRequest>

function request(wishes: Wishes): { xOpenRouterMetadata: 'enabled'; chatRequest: ChatRequest } {
  const messages: ChatRequest['messages'] = [{ role: 'user', content: CANARY_PROMPT }]
  return { xOpenRouterMetadata: 'enabled', chatRequest: { model: 'sim/instant', messages, ...wishes } }
}

async function whole(wishes: Wishes = {}): Promise<ChatResult> {
  return (await client.chat.send({ ...request({ ...wishes, stream: false }) })) as ChatResult
}

async function streamed(wishes: Wishes = {}): Promise<ChatStreamChunk[]> {
  const stream = await client.chat.send({ ...request({ ...wishes, stream: true }) })
  const chunks: ChatStreamChunk[] = []
  for await (const chunk of stream as AsyncIterable<ChatStreamChunk>) chunks.push(chunk)
  return chunks
}

const textOf = (chunks: readonly ChatStreamChunk[]): string =>
  chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')

test('an answer, whole and streamed', async (t) => {
  const answer = await whole({ seed: 5 })
  t.match(answer, { object: 'chat.completion', model: 'sim/instant', choices: [{ finishReason: 'stop' }] })
  t.match(answer.id, /^gen-/)
  t.ok((answer.usage?.totalTokens ?? 0) > 0 && (answer.usage?.cost ?? 0) > 0)
  const chunks = await streamed({ seed: 5 })
  t.equal(textOf(chunks), answer.choices[0]?.message.content)
  t.same(chunks.at(-1)?.usage, answer.usage)
})

/** `sim/standard` and the reasoner take their time; the others stand for every kind of answer. */
const MODELS = ['sim/instant', 'sim/fast', 'sim/standard', 'sim/reasoner']

test('every steady model’s answers are accepted, whole and streamed', async (t) => {
  await Promise.all(
    MODELS.map(async (model) => {
      const wishes = { model, maxTokens: 20 }
      const [answer, chunks] = await Promise.all([whole(wishes), streamed(wishes)])
      t.equal(textOf(chunks), answer.choices[0]?.message.content, model)
    }),
  )
})

const WEATHER: ChatFunctionTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}

test('tools are called, and their results answered', async (t) => {
  const wishes: Wishes = { tools: [WEATHER], toolChoice: 'required', parallelToolCalls: false }
  const { message, finishReason } = (await whole(wishes)).choices[0]!
  t.equal(finishReason, 'tool_calls')
  const call = message.toolCalls![0]!
  t.match(JSON.parse(call.function.arguments), { city: String })
  const fragments = (await streamed(wishes)).flatMap(({ choices }) => choices[0]?.delta.toolCalls ?? [])
  t.equal(fragments.map((part) => part.function?.arguments ?? '').join(''), call.function.arguments)
  const result = { role: 'tool' as const, toolCallId: call.id, content: '{"degrees":21}' }
  const user = { role: 'user' as const, content: CANARY_PROMPT }
  const loop = await whole({ tools: [WEATHER], messages: [user, { ...message }, result] })
  t.equal(loop.choices[0]?.finishReason, 'stop')
})

test('an answer fits the schema', async (t) => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 1 } },
    required: ['name', 'age'],
    additionalProperties: false,
  }
  const responseFormat = {
    type: 'json_schema' as const,
    jsonSchema: { name: 'person', strict: true, schema },
  }
  const answer = await whole({ responseFormat })
  t.match(JSON.parse(answer.choices[0]?.message.content as string), { name: String, age: Number })
  t.equal(textOf(await streamed({ responseFormat })), answer.choices[0]?.message.content)
})

test('reasoning arrives as reasoning, with its details', async (t) => {
  const wishes: Wishes = { reasoning: { effort: 'low' } }
  const { message } = (await whole(wishes)).choices[0]!
  t.ok((message.reasoning ?? '').length > 0)
  t.match(message.reasoningDetails, [{ type: 'reasoning.text', text: message.reasoning }])
  const deltas = (await streamed(wishes)).map(({ choices }) => choices[0]?.delta)
  t.equal(deltas.map((delta) => delta?.reasoning ?? '').join(''), message.reasoning)
  t.ok(deltas.some((delta) => delta?.reasoningDetails?.[0]?.type === 'reasoning.text'))
})

test('log probabilities, whole and streamed', async (t) => {
  const wishes = { logprobs: true, topLogprobs: 2, maxTokens: 5 }
  const tokens = (await whole(wishes)).choices[0]?.logprobs?.content ?? []
  t.equal(tokens.length, 5)
  const parts = (await streamed(wishes)).flatMap(({ choices }) => choices[0]?.logprobs?.content ?? [])
  t.same(parts, tokens)
})

test('a failure inside a stream is a chunk that is accepted', async (t) => {
  for (const model of ['sim/fault-cut', 'sim/fault-malformed', 'sim/fault-no-terminator']) {
    const last = (await streamed({ model })).at(-1)
    t.match(last?.error, { code: 502, metadata: { errorType: 'provider_unavailable' } }, model)
    t.equal(last?.choices[0]?.finishReason, 'error')
  }
})

const FAILURES = [
  ['a value out of range', { maxTokens: 0 }, errors.BadRequestResponseError, 400],
  ['a prompt that is too long', { model: 'sim/fault-context-length' }, errors.BadRequestResponseError, 400],
  ['an unknown model', { model: 'sim/nothing' }, errors.NotFoundResponseError, 404],
  ['a rate limit', { model: 'sim/fault-rate-limited' }, errors.TooManyRequestsResponseError, 429],
  ['a provider that fails', { model: 'sim/fault-error' }, errors.BadGatewayResponseError, 502],
  ['a provider that is late', { model: 'sim/fault-silence' }, errors.EdgeNetworkTimeoutResponseError, 524],
] as const

/** All at once: one of them fails only after two seconds of silence. */
const failed = FAILURES.map(([, wishes]) => [failureOf(whole(wishes)), failureOf(streamed(wishes))] as const)

for (const [at, [what, , kind, status]] of FAILURES.entries()) {
  test(`${what} has its error class and status, whole and streamed`, async (t) => {
    for (const error of await Promise.all(failed[at]!)) {
      if (!(error instanceof kind)) throw error
      t.equal(error.statusCode, status)
      t.equal(error.error.code, status)
      t.match(error.headers.get('x-request-id'), /^req-/)
    }
  })
}

test('a provider that is down, and one that is overloaded', async (t) => {
  const prompts = Array.from({ length: 12 }, (_, i) => [{ role: 'user' as const, content: `${i}` }])
  const calls = prompts.map((messages) => failureOf(whole({ model: 'sim/overloaded', messages })))
  const met = (await Promise.all(calls)).filter((error) => error !== null)
  t.ok(met.some((error) => error instanceof errors.ServiceUnavailableResponseError))
  t.ok(met.some((error) => error instanceof errors.ProviderOverloadedResponseError))
})

test('a wrong key and a key that may not are told apart', async (t) => {
  const wrong = clientOf('sk-wrong-0123456789')
  const unknown = await failureOf(wrong.chat.send(request({})))
  t.ok(unknown instanceof errors.UnauthorizedResponseError)
  t.ok((await failureOf(wrong.apiKeys.getCurrentKeyMetadata())) instanceof errors.UnauthorizedResponseError)
  t.match(await failureOf(client.apiKeys.list()), { statusCode: 403 })
})

test('models, their endpoints and the providers', async (t) => {
  const ids: string[] = []
  for await (const { result } of await client.models.list({ limit: 5 })) {
    ids.push(...result.data.map(({ id }) => id))
  }
  t.equal(ids.length, (await client.models.count()).data.count)
  t.equal(new Set(ids).size, ids.length)
  for (const id of ids) {
    const [author = '', slug = ''] = id.split('/')
    t.equal((await client.models.get({ author, slug })).data.id, id)
    t.equal((await client.endpoints.list({ author, slug })).data.endpoints.length, 1)
  }
  t.match((await client.providers.list()).data, [{ slug: 'sim' }])
  t.ok((await client.endpoints.listZdrEndpoints()).data)
  const missing = failureOf(client.models.get({ author: 'sim', slug: 'nothing' }))
  t.ok((await missing) instanceof errors.NotFoundResponseError)
})

test('a key is made, found, changed, used and deleted', async (t) => {
  const expiresAt = new Date('2099-01-31T12:00:00Z')
  const wanted = { name: 'sdk', limit: 5, limitReset: 'daily' as const, expiresAt }
  const { key, data } = await manager.apiKeys.create({ requestBody: wanted })
  t.match(data, { name: 'sdk', limit: 5, limitReset: 'daily', disabled: false, expiresAt })
  const own = clientOf(key)
  t.match(await own.chat.send(request({})), { object: 'chat.completion' })
  t.match(await own.apiKeys.getCurrentKeyMetadata(), { data: { isManagementKey: false, limit: 5 } })
  const { hash } = data
  t.equal((await manager.apiKeys.get({ hash })).data.name, 'sdk')
  const changes = { name: 'renamed', disabled: true, limit: null }
  t.match((await manager.apiKeys.update({ hash, requestBody: changes })).data, changes)
  t.ok((await failureOf(own.chat.send(request({})))) instanceof errors.UnauthorizedResponseError)
  const listed = async (includeDisabled: boolean): Promise<boolean> =>
    (await manager.apiKeys.list({ includeDisabled })).data.some((one) => one.hash === hash)
  t.same([await listed(false), await listed(true)], [false, true])
  t.equal((await manager.apiKeys.delete({ hash })).deleted, true)
  t.ok((await failureOf(manager.apiKeys.get({ hash }))) instanceof errors.NotFoundResponseError)
  t.match(await manager.apiKeys.getCurrentKeyMetadata(), { data: { isManagementKey: true } })
})
