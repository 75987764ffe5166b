/** contract/tools 3.7: models that run beneath a call, and what they cost, against a real server. */
import { after, test } from 'tap'
import { askChat, type Json, startGateway } from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'

const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: { tools: { advisor: { price: '0.002' }, experimental__search_models: { enabled: false } } },
})
after(() => server.stop())

const ask = async (content: string, tools: readonly object[], more: object = {}): Promise<Json> => {
  const body = { model: 'sim/agent', messages: [{ role: 'user', content }], tools, ...more }
  const answer = await askChat(server, body)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json()
}
const saidIn = ({ choices }: Json): string => choices[0].message.content

async function generation(id: string): Promise<Json> {
  return await eventually(async () => {
    const response = await server.get(`/generation?id=${id}`)
    return response.status === 200 && ((await response.json()) as Json).data
  })
}

const nanos = (dollars: number): number => Math.round(dollars * 1e9)

test('all that runs beneath a call are rows of its generation, and their sum is the cost', async (t) => {
  const answer = await ask(
    [
      'call advisor {"prompt":"what now?"}',
      'and subagent {"task_name":"clock","task_description":"call service:datetime"}',
      'call fusion {"prompt":"why?"}',
    ].join('\n'),
    [
      { type: 'service:advisor', parameters: { model: 'sim/instant', max_completion_tokens: 20 } },
      { type: 'service:subagent', parameters: { tools: [{ type: 'service:datetime' }] } },
      {
        type: 'service:fusion',
        parameters: { analysis_models: ['sim/instant', 'sim/agent'], model: 'sim/instant' },
      },
    ],
  )
  const text = saidIn(answer)
  t.match(text, /"advice":"/)
  t.match(text, /"task_name":"clock","model":"sim\/agent","outcome":".*UTC/)
  t.match(text, /"status":"ok","analysis":\{"consensus"/)
  const { rows, total_cost } = await generation(answer.id)
  const counted = (kind: string, name?: string) =>
    rows.filter((row: Json) => row.kind === kind && (name === undefined || row.name === name)).length
  t.same(
    ['advisor', 'subagent', 'fusion', 'datetime'].map((name) => counted('tool', name)),
    [1, 1, 1, 1],
  )
  // Three of the agent, one of the advisor, two of the subagent, two of the panel, one of the judge.
  t.equal(rows.length - counted('tool'), 9, JSON.stringify(rows))
  const sum = rows.reduce((total: number, { charged }: Json) => total + nanos(charged), 0)
  t.equal(sum, nanos(answer.usage.cost))
  t.equal(sum, nanos(total_cost))
  t.ok(sum > nanos(0.002), 'with the fee of the advisor')
})

test('nothing runs beneath what runs beneath a nested run', async (t) => {
  const inner = (task: string): string => JSON.stringify({ task_name: 'n', task_description: task })
  const deepest = `call subagent ${inner('call service:datetime')}`
  const advisor = {
    type: 'service:advisor',
    parameters: {
      tools: [{ type: 'service:subagent', parameters: { tools: [{ type: 'service:datetime' }] } }],
    },
  }
  const answer = await ask(`call advisor ${JSON.stringify({ prompt: deepest })}`, [advisor])
  const { rows } = await generation(answer.id)
  const tools = rows.filter(({ kind }: Json) => kind === 'tool').map(({ name }: Json) => name)
  t.same(tools.sort(), ['advisor', 'subagent'], 'the clock is two levels down')
})

test('a budget of the request holds for all beneath it', async (t) => {
  const panel = { analysis_models: new Array(8).fill('sim/instant'), model: 'sim/instant' }
  const within = (dollars: number) =>
    ask('call fusion {"prompt":"why?"}', [{ type: 'service:fusion', parameters: panel }], {
      stop_server_tools_when: [{ type: 'max_cost', max_cost_in_dollars: dollars }],
    })
  const spent = await within(0.000_001)
  t.match(saidIn(spent), 'all models of the panel failed')
  t.equal(spent.usage.server_tool_use_details.tool_calls_executed, 0, 'nobody was asked')
  const kindsOf = async ({ id }: Json) => (await generation(id)).rows.map(({ kind }: Json) => kind)
  t.same(await kindsOf(spent), ['turn', 'tool', 'turn'], 'the turn that has crossed it, and the last one')
  const limit = 0.000_1
  const some = await within(limit)
  const { rows } = await generation(some.id)
  t.ok(rows.some(({ kind }: Json) => kind === 'panel'))
  const nested = rows.filter(({ kind }: Json) => kind === 'panel' || kind === 'judge')
  const sum = [rows[0], ...nested].reduce((total, { charged }: Json) => total + nanos(charged), 0)
  t.ok(sum <= nanos(limit), `what runs beneath a call never passes it: ${sum}`)
})

test('a failing model beneath a call is told to the model, never to the caller', async (t) => {
  for (const [model, word] of [
    ['sim/no-such-model', 'does not exist'],
    ['sim/fault-error', 'Advisor call failed'],
  ] as const) {
    const answer = await ask('call advisor {"prompt":"x"}', [
      { type: 'service:advisor', parameters: { model } },
    ])
    t.match(saidIn(answer), word)
    t.equal(answer.choices[0].finish_reason, 'stop')
  }
})

test('several advisors are told apart by their names', async (t) => {
  const advisor = (name: string, model: string) => ({ type: 'service:advisor', parameters: { name, model } })
  const answer = await ask('call advisor_lead {"prompt":"x"}\nand advisor_new_one {"prompt":"x"}', [
    advisor('lead', 'sim/instant'),
    advisor('new one', 'sim/agent'),
  ])
  t.match(saidIn(answer), /"model":"sim\/instant"[\s\S]*"model":"sim\/agent"/)
})

test('the plugin offers the panel, for one call', async (t) => {
  const answer = await ask('call fusion {"prompt":"why?"}\ncall fusion {"prompt":"why not?"}', [], {
    plugins: [{ id: 'fusion', analysis_models: ['sim/instant'], model: 'sim/instant' }],
  })
  t.match(saidIn(answer), /"status":"ok"[\s\S]*asked before/)
})

test('a tool that is switched off cannot be had beneath another one either', async (t) => {
  const off = { type: 'service:experimental__search_models' }
  const task = { task_name: 'look', task_description: 'call service:experimental__search_models' }
  const answer = await ask(`call subagent ${JSON.stringify(task)}`, [
    { type: 'service:subagent', parameters: { tools: [off] } },
  ])
  t.match(saidIn(answer), 'Subagent call failed')
})

test('a caller that leaves ends all that runs beneath its call, and what ran is settled', async (t) => {
  const leaving = new AbortController()
  const body = {
    model: 'sim/agent',
    stream: true,
    messages: [{ role: 'user', content: 'say Wait.\ncall fusion {"prompt":"why?"}' }],
    tools: [
      { type: 'service:fusion', parameters: { analysis_models: ['sim/fault-silence', 'sim/fault-silence'] } },
    ],
  }
  const response = await server.post('/chat/completions', body, { signal: leaving.signal })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  for (let text = ''; !text.includes(': service tool fusion'); ) text += (await reader.read()).value ?? ''
  leaving.abort()
  await reader.read().catch(() => {})
  const { cancelled, rows, total_cost } = await generation(response.headers.get('x-generation-id')!)
  const charged = rows.reduce((total: number, row: Json) => total + nanos(row.charged), 0)
  t.same([cancelled, nanos(total_cost)], [true, charged])
  const { in_flight } = ((await (await server.get('/stats')).json()) as Json).operations.chat_completions
  t.equal(in_flight, 0)
})
