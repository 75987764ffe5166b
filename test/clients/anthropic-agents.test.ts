/** Tool loops, conversations and files of `@anthropic-ai/sdk`, by its own helpers, unmodified. */
import { createReadStream } from 'node:fs'
import Anthropic, { toFile } from '@anthropic-ai/sdk'
import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory'
import { betaZodOutputFormat, betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import tap, { test } from 'tap'
import { z } from 'zod'
import { failureOf } from '../support/clients/failure-of.js'
import { speaking } from '../support/providers/mock-anthropic.js'
import { mockUpstream } from '../support/providers/mock-upstream.js'
import { API_KEY, type Json, startGateway } from '../support/servers/gateway-server.js'

const provider = await mockUpstream(
  tap,
  speaking({ content: [{ type: 'text', text: 'Hm.' }], stop_reason: 'end_turn' }),
)
const server = await startGateway({
  config: {
    providers: { theirs: { kind: 'anthropic', base_url: provider.origin } },
    models: { 'lab/theirs': { endpoints: [{ provider: 'theirs' }] } },
  },
})
tap.after(() => server.stop())

/** What went over the wire: the status of each call, and its body. */
const sent: { status: number; body: Json }[] = []
const client = new Anthropic({
  baseURL: `${server.baseUrl}/api`,
  apiKey: API_KEY,
  maxRetries: 0,
  fetch: async (url, init) => {
    const response = await fetch(url, init)
    const body = typeof init?.body === 'string' ? JSON.parse(init.body) : null
    sent.push({ status: response.status, body })
    return response
  },
})
/** What was sent since this was asked before. */
const sentSince = () => sent.splice(0)

const asked: unknown[] = []
const weather = betaZodTool({
  name: 'get_weather',
  description: 'Weather of a city.',
  inputSchema: z.object({ city: z.string(), days: z.number().int().min(1).max(7) }),
  run: (input) => {
    asked.push(input)
    return `Sunny in ${input.city}.`
  },
})
const LOOP = {
  model: 'sim/instant',
  max_tokens: 500,
  tools: [weather],
  messages: [
    {
      role: 'user' as const,
      content: 'call: get_weather {"city":"Zürich","days":2}\ncall: get_weather {"city":"Genève","days":7}',
    },
  ],
}
const INPUTS = [
  { city: 'Zürich', days: 2 },
  { city: 'Genève', days: 7 },
]

test('toolRunner() runs a loop to its end, without a thread when it is told that there are none', async (t) => {
  asked.length = 0
  sentSince()
  const last = await client.beta.messages.toolRunner(LOOP)
  t.equal(last.stop_reason, 'end_turn')
  t.strictSame(asked, INPUTS)
  const calls = sentSince()
  t.strictSame(
    calls.map(({ status, body }) => [status, body.thread?.type, body.messages.length]),
    [
      [400, 'create', 1],
      [200, undefined, 1],
      [200, undefined, 3],
      [200, undefined, 5],
    ],
    'the whole conversation goes out each time',
  )
})

test('toolRunner() streams a loop to its end', async (t) => {
  asked.length = 0
  const reasons: unknown[] = []
  for await (const stream of client.beta.messages.toolRunner({ ...LOOP, stream: true })) {
    reasons.push((await stream.finalMessage()).stop_reason)
  }
  t.strictSame(reasons, ['tool_use', 'tool_use', 'end_turn'])
  t.strictSame(asked, INPUTS)
})

test('toolRunner() makes up arguments that its own checks take', async (t) => {
  asked.length = 0
  for (let seed = 0; seed < 5; seed++) {
    const messages = [{ role: 'user' as const, content: `How is the weather? (${seed})` }]
    const last = await client.beta.messages.toolRunner({ ...LOOP, messages, thread: false })
    t.equal(last.stop_reason, 'end_turn')
  }
  t.equal(asked.length, 5)
})

test('the tool for memory is called with what the prompt says', async (t) => {
  const seen: unknown[] = []
  const see = async (command: unknown): Promise<string> => {
    seen.push(command)
    return 'empty'
  }
  const memory = betaMemoryTool({
    view: see,
    create: see,
    str_replace: see,
    insert: see,
    delete: see,
    rename: see,
  })
  const content = 'call: memory {"command":"view","path":"/memories"}'
  const last = await client.beta.messages.toolRunner({
    ...LOOP,
    tools: [memory],
    messages: [{ role: 'user', content }],
  })
  t.equal(last.stop_reason, 'end_turn')
  t.strictSame(seen, [{ command: 'view', path: '/memories' }])
})

for (const model of ['sim/instant', 'lab/theirs']) {
  test(`a thread of ${model} is refused by name, never half carried out`, async (t) => {
    const thread = client.beta.messages.thread({ model, max_tokens: 100 })
    const error = await failureOf(thread.send({ role: 'user', content: 'Hello.' }))
    t.ok(error instanceof Anthropic.BadRequestError)
    t.match(error, {
      error: { error: { details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] } } },
    })
    t.match(String(error), /thread: is not supported: send the whole conversation/)
  })

  test(`a thread of ${model} that may go on without one sends the whole conversation`, async (t) => {
    sentSince()
    const thread = client.beta.messages.thread({
      model,
      max_tokens: 100,
      unsupportedRequestBehavior: 'continue_unthreaded',
    })
    await thread.send({ role: 'user', content: 'My name is Ada.' })
    await thread.send({ role: 'user', content: 'What is my name?' })
    const last = sentSince().at(-1)!
    t.match(last, { status: 200, body: { messages: [{ content: 'My name is Ada.' }, {}, {}] } })
    t.equal(last.body.thread, undefined)
  })
}

