import { test } from 'tap'
import type { ChatMessage, ChatRequest, ReasoningDetail } from '../../../src/gateway/formats/canonical.js'
import { chatTurns } from '../../../src/gateway/loop/chat/chat-conversation.js'
import {
  CALLER,
  LoopBench,
  type Script,
  SEAL,
  said,
  scriptedTool,
  tooling,
} from '../../support/tools/loop-bench.js'

const MINE = [{ type: 'function' as const, function: { name: 'mine' } }]
const LOOK = scriptedTool('look', (given) => said({ seen: given }))

/** A loop that hands calls over, and the answer as a caller keeps it. */
async function handOver(script: Script, more: Partial<ChatRequest> = {}) {
  const bench = new LoopBench(script, [LOOK])
  const { answer, fault } = await bench.run({ tools: MINE, tooling: tooling(['look']), ...more }, 'whole')
  if (fault !== null) throw fault
  return { bench, choice: answer!.choices[0]! }
}

const TURNS: Script = [
  { say: 'One. ', calls: [['look', { a: 1 }, 'c1']] },
  {
    say: 'Two. ',
    calls: [
      ['look', { a: 2 }, 'c2'],
      ['mine', { b: 1 }, 'm1'],
      ['look', { a: 3 }, 'c3'],
      ['mine', { b: 2 }, 'm2'],
    ],
  },
]

test('in a mixed turn ours are run and theirs returned, numbered without gaps', async (t) => {
  const bench = new LoopBench(TURNS, [LOOK])
  const { ear, root } = await bench.run({ tools: MINE, tooling: tooling(['look']) })
  t.strictSame(ear.finishes, ['tool_calls'])
  t.equal(root.loop!.executed, 3)
  const deltas = ear.events.flatMap((event) => (event.type === 'delta' ? (event.delta.tool_calls ?? []) : []))
  t.strictSame([...new Set(deltas.map(({ index }) => index))], [0, 1])
  t.strictSame(
    deltas.flatMap(({ function: { name } }) => name ?? []),
    ['mine', 'mine'],
  )
})

test('a whole answer says what was streamed', async (t) => {
  const streamed = await new LoopBench(TURNS, [LOOK]).run({ tools: MINE, tooling: tooling(['look']) })
  const { choice } = await handOver(TURNS)
  t.equal(choice.message.content, 'One. Two. ')
  t.equal(streamed.ear.text, 'One. Two. ')
  t.equal(choice.finishReason, 'tool_calls')
  t.match(choice.message.tool_calls, [{ id: 'm1', function: { arguments: '{"b":1}' } }, { id: 'm2' }])
  const details = streamed.ear.events.flatMap((event) =>
    event.type === 'delta' ? (event.delta.reasoning_details ?? []) : [],
  )
  t.strictSame(choice.message.reasoning_details, details)
  t.match(details, [
    {
      type: 'reasoning.server_tool_call',
      tool_name: 'look',
      tool_call_id: 'c1',
      result: '{"seen":{"a":1}}',
      index: 0,
    },
    { tool_call_id: 'c2', index: 1 },
    { tool_call_id: 'c3', index: 2 },
  ])
})

/** What the caller sends next. */
async function nextRequest(
  change: (details: ReasoningDetail[]) => readonly ReasoningDetail[] = (all) => all,
) {
  const { choice } = await handOver(TURNS)
  const { annotations: _, refusal: __, ...said } = choice.message
  const messages: ChatMessage[] = [
    { role: 'user', content: 'hello' },
    { ...said, reasoning_details: change([...said.reasoning_details!]) },
    { role: 'tool', tool_call_id: 'm1', content: 'one' },
    { role: 'tool', tool_call_id: 'm2', content: 'two' },
  ]
  return { model: 'acme/one', messages, tools: MINE } satisfies ChatRequest
}

test('the next request resumes the loop: calls and results stand where they were, turn by turn', async (t) => {
  const dropped: string[] = []
  const resumed = chatTurns.resume(await nextRequest(), CALLER, SEAL, dropped)
  t.strictSame(dropped, [])
  t.match(
    resumed.messages.map((message) =>
      message.role === 'assistant'
        ? [message.content, message.tool_calls?.map(({ id }) => id)]
        : message.role === 'tool'
          ? [message.tool_call_id, message.content]
          : message.role,
    ),
    [
      'user',
      [null, ['c1']],
      ['c1', '{"seen":{"a":1}}'],
      ['One. Two. ', ['c2', 'c3', 'm1', 'm2']],
      ['c2', '{"seen":{"a":2}}'],
      ['c3', '{"seen":{"a":3}}'],
      ['m1', 'one'],
      ['m2', 'two'],
    ],
  )
  t.notOk(JSON.stringify(resumed).includes('server_tool_call'), 'nothing of it reaches a provider as such')
})

const FORGERIES: readonly (readonly [
  name: string,
  change: (detail: ReasoningDetail) => ReasoningDetail | null,
])[] = [
  ['another result', (detail) => ({ ...detail, result: '"invented"' })],
  ['other arguments', (detail) => ({ ...detail, arguments: '{}' })],
  ['another name', (detail) => ({ ...detail, tool_name: 'mine' })],
  ['another call', (detail) => ({ ...detail, tool_call_id: 'c9' })],
  ['another place', (detail) => ({ ...detail, id: String(detail.id).replace('svc_1_', 'svc_0_') })],
  ['no mark', ({ id: _, ...detail }) => detail],
  ['a mark of nobody', (detail) => ({ ...detail, id: `svc_1_0_${'A'.repeat(22)}` })],
  ['a result that is no text', (detail) => ({ ...detail, result: { a: 1 } })],
]

