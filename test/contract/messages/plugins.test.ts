/** Plugins on messages: the events of a stream stay those of one message, whatever is held, mended or read. */
import { test } from 'tap'
import { type GatewayServer, startGateway } from '../../support/servers/gateway-server.js'

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into as a caller does
type Json = Record<string, any>

let server: GatewayServer

test('a server with simulated models, one of them with a small context', async () => {
  const endpoints = [{ provider: 'sim' }]
  server = await startGateway({ config: { models: { 'acme/small': { endpoints, context_length: 1000 } } } })
})

interface Answer {
  readonly status: number
  readonly text: string
  readonly stop: string | undefined
  readonly model: string | undefined
  readonly metadata: Json
  readonly error: Json | undefined
  readonly types: readonly string[]
}

async function ask(body: Json): Promise<Answer> {
  const asked = { model: 'sim/fast', max_tokens: 200, ...body }
  const response = await server.post('/messages', asked, { headers: { 'X-Service-Metadata': 'enabled' } })
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) return readStream(response)
  const answer = (await response.json()) as Json
  const text = (answer.content ?? []).map((block: Json) => block.text ?? '').join('')
  const { stop_reason: stop, model, error, service_metadata: metadata = {} } = answer
  return { status: response.status, text, stop, model, metadata, error, types: [] }
}

async function readStream(response: Response): Promise<Answer> {
  const events = [...(await response.text()).matchAll(/^data: (\{.*)$/gm)].map(
    ([, data]) => JSON.parse(data!) as Json,
  )
  return {
    status: response.status,
    text: events.map(({ delta }) => delta?.text ?? '').join(''),
    stop: events.findLast(({ delta }) => delta?.stop_reason)?.delta.stop_reason,
    model: events.find(({ message }) => message)?.message.model,
    metadata: events.findLast(({ service_metadata }) => service_metadata)?.service_metadata ?? {},
    error: events.find(({ error }) => error)?.error,
    types: events.map(({ type }) => type),
  }
}

function user(content: string, ...plugins: readonly Json[]): Json {
  return { messages: [{ role: 'user', content }], plugins }
}

function stage({ metadata }: Answer, type: string): Json | undefined {
  return metadata.pipeline?.find((each: Json) => each.type === type)
}

const WAYS = [{}, { stream: true }] as const

test('an answer that is enforced is shown once it is judged, or not at all', async (t) => {
  const rule = { id: 'alignment', rules: ['never say "banana"'], instruct: false }
  for (const way of WAYS) {
    const kept = await ask({ ...user('echo: one apple', rule), ...way })
    t.equal(kept.text, 'one apple')
    const refused = await ask({ ...user('echo: one banana', { ...rule, max_retries: 0 }), ...way })
    t.equal(refused.error?.type, 'permission_error')
    t.notMatch(refused.text, /banana/)
    const retried = await ask({ ...user('echo: one banana', rule), ...way })
    t.notMatch(retried.text, /banana/)
    t.ok(retried.text.length > 0)
    t.match(stage(retried, 'plugin'), { name: 'alignment', data: { retries: 1 } })
    if ('stream' in way) {
      const begins = retried.types.filter((type) => type === 'message_start')
      t.equal(begins.length, 1)
      t.equal(retried.types.at(-1), 'message_stop')
      const starts = retried.types.filter((type) => type === 'content_block_start').length
      t.equal(retried.types.filter((type) => type === 'content_block_stop').length, starts)
    }
  }
})

test('JSON that is cut short is closed', async (t) => {
  const schema = {
    type: 'object',
    properties: {
      words: { type: 'array', items: { type: 'string', minLength: 3 }, minItems: 20, maxItems: 20 },
    },
    required: ['words'],
  }
  const wants = { output_config: { format: { type: 'json_schema', schema } }, max_tokens: 30 }
  for (const way of WAYS) {
    const broken = await ask({ ...user('words'), ...wants, ...way })
    t.throws(() => JSON.parse(broken.text))
    const healed = await ask({ ...user('words', { id: 'response-healing' }), ...wants, ...way })
    t.ok(Array.isArray(JSON.parse(healed.text).words))
    t.ok(healed.text.startsWith(broken.text))
    t.equal(healed.stop, 'max_tokens')
    t.match(stage(healed, 'response_healing'), { data: { healed: true } })
  }
})

test('a conversation that is too long for a small model is compressed unasked', async (t) => {
  const messages = Array.from({ length: 9 }, (_, at) => ({
    role: at % 2 ? 'assistant' : 'user',
    content: `${at} ${'word '.repeat(300)}`,
  }))
  for (const way of WAYS) {
    const answer = await ask({ model: 'acme/small', system: 'be brief', messages, ...way, max_tokens: 50 })
    t.equal(answer.status, 200)
    t.match(stage(answer, 'context_compression'), { name: 'middle-out' })
    const off = [{ id: 'context-compression', enabled: false }]
    const long = await ask({ model: 'acme/small', messages, plugins: off, max_tokens: 50, ...way })
    t.ok(long.error, 'the model refuses it')
  }
})

test('routers choose', async (t) => {
  for (const way of WAYS) {
    const auto = await ask({ ...user('hello'), model: 'service/auto', ...way })
    t.match(auto.model, /^sim\//)
    t.equal(auto.metadata.strategy, 'auto')
    const pareto = await ask({ ...user('hello', { id: 'pareto-router' }), ...way })
    t.equal(pareto.model, 'sim/reasoner')
  }
})

test('words that are flagged are refused in the words of the format', async (t) => {
  for (const way of WAYS) {
    const { status, error } = await ask({ ...user('judge:violence', { id: 'moderation' }), ...way })
    t.equal(status, 403)
    t.equal(error?.type, 'permission_error')
  }
})

test('the server ends', async () => {
  await server.stop()
})
