/** The document and the operations of the messages format: what is taken, and real replies of every status. */
import tap, { test } from 'tap'
import { type HttpReply, httpClient } from '../../support/clients/http-client.js'
import { message, messageEventsOf } from '../../support/clients/messages-calls.js'
import {
  DocumentRules,
  documentFaults,
  type OpenApiDocument,
} from '../../support/schemas/openapi-validator.js'
import { API_KEY, type Json, startGateway } from '../../support/servers/gateway-server.js'

const server = await startGateway({ config: { routing: { retries: 0 } } })
const client = httpClient(server.baseUrl, 8)
tap.teardown(async () => {
  client.close()
  await server.stop()
})
const document = (await client.get('/api/v1/openapi.json')).json as OpenApiDocument
const rules = new DocumentRules(document)

function send(
  body: unknown,
  path = '/messages',
  headers: object = { 'x-api-key': API_KEY },
): Promise<HttpReply> {
  return client.send({
    method: 'POST',
    path: `/api/v1${path}`,
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'Content-Type': 'application/json', ...headers },
  })
}

const LOOKUP = { name: 'lookup', input_schema: { type: 'object' } }

const REPLIES: readonly (readonly [operation: string, status: number, body: unknown, headers?: object])[] = [
  ['messages', 200, message()],
  ['messages', 200, message({ tools: [LOOKUP] })],
  ['messages', 200, message({ model: 'sim/reasoner', thinking: { type: 'adaptive' } })],
  ['messages', 200, message({ tools: [{ type: 'web_search_20250305', name: 'web_search' }] })],
  ['messages', 200, message({ model: 'sim/fault-content-filter' })],
  ['messages', 400, message({ max_tokens: 0 })],
  ['messages', 401, message(), {}],
  ['messages', 404, message({ model: 'sim/none' })],
  ['messages', 429, message({ model: 'sim/fault-rate-limited' })],
  ['messages', 502, message({ model: 'sim/fault-error' })],
  ['messages', 524, message({ model: 'sim/fault-silence' })],
  ['count_message_tokens', 200, message()],
  ['count_message_tokens', 400, '{'],
  ['count_message_tokens', 401, message(), {}],
  ['count_message_tokens', 404, message({ model: 'sim/none' })],
]

// Judging takes long enough for idle connections to be closed, so everything is asked before.
const replies: HttpReply[] = []
for (const [operation, , body, headers] of REPLIES) {
  replies.push(await send(body, operation === 'messages' ? '/messages' : '/messages/count_tokens', headers))
}

/** What makes an event another one to the document. */
const kindOf = (event: Json): string => `${event.type} ${event.delta?.type} ${event.content_block?.type}`

const STREAMED = [
  message({ stream: true, max_tokens: 5 }),
  message({ stream: true, tools: [LOOKUP] }),
  message({ stream: true, model: 'sim/reasoner', thinking: { type: 'adaptive' } }),
  message({
    stream: true,
    model: 'sim/agent',
    tools: [{ type: 'web_search_20250305', name: 'web_search' }],
    messages: [{ role: 'user', content: 'call service:web_search {"query":"gate three"}' }],
  }),
  message({ stream: true, model: 'sim/fault-cut' }),
]
const kinds = new Map<string, readonly [HttpReply, Json]>()
for (const body of STREAMED) {
  const reply = await send(body, '/messages', { 'x-api-key': API_KEY, 'X-Service-Metadata': 'enabled' })
  for (const event of messageEventsOf(reply.text)) kinds.set(kindOf(event), [reply, event])
}

test('the document is valid, and its messages part names no brand', async (t) => {
  t.same(await documentFaults(document), [])
  const paths = Object.entries(document.paths).filter(([path]) => path.startsWith('/api/v1/messages'))
  t.equal(paths.length, 2)
  t.notMatch(JSON.stringify([paths, document.components]), /openrouter/i)
})

const said = (...content: object[]): Json => message({ messages: [{ role: 'assistant', content }] })

const BODIES: readonly Json[] = [
  message(),
  message({
    system: [{ type: 'text', text: 'a' }],
    stop_sequences: ['x'],
    temperature: 1,
    top_k: 3,
    unknown: 1,
  }),
  message({
    tools: [LOOKUP, { type: 'custom', ...LOOKUP }, { type: null, ...LOOKUP }],
    tool_choice: { type: 'any' },
  }),
  message({
    tools: [
      { type: 'web_search_20250305', name: 'web_search' },
      { type: 'later_20300101', a: 1 },
    ],
  }),
  message({ thinking: { type: 'between_tools' }, output_config: { effort: 'low', later: 1 }, speed: null }),
  message({
    fallbacks: [{ model: 'a/b' }],
    provider: { only: ['x'] },
    plugins: [{ id: 'web', enabled: false }],
  }),
  message({ context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] } }),
  said(
    { type: 'thinking', thinking: 'a', signature: 'b' },
    { type: 'tool_use', id: 'a', name: 'b', input: {} },
  ),
  said(
    { type: 'service_bash_tool_result', tool_use_id: 'a', content: {} },
    { type: 'compaction', content: null },
  ),
  said({ type: 'hologram' }),
]

const NO_BODIES: readonly Json[] = [
  message({ max_tokens: 0 }),
  message({ fallbacks: Array(4).fill({ model: 'a/b' }) }),
  message({ fallbacks: [{ model: 'a/b', more: 1 }] }),
  message({ thinking: { type: 'between_tools', more: 1 } }),
  message({ tools: [{ type: 'bash_20250124', name: 'sh' }] }),
  message({ user: 'u'.repeat(257) }),
]

test('the document takes what the server takes, and refuses what breaks a type or a bound', async (t) => {
  for (const body of BODIES) {
    t.ok(rules.takesBody('messages', body), JSON.stringify(body))
    t.ok(rules.takesBody('count_message_tokens', body), JSON.stringify(body))
  }
  for (const body of NO_BODIES) t.notOk(rules.takesBody('messages', body), JSON.stringify(body))
})

test('real replies are what the document says', async (t) => {
  for (const [at, [operation, status]] of REPLIES.entries()) {
    const reply = replies[at]!
    t.equal(reply.status, status, reply.text.slice(0, 200))
    t.strictSame(rules.replyFaults(operation, reply), [], `${operation} ${status}`)
    t.match(reply.headers['request-id'], /^req-/)
  }
})

test('each kind of event of a stream, and the reply that carries them', async (t) => {
  t.equal(kinds.size, 16)
  // The document describes the events; a body of this media type is judged one event at a time.
  for (const [kind, [{ status, headers, body }, event]] of kinds) {
    const faults = rules.replyFaults('messages', { status, headers, body, text: event, json: null })
    t.strictSame(faults, [], kind)
  }
})
