/** What the simulated agent does with the lines of a message. */
import { test } from 'tap'
import type { ChatMessage, ChatRequest, FunctionTool } from '../../src/gateway/formats/canonical.js'
import { runCompletion, userRequest } from './calls.js'

const tools: readonly FunctionTool[] = ['web_search', 'datetime', 'get_weather'].map((name) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: { q: { type: 'string' } } } },
}))

interface Turn {
  readonly says: string | null
  readonly calls: readonly string[]
}

/** The turns of a loop until one makes no call; `most` at most. Every tool answers with what `answerOf` gives. */
function loop(request: ChatRequest, answerOf: (name: string) => string = () => 'done', most = 6): Turn[] {
  const turns: Turn[] = []
  const messages: ChatMessage[] = [...request.messages]
  while (turns.length < most) {
    const { message } = runCompletion({ ...request, messages }, 'sim/agent').completion!.choices[0]!
    const calls = message.tool_calls ?? []
    turns.push({
      says: message.content,
      calls: calls.map(({ function: { name, arguments: args } }) => `${name} ${args}`),
    })
    if (calls.length === 0) return turns
    messages.push(message as ChatMessage)
    for (const { id, function: called } of calls)
      messages.push({ role: 'tool', tool_call_id: id, content: answerOf(called.name) })
  }
  return turns
}

const SCRIPT = `Please:
say Let me look.
call service:web_search {"query":"a"}
and openrouter:datetime
  call nowhere {"x":{"y":1}}
answer That is all.`

test('turns are made in the order of the lines, with what is said before them', async (t) => {
  t.strictSame(loop(userRequest(SCRIPT, { tools })), [
    { says: 'Let me look.', calls: ['web_search {"query":"a"}', 'datetime {}'] },
    { says: null, calls: ['nowhere {"x":{"y":1}}'] },
    { says: 'That is all.', calls: [] },
  ])
})

test('where several calls are forbidden each has a turn of its own', async (t) => {
  const turns = loop(userRequest(SCRIPT, { tools, parallel_tool_calls: false }))
  t.strictSame(
    turns.map(({ calls }) => calls.length),
    [1, 1, 1, 0],
  )
})

test('an endless script ends when tools are switched off', async (t) => {
  const request = userRequest('call datetime\nforever', { tools })
  t.equal(loop(request).length, 6)
  t.strictSame(loop({ ...request, tool_choice: 'none' })[0]!.calls, [])
})

test('a choice that the lines do not meet is met all the same', async (t) => {
  const forced = { type: 'function', function: { name: 'get_weather' } } as const
  const [first] = loop(userRequest('call datetime', { tools, tool_choice: forced }), undefined, 1)
  t.match(first!.calls, [/^get_weather /])
})

test('without an answer of its own it tells what the tools have said, with its sources', async (t) => {
  const found = JSON.stringify({ results: [{ url: 'https://a.example/', title: 'A', content: 'Tides.' }] })
  const request = userRequest('call web_search {"query":"a"}\nand datetime', { tools })
  const { says } = loop(request, (name) => (name === 'datetime' ? '{"error":"no"}' : found)).at(-1)!
  t.equal(says, '- A (https://a.example/): Tides.\n- It did not work: "no"')
})

test('arguments that are no JSON object on one line are refused', async (t) => {
  const { outcome } = runCompletion(userRequest('call datetime {"a":}', { tools }), 'sim/agent')
  t.match(outcome, { fault: { note: /no JSON object on one line/ } })
})

test('a message that tells nothing is answered as by any other model', async (t) => {
  const [only] = loop(userRequest('How are you? We call you soon.'))
  t.strictSame(only!.calls, [])
  t.ok(only!.says!.length > 0)
})
