/** Calls that a user writes into the prompt of a simulated model. */
import { test } from 'tap'
import type { ChatMessage, ChatRequest, FunctionTool } from '../../src/gateway/formats/canonical.js'
import { runCompletion, userRequest } from './calls.js'

const readTool: FunctionTool = {
  type: 'function',
  function: {
    name: 'read',
    parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  },
}
const stopTool: FunctionTool = { type: 'function', function: { name: 'stop' } }
const tools = [stopTool, readTool]

type Called = readonly [name: string, args: string]

/** The calls of each turn of an agent's loop, until it ends with a text; `most` turns at most. */
function loop(request: ChatRequest, most = 10): Called[][] {
  const turns: Called[][] = []
  const messages: ChatMessage[] = [...request.messages]
  while (turns.length < most) {
    const { message } = runCompletion({ ...request, messages }, 'sim/instant').completion!.choices[0]!
    const calls = message.tool_calls ?? []
    if (calls.length === 0) return turns
    turns.push(calls.map(({ function: { name, arguments: args } }) => [name, args]))
    messages.push(message as ChatMessage)
    for (const { id } of calls) messages.push({ role: 'tool', tool_call_id: id, content: 'done' })
  }
  return turns
}

function refusalOf(request: ChatRequest): string {
  const { outcome } = runCompletion(request, 'sim/instant')
  return typeof outcome === 'object' && outcome !== null ? (outcome.fault.note ?? '') : String(outcome)
}

const SCRIPT = `Please do this.
  call: read {"path":"a.txt", "lines":[1, 2]}
call: stop {}
call: read {"path":"\\u00e9 {"}
`

test('each line is a turn of the loop, with its arguments as they are written; then comes a text', async (t) => {
  t.strictSame(loop(userRequest(SCRIPT, { tools })), [
    [['read', '{"path":"a.txt", "lines":[1, 2]}']],
    [['stop', '{}']],
    [['read', '{"path":"\\u00e9 {"}']],
  ])
})

test('with the word parallel all lines are called at once, unless the request forbids several', async (t) => {
  const text = `In parallel:\n${SCRIPT}`
  t.strictSame(
    loop(userRequest(text, { tools })).map((turn) => turn.length),
    [3],
  )
  t.strictSame(
    loop(userRequest(text, { tools, parallel_tool_calls: false })).map((turn) => turn.length),
    [1, 1, 1],
  )
})

test('a line without arguments has made-up ones that fit', async (t) => {
  const [[[name, args]]] = loop(userRequest('call: read', { tools })) as [[Called]]
  t.equal(name, 'read')
  t.type(JSON.parse(args).path, 'string')
})

test('the lines count from the turn in which the user wrote them', async (t) => {
  const first = userRequest('call: read {"path":"a"}').messages
  const messages: ChatMessage[] = [...first, { role: 'assistant', content: 'Done.' }, ...first]
  t.strictSame(loop({ messages, tools }), [[['read', '{"path":"a"}']]])
})

test('a loop that must call goes on behind its lines with what was called least', async (t) => {
  const request = userRequest('call: read {"path":"a"}', { tools, tool_choice: 'required' })
  t.strictSame(
    loop(request, 3).map(([call]) => call![0]),
    ['read', 'stop', 'read'],
  )
})

test('a named function takes the arguments of the line that is about it', async (t) => {
  const named = (name: string) => ({ type: 'function' as const, function: { name } })
  const called = (name: string): Called =>
    loop(userRequest(SCRIPT, { tools, tool_choice: named(name) }), 1)[0]![0]!
  t.strictSame(called('read'), ['read', '{"path":"a.txt", "lines":[1, 2]}'])
  t.strictSame(called('stop'), ['stop', '{}'])
})

test('other lines are text: no tools, another name without arguments, a line of echo', async (t) => {
  t.strictSame(loop(userRequest(SCRIPT)), [])
  t.strictSame(loop(userRequest(SCRIPT, { tools, tool_choice: 'none' })), [])
  t.strictSame(loop(userRequest(`echo: hello\n${SCRIPT}`, { tools })), [])
  const [[ordinary]] = loop(userRequest('call: 555-1234', { tools })) as [[Called]]
  t.strictSame(ordinary, ['stop', '{}'])
})

test('what cannot be called is refused by name', async (t) => {
  t.match(refusalOf(userRequest('call: write {"a":1}', { tools })), /there is no function "write" in tools/)
  t.match(refusalOf(userRequest('call: read {"a":', { tools })), /"read" are no JSON object on one line/)
  t.match(refusalOf(userRequest('call: read\n'.repeat(101), { tools })), /more than 100/)
  const long = JSON.stringify({ path: 'x'.repeat(70_000) })
  t.match(refusalOf(userRequest(`call: read ${long}`, { tools })), /more than 65536 characters/)
})

test('the word within a line, or behind too many others, asks for nothing', async (t) => {
  const [[first]] = loop(userRequest('Please call: read {"path":"a"}', { tools })) as [[Called]]
  t.strictSame(first, ['read', first[1]], 'named in the text')
  t.not(first[1], '{"path":"a"}')
  const words = `${'call: 1\n'.repeat(1_000)}call: read {"path":"a"}`
  t.not((loop(userRequest(words, { tools })) as [[Called]])[0][0][1], '{"path":"a"}')
  t.strictSame(loop(userRequest('\tcall: stop {} \r\ncall: read {"path":"a"}\r\n', { tools })), [
    [['stop', '{}']],
    [['read', '{"path":"a"}']],
  ])
})

test('the made-up arguments of all calls together cost no more than those of one', async (t) => {
  const items = { type: 'string', minLength: 50 }
  const list: FunctionTool = {
    type: 'function',
    function: {
      name: 'list',
      parameters: {
        type: 'object',
        properties: { all: { type: 'array', minItems: 1000, items } },
        required: ['all'],
      },
    },
  }
  const ask = (calls: number): ChatRequest =>
    userRequest(`parallel\n${'call: list\n'.repeat(calls)}`, { tools: [list] })
  t.equal(loop(ask(1)).flat().length, 1)
  t.match(refusalOf(ask(100)), /no value can be made/)
  const small = userRequest(`parallel\n${'call: read\n'.repeat(100)}`, { tools })
  t.equal(loop(small).flat().length, 100)
})

test('of functions that were called equally often one that the text names as a word goes first', async (t) => {
  const named = (text: string): string | undefined =>
    loop(userRequest(text, { tools: [stopTool, readTool] })).flat()[0]?.[0]
  t.equal(named('Please use read().'), 'read')
  t.equal(named('Please mind the thread.'), 'stop')
})