test('parse() gives what the schema describes, also where the helper moves bounds into words', async (t) => {
  const Person = z.object({
    name: z.string().min(12).max(20),
    age: z.number().int().min(200).max(210),
    code: z.string().regex(/^[A-Z]{2}-\d+$/),
  })
  for (let seed = 0; seed < 5; seed++) {
    const answer = await client.beta.messages.parse({
      model: 'sim/instant',
      max_tokens: 500,
      messages: [{ role: 'user', content: `Somebody (${seed}).` }],
      output_config: { format: betaZodOutputFormat(Person) },
    })
    t.ok(Person.safeParse(answer.parsed_output).success)
  }
})

test('a stream tells its texts, blocks and message as they come', async (t) => {
  const told: string[] = []
  let text = ''
  const stream = client.messages
    .stream({ model: 'sim/instant', max_tokens: 20, messages: [{ role: 'user', content: 'Hi.' }] })
    .on('connect', () => told.push('connect'))
    .on('text', (delta) => {
      text += delta
    })
    .on('contentBlock', ({ type }) => told.push(type))
    .on('message', ({ role }) => told.push(role))
    .on('end', () => told.push('end'))
  t.equal(await stream.finalText(), text)
  t.equal((await stream.finalMessage()).usage.output_tokens, 20)
  await stream.done()
  t.strictSame(told, ['connect', 'text', 'assistant', 'end'])
})

test('models are listed page by page and retrieved', async (t) => {
  const first = await client.models.list({ limit: 5 })
  t.equal(first.data.length, 5)
  const models: Anthropic.ModelInfo[] = []
  for await (const model of client.models.list({ limit: 5 })) models.push(model)
  const all = await client.models.list({ limit: 1000 })
  t.strictSame(models, all.data)
  const fast = models.find(({ id }) => id === 'sim/fast')!
  t.match(fast, { type: 'model', display_name: 'Simulated: Fast', created_at: String })
  t.strictSame(await client.models.retrieve('sim/fast'), fast)
  const error = await failureOf(client.models.retrieve('sim/none'))
  t.ok(error instanceof Anthropic.NotFoundError)
})

test('an early refusal names its call in the body as in the header', async (t) => {
  const wish = { model: 'sim/instant', max_tokens: 0, messages: [] }
  const error = await failureOf(client.messages.create(wish))
  t.ok(error instanceof Anthropic.BadRequestError)
  const { requestID, error: body } = error as InstanceType<typeof Anthropic.APIError>
  t.match(requestID, /^req-/)
  t.equal((body as { request_id?: string }).request_id, requestID)
})

test('files are uploaded, also while they are read, described, listed and deleted', async (t) => {
  for (const files of [client.beta.files, client.files]) {
    const bytes = Buffer.from('hello')
    const made = await files.upload({ file: await toFile(bytes, 'a.txt', { type: 'text/plain' }) })
    t.match(made, { type: 'file', filename: 'a.txt', mime_type: 'text/plain', size_bytes: 5 })
    t.strictSame(await files.retrieveMetadata(made.id), made)
    const { id } = await files.upload({ file: createReadStream('package.json') })
    const ids: string[] = []
    for await (const file of files.list({ limit: 1 })) ids.push(file.id)
    t.strictSame(ids, [id, made.id])
    for (const one of ids) t.match(await files.delete(one), { id: one, type: 'file_deleted' })
  }
})
