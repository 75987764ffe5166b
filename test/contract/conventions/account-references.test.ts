/** contract/decisions 46: what lies in the operator's account at a provider is no caller's to name. */
import tap, { type Test, test } from 'tap'
import { askMessages } from '../../support/clients/messages-calls.js'
import { speaking } from '../../support/providers/mock-anthropic.js'
import { mockUpstream } from '../../support/providers/mock-upstream.js'
import { mockCompletion, mockStream } from '../../support/servers/chat-bench.js'
import { askChat, type Json, startGateway } from '../../support/servers/gateway-server.js'

const theirs = await mockUpstream(tap, speaking({ content: [{ type: 'text', text: 'hi' }] }))
const openAi = await mockUpstream(tap, (peer, { body }) => {
  if ((JSON.parse(body) as { stream: boolean }).stream) peer.stream(mockStream('hi'))
  else peer.json(mockCompletion('hi'))
})
const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: {
    providers: {
      theirs: { kind: 'anthropic', name: 'Theirs', base_url: theirs.origin },
      other: { kind: 'openai', name: 'Other', base_url: `${openAi.origin}/v1` },
    },
    models: {
      'acme/theirs': { endpoints: [{ provider: 'theirs' }] },
      'acme/other': { endpoints: [{ provider: 'other' }] },
    },
  },
})
tap.teardown(() => server.stop())

interface Reply {
  readonly status: number
  readonly error: Json
}

/** Asks every way there is; one reply for each, and nothing may have been sent to a provider. */
async function everyWay(t: Test, face: 'chat' | 'messages', more: object): Promise<[string, Reply][]> {
  const replies: [string, Reply][] = []
  for (const model of ['acme/theirs', 'acme/other']) {
    for (const stream of [false, true]) {
      const body = { model, max_tokens: 50, messages: [{ role: 'user', content: 'x' }], ...more, stream }
      const { status, text } = await (face === 'chat' ? askChat(server, body) : askMessages(server, body))
      replies.push([`${model}, ${stream ? 'streamed' : 'whole'}`, { status, error: errorIn(text) }])
    }
    if (face === 'messages') {
      const counted = await count({ model, messages: [{ role: 'user', content: 'x' }], ...more })
      // Counting over a provider without a count of its own sends nothing anywhere.
      if (model === 'acme/theirs' || counted.status !== 200) replies.push([`${model}, counted`, counted])
    }
  }
  t.strictSame([theirs.requests.length, openAi.requests.length], [0, 0], 'nothing was sent')
  return replies
}

async function count(body: object): Promise<Reply> {
  const { status, text } = await askMessages(server, body, {}, '/messages/count_tokens')
  return { status, error: errorIn(text) }
}

function errorIn(text: string): Json {
  try {
    return (JSON.parse(text) as Json).error
  } catch {
    return { message: text }
  }
}

const user = (...content: object[]): object => ({ messages: [{ role: 'user', content }] })
const file = { type: 'file', file_id: 'file_of_somebody' }
const call = { type: 'tool_use', id: 'c1', name: 'f', input: {} }
const answered = (content: unknown): object => ({
  messages: [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: [call] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content }] },
  ],
  tools: [{ name: 'f', input_schema: { type: 'object' } }],
})
const said = (block: object): object => ({
  messages: [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: [block] },
    { role: 'user', content: 'y' },
  ],
})

const IN_MESSAGES: readonly (readonly [what: string, body: object, field: RegExp])[] = [
  ['a picture by its file', user({ type: 'image', source: file }), /messages\.0\.content\.0\.source/],
  ['a document by its file', user({ type: 'document', source: file }), /messages\.0\.content\.0\.source/],
  [
    'an upload to a container',
    user({ type: 'container_upload', file_id: 'f' }),
    /messages\.0\.content\.0\.file_id/,
  ],
  [
    'a file in the result of a tool',
    answered([{ type: 'document', source: file }]),
    /messages\.2\.content\.0\.content\.0\.source/,
  ],
  [
    'a picture in a document in the result of a tool',
    answered([{ type: 'document', source: { type: 'content', content: [{ type: 'image', source: file }] } }]),
    /messages\.2\.content\.0\.content\.0\.source\.content\.0\.source/,
  ],
]