for (const [name, change] of FORGERIES) {
  test(`a detail with ${name} is dropped and named`, async (t) => {
    const request = await nextRequest((all) => all.map((each, at) => (at === 0 ? change(each)! : each)))
    const dropped: string[] = []
    const resumed = chatTurns.resume(request, CALLER, SEAL, dropped)
    t.strictSame(dropped, ['reasoning_details'])
    const sent = JSON.stringify(resumed)
    t.notOk(sent.includes('"c1"') || sent.includes('invented') || sent.includes('server_tool_call'))
    t.ok(sent.includes('"c2"'), 'the others are as they were')
  })
}

test('a detail counts in its own workspace alone, and once', async (t) => {
  const request = await nextRequest()
  const dropped: string[] = []
  chatTurns.resume(request, { ...CALLER, workspaceId: 'another' }, SEAL, dropped)
  t.strictSame(dropped, ['reasoning_details'])
  const twice = await nextRequest((all) => [...all, all[0]!])
  const again: string[] = []
  const resumed = chatTurns.resume(twice, CALLER, SEAL, again)
  t.strictSame(again, ['reasoning_details'])
  t.equal(resumed.messages.filter((message) => message.role === 'tool').length, 5)
})

test('a request without such details is handed on as it is', async (t) => {
  const request: ChatRequest = {
    model: 'acme/one',
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'yes', reasoning_details: [{ type: 'reasoning.text', text: 'hm' }] },
    ],
  }
  t.equal(chatTurns.resume(request, CALLER, SEAL, []), request)
})

test('calls of the caller that come a turn later stand behind the results of ours', async (t) => {
  const { choice } = await handOver([{ calls: [['look', { a: 1 }, 'c1']] }, { calls: [['mine', {}, 'm1']] }])
  const { refusal: _, ...said } = choice.message
  const messages: ChatMessage[] = [
    { role: 'user', content: 'hello' },
    said,
    { role: 'tool', tool_call_id: 'm1', content: 'x' },
  ]
  const resumed = chatTurns.resume({ model: 'acme/one', messages }, CALLER, SEAL, [])
  t.match(
    resumed.messages.map((message) =>
      'tool_calls' in message ? message.tool_calls?.map(({ id }) => id) : message.role,
    ),
    ['user', ['c1'], 'tool', ['m1'], 'tool'],
  )
})

test('thinking and its signatures go back to the model within the loop, and their numbers do not repeat outside', async (t) => {
  const thought = (text: string) => [
    {
      type: 'delta' as const,
      choice: 0,
      delta: { reasoning_details: [{ type: 'reasoning.text', text, index: 0 }] },
    },
    {
      type: 'delta' as const,
      choice: 0,
      delta: { reasoning_details: [{ type: 'reasoning.text', text: '', signature: `s-${text}`, index: 0 }] },
    },
  ]
  const script: Script = [
    { events: thought('first'), calls: [['look', { a: 1 }, 'c1']] },
    {
      events: thought('second'),
      calls: [
        ['look', { a: 2 }, 'c2'],
        ['mine', {}, 'm1'],
      ],
    },
  ]
  const { bench, choice } = await handOver(script)
  t.match(bench.model.requests[1]!.messages[1], {
    role: 'assistant',
    reasoning_details: [{ text: 'first', signature: 's-first', index: 0 }],
    tool_calls: [{ id: 'c1' }],
  })
  t.match(
    choice.message.reasoning_details!.map(({ text, index }) => [text, index]),
    [
      ['first', 0],
      ['second', 1],
      [undefined, 2],
      [undefined, 3],
    ],
  )
  const { refusal: _, ...said } = choice.message
  const messages: ChatMessage[] = [{ role: 'user', content: 'hello' }, said]
  const resumed = chatTurns.resume({ model: 'acme/one', messages }, CALLER, SEAL, [])
  t.match(resumed.messages.slice(1), [
    { reasoning_details: [{ signature: 's-first' }], tool_calls: [{ id: 'c1' }] },
    { role: 'tool' },
    { reasoning_details: [{ signature: 's-second' }], tool_calls: [{ id: 'c2' }, { id: 'm1' }] },
    { role: 'tool' },
  ])
})

test('servers that count the calls of each turn anew, or give no ids, are understood', async (t) => {
  const { bench, choice } = await handOver([
    { calls: [['look', { a: 1 }, 'call_0']] },
    {
      calls: [
        ['look', { a: 2 }, 'call_0'],
        ['mine', {}, 'call_1'],
      ],
    },
  ])
  t.match(bench.model.requests[1]!.messages.at(-1), { tool_call_id: 'call_0', content: '{"seen":{"a":1}}' })
  const { refusal: _, ...said } = choice.message
  const dropped: string[] = []
  const messages: ChatMessage[] = [{ role: 'user', content: 'hello' }, said]
  const resumed = chatTurns.resume({ model: 'acme/one', messages }, CALLER, SEAL, dropped)
  t.strictSame(dropped, [])
  t.strictSame(
    resumed.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : [])),
    ['{"seen":{"a":1}}', '{"seen":{"a":2}}'],
  )
  const nameless = new LoopBench([{ calls: [['look', {}, '']] }, { say: 'ok' }], [LOOK])
  await nameless.run({ tooling: tooling(['look']) })
  const [, assistant, result] = nameless.model.requests[1]!.messages
  t.match(assistant, { tool_calls: [{ id: 'call_0' }] })
  t.match(result, { tool_call_id: 'call_0' })
})
