/** What providers over HTTP are sent in the turns of a loop (contract/tools 1.1, 1.3). */
import tap, { test } from 'tap'
import { speaking, type WireAnswer } from '../../support/providers/mock-anthropic.js'
import { mockUpstream } from '../../support/providers/mock-upstream.js'
import { mockChunk } from '../../support/servers/chat-bench.js'
import { askChat, type Json, startGateway } from '../../support/servers/gateway-server.js'

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

/** What a server says to a turn by how many results it has been shown. */
function chatTurn({ messages, tools }: Json): object[] {
  const results = messages.filter(({ role }: Json) => role === 'tool').length
  if (results > 0 || tools === undefined)
    return [mockChunk({ content: 'It is late.' }), mockChunk({}, 'stop', { usage: USAGE })]
  const call = { index: 0, id: 'call_a', type: 'function', function: { name: 'datetime', arguments: '' } }
  return [
    mockChunk({ role: 'assistant', content: 'One moment. ' }),
    mockChunk({ tool_calls: [call] }),
    mockChunk({ tool_calls: [{ index: 0, function: { arguments: '{"timezone":' } }] }),
    mockChunk({ tool_calls: [{ index: 0, function: { arguments: '"UTC"}' } }] }),
    mockChunk({}, 'tool_calls', { usage: USAGE }),
  ]
}

const THINKING = { type: 'thinking', thinking: 'What time is it?', signature: 'signed-by-them' }

function messagesTurn({ messages }: Json): WireAnswer {
  const isAnswered = JSON.stringify(messages).includes('tool_result')
  if (isAnswered) return { content: [{ type: 'text', text: 'It is late.' }] }
  const use = { type: 'tool_use', id: 'toolu_1', name: 'datetime', input: { timezone: 'UTC' } }
  return { content: [THINKING, { type: 'text', text: 'One moment. ' }, use], stop_reason: 'tool_use' }
}

const openai = await mockUpstream(tap, (peer, { body }) => peer.stream(chatTurn(JSON.parse(body))))
const anthropic = await mockUpstream(tap, (peer, request) =>
  speaking(messagesTurn(JSON.parse(request.body)))(peer, request),
)
const serving = (provider: string) => ({
  endpoints: [{ provider, upstream_model: 'theirs', prices: { prompt: '0.000001', completion: '0.000002' } }],
})
const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: {
    routing: { retries: 0 },
    providers: {
      openai: { kind: 'openai', base_url: `${openai.origin}/v1` },
      anthropic: { kind: 'anthropic', base_url: anthropic.origin },
    },
    models: { 'acme/openai': serving('openai'), 'acme/anthropic': serving('anthropic') },
  },
})
tap.teardown(() => server.stop())

const ASKED = {
  messages: [{ role: 'user', content: 'What time is it?' }],
  tools: [{ type: 'service:datetime' }],
  metadata: { job: 'x' },
}

for (const stream of [false, true]) {
  const how = stream ? 'streamed' : 'whole'
  test(`a server of the chat format is sent an ordinary conversation, ${how}`, async (t) => {
    const before = openai.requests.length
    const asked = await askChat(server, { ...ASKED, model: 'acme/openai', stream })
    t.equal(asked.status, 200, asked.text)
    t.match(asked.text, /It is late\./)
    const [first, second, ...more] = openai.requests.slice(before).map(({ body }) => JSON.parse(body))
    t.equal(more.length, 0)
    t.match(first.tools, [{ type: 'function', function: { name: 'datetime' } }])
    t.equal(first.stream, true, 'turns are streamed')
    t.strictSame(second.tools, first.tools, 'what was cached stays of use')
    const [question, said, result] = second.messages
    t.equal(question.role, 'user')
    t.match(said, { role: 'assistant', content: 'One moment. ', tool_calls: [{ id: 'call_a' }] })
    t.strictSame(JSON.parse(said.tool_calls[0].function.arguments), { timezone: 'UTC' })
    t.match(result, { role: 'tool', tool_call_id: 'call_a', content: /"datetime":/ })
    for (const name of ['plugins', 'max_tool_calls', 'stop_server_tools_when', 'tooling', 'idle'])
      t.notOk(name in first || name in second, name)
  })

  test(`a server of the messages format is handed its thinking back, ${how}`, async (t) => {
    const before = anthropic.requests.length
    const asked = await askChat(server, {
      ...ASKED,
      model: 'acme/anthropic',
      stream,
      reasoning: { max_tokens: 1024 },
      max_tokens: 2000,
    })
    t.equal(asked.status, 200, asked.text)
    const [, second] = anthropic.requests.slice(before).map(({ body }) => JSON.parse(body))
    const [, said, result] = second.messages
    t.match(said.content, [
      THINKING,
      { type: 'text', text: 'One moment. ' },
      { type: 'tool_use', id: 'toolu_1', name: 'datetime' },
    ])
    t.match(result, { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1' }] })
  })
}

test('the sum over the turns is told, and is what each turn was charged', async (t) => {
  const asked = await askChat(server, { ...ASKED, model: 'acme/openai' })
  const { choices, usage } = asked.json()
  t.equal(choices[0].message.content, 'One moment. It is late.')
  t.match(usage, { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30, cost: 0.00004 })
})