for (const [what, body, field] of IN_MESSAGES) {
  test(`messages have no ${what} that is not the workspace's, and name it`, async (t) => {
    for (const [way, { status, error }] of await everyWay(t, 'messages', body)) {
      t.equal(status, 404, `${way}: ${JSON.stringify(error)}`)
      t.equal(error.type, 'not_found_error', way)
      t.match(error.message, field, way)
    }
  })
}

/** Where no other part of the body says so, only a server of this format could take it. */
const ONLY_THEIRS: readonly (readonly [what: string, body: object, field: string])[] = [
  [
    'a member that nobody knows',
    user({ type: 'text', text: 'x', source: file }),
    'messages.0.content.0.source.file_id',
  ],
  ['a system text with a file', { system: [{ type: 'text', text: 'x', file_id: 'f' }] }, 'system.0.file_id'],
  ['a tool in a container', { tools: [{ type: 'code_run_1', container: 'c' }] }, 'tools.0.container'],
  [
    'files of a tool',
    { tools: [{ type: 'code_run_1', environment: { file_ids: ['f'] } }] },
    'tools.0.environment.file_ids',
  ],
  [
    'file in a kind of block that nobody knows',
    user({ type: 'brand_new', file_id: 'f' }),
    'messages.0.content.0.file_id',
  ],
]

for (const [what, more, field] of ONLY_THEIRS) {
  test(`a messages server is sent no ${what}`, async (t) => {
    const body = { model: 'acme/theirs', max_tokens: 50, messages: [{ role: 'user', content: 'x' }], ...more }
    for (const stream of [false, true]) {
      const { status, text } = await askMessages(server, { ...body, stream })
      t.equal(status, 400, text)
      t.ok(errorIn(text).message.startsWith(`Invalid request parameters: ${field} is not supported`), text)
    }
    t.match(await count(body), { status: 400, error: { message: field } })
    t.equal(theirs.requests.length, 0)
  })
}

test('chat has no file by an id that is not the workspace’s, and names it', async (t) => {
  const body = user({ type: 'file', file: { file_id: 'f' } })
  for (const [way, { status, error }] of await everyWay(t, 'chat', body)) {
    t.equal(status, 404, `${way}: ${JSON.stringify(error)}`)
    t.match(error.message, /messages\.0\.content\.0\.file\.file_id/, way)
  }
})

