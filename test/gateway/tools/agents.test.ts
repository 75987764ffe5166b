/** `advisor` and `subagent`: what their models are asked, and what the asking model is told. */
import { test } from 'tap'
import type { ChatRequest } from '../../../src/gateway/formats/canonical.js'
import { createAdvisorTool } from '../../../src/gateway/tools/advisor/advisor.js'
import { createSubagentTool } from '../../../src/gateway/tools/subagent/subagent.js'
import { innerParametersFault } from '../../../src/inference-http/server-tools.js'
import { askTool, prepared, refusalOf, scriptedNested, toolRun } from '../../support/tools/tool-call.js'

const advisorTool = createAdvisorTool(innerParametersFault)
const subagentTool = createSubagentTool(innerParametersFault)

const OUTER: ChatRequest = {
  model: 'm/outer',
  messages: [
    { role: 'system', content: 'Be terse.' },
    { role: 'user', content: 'How deep is it?' },
    {
      role: 'assistant',
      content: 'Let me look.',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: '12 m' },
  ],
  provider: { zdr: true, data_collection: 'deny', order: ['a'], only: ['a'], ignore: ['b'] },
  user: 'anna',
  temperature: 2,
}

test('an advisor sees the prompt alone, and gives advice', async (t) => {
  const { runs, nested } = scriptedNested(() => ({ text: 'Dig.', model: 'm/wise', charged: 5 }))
  const parameters = {
    model: 'm/wise',
    instructions: 'Be decisive.',
    max_completion_tokens: 100,
    temperature: 0.5,
    reasoning: { effort: 'high' },
  }
  const outcome = await askTool(
    advisorTool,
    parameters,
    { prompt: 'And now?' },
    { nested, request: OUTER, budget: 70 },
  )
  t.same(outcome, {
    content: { status: 'ok', model: 'm/wise', advice: 'Dig.' },
    isError: false,
    executed: true,
    charged: 0,
    citations: [],
  })
  t.match(runs, [{ purpose: 'advisor', budget: 70 }])
  t.same(runs[0]!.request, {
    model: 'm/wise',
    messages: [
      { role: 'system', content: 'Be decisive.' },
      { role: 'user', content: 'And now?' },
    ],
    user: 'anna',
    max_completion_tokens: 100,
    temperature: 0.5,
    reasoning: { effort: 'high' },
  })
})

test('the model of an advisor is that of its parameters, of the call, or of the request, in this order', async (t) => {
  for (const [parameters, args, model] of [
    [{ model: 'm/fixed' }, { prompt: 'x', model: 'm/asked' }, 'm/fixed'],
    [{}, { prompt: 'x', model: 'm/asked' }, 'm/asked'],
    [{}, { prompt: 'x' }, 'm/outer'],
  ] as const) {
    const { runs, nested } = scriptedNested(() => ({ text: 'ok' }))
    await askTool(advisorTool, parameters, args, { nested, request: OUTER })
    t.equal(runs[0]!.request.model, model)
  }
  const [pinned] = (await prepared(advisorTool, { model: 'm/fixed' })).functions
  t.notOk('model' in (pinned!.parameters.properties as object), 'what is fixed is not offered')
})

test('it is asked no more often than max_uses says', async (t) => {
  const { runs, nested } = scriptedNested(() => ({ text: 'ok' }))
  const ready = await prepared(advisorTool, { model: 'm/wise', max_uses: 2 })
  const call = { id: 'c', function: 'advisor', arguments: { prompt: 'x' } }
  const outcomes = await Promise.all([1, 2, 3].map(() => ready.run(call, toolRun({ nested }))))
  t.same(
    outcomes.map(({ isError, executed }) => [isError, executed]),
    [
      [false, true],
      [false, true],
      [true, false],
    ],
  )
  t.equal(runs.length, 2)
})

test('a transcript is told without the instructions and the tools of the other model', async (t) => {
  const { runs, nested } = scriptedNested(() => ({ text: 'ok' }))
  await askTool(advisorTool, { forward_transcript: true }, {}, { nested, request: OUTER })
  t.same(runs[0]!.request.messages, [
    { role: 'user', content: 'How deep is it?' },
    { role: 'assistant', content: 'Let me look.\n[Call c1: look {"at":1}]' },
    { role: 'user', content: '[Result of c1]\n12 m' },
    { role: 'user', content: 'What do you advise?' },
  ])
})

