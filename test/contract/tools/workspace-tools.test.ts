/** Tools that work on the caller's workspace, in loops of both formats (contract/tools 3.4 and 3.11). */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import tap, { test } from 'tap'
import { askMessages } from '../../support/clients/messages-calls.js'
import {
  API_KEY,
  askChat,
  type Json,
  MANAGEMENT_KEY,
  startGateway,
} from '../../support/servers/gateway-server.js'

const config = { tools: { memory: { price: '0.001' } } }
const server = await startGateway({ env: { SLUICE_WORKERS: '2' }, config })
tap.teardown(() => server.stop())

const openai = new OpenAI({ baseURL: server.apiUrl, apiKey: API_KEY, maxRetries: 0 })
const anthropic = new Anthropic({ baseURL: `${server.baseUrl}/api`, apiKey: API_KEY, maxRetries: 0 })

/** Lines of a script for the simulated agent, which then tells what its calls have given. */
const script = (tool: string, ...calls: readonly object[]): string =>
  calls.map((args) => `call service:${tool} ${JSON.stringify(args)}`).join('\n')
const asked = (tool: string, content: string, model = 'sim/agent') => ({
  model,
  messages: [{ role: 'user' as const, content }],
  tools: [{ type: `service:${tool}` }] as never[],
})
const dollars = (usage: unknown): number => (usage as { readonly cost: number }).cost

test('what one request remembers another one knows, in either format, and the calls are paid', async (t) => {
  const path = '/memories/taste.md'
  const first = await openai.chat.completions.create(
    asked('memory', script('memory', { command: 'create', path, file_text: 'Likes oats.' })),
  )
  t.match(first.choices[0]!.message.content, /Created \/memories\/taste\.md/)
  t.ok(dollars(first.usage) > 0.001, 'the price that the operator asks for')
  const view = asked('memory', script('memory', { command: 'view', path }))
  for (let n = 0; n < 8; n++) {
    // Connections of their own go to either worker.
    const seen = await askChat(server, view, { Connection: 'close' })
    t.match(seen.json().choices[0].message.content, /1\\tLikes oats\./)
  }
  let streamed = ''
  for await (const chunk of await openai.chat.completions.create({ ...view, stream: true }))
    streamed += chunk.choices[0]?.delta.content ?? ''
  t.match(streamed, /1\\tLikes oats\./)
  const answer = await anthropic.messages.create({ ...view, max_tokens: 500 })
  t.strictSame(
    answer.content.map(({ type }) => type as string),
    ['server_tool_use', 'memory_tool_result', 'text'],
  )
  t.match(JSON.stringify(answer.content), /Likes oats/)
  const final = await anthropic.messages.stream({ ...view, max_tokens: 500 }).finalMessage()
  t.match(JSON.stringify(final.content), /Likes oats/)
})

test('another workspace remembers nothing of it', async (t) => {
  const { key: management } = (await (
    await server.post('/organizations', { name: 'tenant' }, { key: MANAGEMENT_KEY })
  ).json()) as Json
  const { key } = (await (await server.post('/keys', { name: 'x' }, { key: management })).json()) as Json
  const headers = { Authorization: `Bearer ${key}` }
  const calls = [{ command: 'view', path: '/memories' }]
  const seen = await askChat(server, asked('memory', script('memory', ...calls)), headers)
  t.match(seen.json().choices[0].message.content, /\/memories is empty/)
  const files = await askChat(server, asked('files', script('files', { command: 'list' })), headers)
  t.match(files.json().choices[0].message.content, /"files":\[\]/)
})

test('the text editor of the messages format runs here where it is asked to', async (t) => {
  const create = { command: 'create', path: '/src/a.py', file_text: 'x = 1' }
  const tools = [{ type: 'service:text_editor' }]
  const content = script('str_replace_based_edit_tool', create, { command: 'view', path: '/src' })
  const body = { model: 'sim/agent', max_tokens: 500, messages: [{ role: 'user', content }], tools }
  const answer = await askMessages(server, body)
  t.equal(answer.status, 200, answer.text)
  t.match(answer.text, /Created \/src\/a\.py/)
  t.match(answer.text, /5 bytes\\\\t\/src\/a\.py/)
  const name = 'str_replace_based_edit_tool'
  const dated = { type: 'text_editor_20250728', name, engine: 'service', max_characters: 2 }
  const view = script(name, { command: 'view', path: '/src/a.py' })
  const messages = [{ role: 'user', content: view }]
  const forced = { ...body, messages, tools: [dated], tool_choice: { type: 'tool', name } }
  const cut = await askMessages(server, forced)
  t.equal(cut.status, 200, cut.text)
  const [, { content: shown }] = cut.json().content
  t.match(shown, { output: /cut after 2 characters/ })
  const twice = script(name, { command: 'view', path: '/src' }, { command: 'view', path: '/src/a.py' })
  const stopped = await askMessages(server, {
    ...body,
    messages: [{ role: 'user', content: twice }],
    tools: [dated],
    stop_server_tools_when: [{ type: 'has_tool_call', tool_name: dated.type }],
  })
  const results = stopped.json().content.filter(({ type }: Json) => type === 'text_editor_tool_result')
  t.equal(
    results.length,
    stopped.json().content.filter(({ type }: Json) => type === 'server_tool_use').length,
  )
  t.equal(stopped.json().stop_reason, 'pause_turn', 'the type is a spelling of the tool')
})

test('a file that a model has written is named and can be downloaded, and be named in the next request', async (t) => {
  const write = { command: 'write', filename: 'list.txt', content: 'Oats, milk.' }
  for (const stream of [false, true]) {
    const answer = await askChat(server, { ...asked('files', script('files', write)), stream })
    const said: Json[] = stream
      ? answer.events().flatMap((event: Json) => event.choices?.[0]?.delta?.annotations ?? [])
      : answer.json().choices[0].message.annotations
    t.match(said, [{ type: 'file', file: { filename: 'list.txt', size_bytes: 11 } }])
    const id = said[0].file.file_id as string
    const content = await server.get(`/files/${id}/content`, MANAGEMENT_KEY)
    t.equal(await content.text(), 'Oats, milk.')
    const named = [{ type: 'file', file: { file_id: id } }]
    const next = { model: 'sim/filemaker', messages: [{ role: 'user', content: named }] }
    t.equal((await askChat(server, next)).status, 200)
  }
  const upload = await askMessages(server, { ...asked('files', script('files', write)), max_tokens: 500 })
  const { file_id } = upload.json().content.find(({ type }: Json) => type === 'container_upload')
  const messages = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: upload.json().content },
    { role: 'user', content: [{ type: 'document', source: { type: 'file', file_id } }] },
  ]
  const again = await askMessages(server, { model: 'sim/fast', max_tokens: 50, messages })
  t.equal(again.status, 200, again.text)
})