test('chat takes a file by its id or by its data', async (t) => {
  const both = { file_id: 'f', file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf' }
  for (const [way, { status, error }] of await everyWay(t, 'chat', user({ type: 'file', file: both }))) {
    t.equal(status, 400, `${way}: ${JSON.stringify(error)}`)
    t.match(error.message, /messages\.0\.content\.0\.file: cannot have both/, way)
  }
})

test('a messages server is told what its tools have answered, without the ids of files', async (t) => {
  const output = { type: 'code_execution_output', file_id: 'canary-id' }
  const content = { type: 'code_execution_result', stdout: 'done', content: [output] }
  for (const block of [
    { type: 'code_execution_tool_result', tool_use_id: 's1', content },
    { type: 'container_upload', file_id: 'canary-id' },
  ]) {
    const asked = await askMessages(server, { model: 'acme/theirs', max_tokens: 50, ...said(block) })
    t.equal(asked.status, 200, asked.text)
    const { body } = theirs.requests.pop()!
    t.notMatch(body, '"file_id"')
  }
})

test('an OpenAI-compatible server is told what a tool has answered, without the ids of its files', async (t) => {
  const before = openAi.requests.length
  const output = { type: 'code_execution_output', file_id: 'canary-id' }
  const result = { type: 'code_execution_result', stdout: 'done', content: [output] }
  const asked = await askMessages(server, {
    model: 'acme/other',
    max_tokens: 50,
    ...said({ type: 'code_execution_tool_result', tool_use_id: 's1', content: result }),
  })
  t.equal(asked.status, 200, asked.text)
  const { body } = openAi.requests.splice(before)[0]!
  t.match(body, 'done')
  t.notMatch(body, 'canary-id')
})

test('an OpenAI-compatible server is sent no id in open members', async (t) => {
  const bodies: readonly (readonly [object, string])[] = [
    [{ image_config: { file_id: 'f' } }, 'image_config.file_id'],
    [said({ type: 'text', text: 'x' }), 'messages.1.reasoning_details.0.file_id'],
  ]
  for (const [more, field] of bodies) {
    const body = { model: 'acme/other', messages: [{ role: 'user', content: 'x' }], ...more } as Json
    if (field.startsWith('messages'))
      body.messages[1].reasoning_details = [{ type: 'reasoning.text', file_id: 'f' }]
    const { status, text } = await askChat(server, body)
    t.equal(status, 400, text)
    t.match(errorIn(text).message, `${field} is not supported`)
  }
  t.equal(openAi.requests.length, 0)
})

for (const name of ['container', 'previous_response_id', 'conversation', 'thread']) {
  for (const face of ['chat', 'messages'] as const) {
    test(`${face}: ${name} is refused by name, and null says nothing`, async (t) => {
      for (const value of ['id_of_somebody', { id: 'x' }]) {
        for (const [way, { status, error }] of await everyWay(t, face, { [name]: value })) {
          t.equal(status, 400, way)
          t.ok(
            error.message.startsWith(`Invalid request parameters: ${name}: is not supported`),
            `${way}: ${error.message}`,
          )
          t.strictSame(
            error.details,
            name === 'thread'
              ? { error_code: 'thread_unsupported_request', unsupported: ['thread'] }
              : undefined,
          )
        }
      }
      const body = { messages: [{ role: 'user', content: 'x' }], max_tokens: 50, [name]: null }
      for (const model of ['acme/theirs', 'acme/other']) {
        const asked = await (face === 'chat' ? askChat : askMessages)(server, { model, ...body })
        t.equal(asked.status, 200, asked.text)
      }
      for (const { requests } of [theirs, openAi]) {
        for (const { body: sent } of requests) t.notOk(name in (JSON.parse(sent) as object))
        requests.length = 0
      }
    })
  }
}

test('what only looks like an id goes on: JSON of the caller’s own making', async (t) => {
  const own = { file_id: 'f', container: 'c' }
  const tool = { name: 'f', input_schema: { type: 'object', properties: { file_id: { type: 'string' } } } }
  const { status, text } = await askMessages(server, {
    model: 'acme/theirs',
    max_tokens: 50,
    messages: [
      { role: 'user', content: 'file_id' },
      { role: 'assistant', content: [{ ...call, input: own }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: '{"file_id":"f"}' }] },
    ],
    tools: [{ ...tool, input_examples: [own] }],
  })
  t.equal(status, 200, text)
  t.match(JSON.parse(theirs.requests.at(-1)!.body), { messages: [{}, { content: [{ input: own }] }, {}] })
  const chat = await askChat(server, {
    model: 'acme/other',
    messages: [{ role: 'user', content: 'x' }],
    tools: [{ type: 'function', function: { name: 'f', parameters: tool.input_schema } }],
    metadata: own,
  })
  t.equal(chat.status, 200, chat.text)
  theirs.requests.length = 0
  openAi.requests.length = 0
})

test('a file that a model has made may be named to another one', async (t) => {
  const body = { model: 'sim/filemaker', messages: [{ role: 'user', content: 'Buy oats' }], max_tokens: 50 }
  const made = (await askMessages(server, body)).json()
  const upload = (made.content as Json[]).find(({ type }) => type === 'container_upload')
  t.match(upload, { file_id: /^file_/ })
  const messages = [
    ...body.messages,
    { role: 'assistant', content: made.content },
    { role: 'user', content: 'y' },
  ]
  t.equal((await askMessages(server, { ...body, model: 'sim/instant', messages })).status, 200)
  const chat = user({ type: 'file', file: { file_id: upload.file_id } })
  t.equal((await askChat(server, { model: 'sim/instant', ...chat })).status, 200)
})