test('a subagent sees the task alone, and tells its outcome', async (t) => {
  const { runs, nested } = scriptedNested(() => ({ text: 'Done.' }))
  const args = { task_name: 'sum-up', task_description: 'Sum it up.' }
  const { content } = await askTool(subagentTool, {}, args, { nested, request: OUTER })
  t.same(content, { status: 'ok', task_name: 'sum-up', model: 'm/outer', outcome: 'Done.' })
  t.match(runs[0], { purpose: 'subagent', request: { messages: [{ role: 'user', content: 'Sum it up.' }] } })
})

test('only tools of their own parameters are beneath them, as often as those say', async (t) => {
  const tools = [
    { type: 'openrouter:web_search', parameters: { max_results: 2 } },
    { type: 'service:datetime' },
  ]
  for (const [tool, args] of [
    [advisorTool, { prompt: 'x' }],
    [subagentTool, { task_description: 'x' }],
  ] as const) {
    const { runs, nested } = scriptedNested(() => ({ text: 'ok' }))
    await askTool(tool, { tools, max_tool_calls: 3 }, args, { nested, request: OUTER })
    await askTool(tool, {}, args, { nested, request: OUTER })
    t.match(runs[0]!.request.tooling, {
      tools: [
        { name: 'web_search', parameters: { max_results: 2 }, type: 'openrouter:web_search' },
        { name: 'datetime', parameters: {} },
      ],
      maxToolCalls: 3,
    })
    t.equal(runs[1]!.request.tooling, undefined)
    for (const [type, refused] of [
      ['function', /must be a server tool/],
      [`service:${tool.name}`, /is the tool itself/],
      [`openrouter:${tool.name}`, /is the tool itself/],
    ] as const) {
      t.match(await refusalOf(tool, { tools: [tools[0], { type }] }), {
        refused,
        member: ['parameters', 'tools', 1, 'type'],
      })
    }
  }
})

test('parameters of tools beneath them have to be what those take', async (t) => {
  for (const [type, parameters, place] of [
    ['service:web_search', { max_results: 'many' }, ['max_results']],
    ['openrouter:datetime', { timezone: 7 }, ['timezone']],
    ['service:mcp', {}, ['server_label']],
    ['service:subagent', { name: 7 }, ['name']],
    ['service:fusion', { tools: [7] }, ['tools', 0]],
  ] as const) {
    t.same(await refusalOf(advisorTool, { tools: [{ type, parameters }] }), {
      refused: 'is not what the tool takes',
      member: ['parameters', 'tools', 0, 'parameters', ...place],
    })
  }
})

test('functions of the caller cannot be inherited: nobody could answer their calls', async (t) => {
  for (const [member, value] of [
    ['inherit_functions', true],
    ['inherited_function_names', ['look']],
  ] as const) {
    t.match(await refusalOf(subagentTool, { [member]: value }), { member: ['parameters', member] })
  }
  t.ok(await prepared(subagentTool, { inherit_functions: false }))
})

test('a name makes a function of its own', async (t) => {
  const nameOf = async (name?: string) =>
    (await prepared(advisorTool, name === undefined ? {} : { name })).functions[0]!.name
  t.same(await Promise.all([nameOf(), nameOf(' Lead  Architect '), nameOf('x'.repeat(64))]), [
    'advisor',
    'advisor_Lead_Architect',
    `advisor_${'x'.repeat(56)}`,
  ])
})

test('what goes wrong is told to the model that asked', async (t) => {
  const failing = scriptedNested(() => ({
    ...{ ok: false, reason: 'provider-failed', message: 'it is down', wasAsked: true },
  }))
  const silent = scriptedNested(() => ({ text: '' }))
  for (const [run, said] of [
    [failing, 'it is down'],
    [silent, 'the model said nothing'],
  ] as const) {
    t.same(await askTool(advisorTool, {}, { prompt: 'x' }, run), {
      content: { status: 'error', error: `Advisor call failed: ${said}` },
      isError: true,
      executed: true,
      charged: 0,
    })
    const { content } = await askTool(subagentTool, {}, { task_name: 'n', task_description: 'x' }, run)
    t.same(content, { status: 'error', task_name: 'n', error: `Subagent call failed: ${said}` })
  }
  const unknown = scriptedNested(() => ({
    ...{ ok: false, reason: 'item-not-found', message: 'there is no such model', wasAsked: false },
  }))
  t.match(
    await askTool(advisorTool, {}, { prompt: 'x' }, unknown),
    { isError: true, executed: false },
    'nobody was asked',
  )
  const unasked = scriptedNested(() => ({ text: 'ok' }))
  t.match(await askTool(advisorTool, {}, {}, unasked), { isError: true, executed: false })
  t.match(await askTool(subagentTool, {}, { task_description: '' }, unasked), {
    isError: true,
    executed: false,
  })
  t.equal(unasked.runs.length, 0)
})
