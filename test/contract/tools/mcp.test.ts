/** contract/tools 3.10: tools of MCP servers in the turns of a model, against a real server. */
import { readFileSync } from 'node:fs'
import { execPath } from 'node:process'
import OpenAI from 'openai'
import { after, test } from 'tap'
import { API_KEY, askChat, type Json, startGateway } from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'
import { FAULTY_SERVER } from '../../support/tools/faulty-mcp-server.js'
import { EVERYTHING, startEverything } from '../../support/tools/mcp-servers.js'

const foreign = await startEverything('streamableHttp')
const server = await startGateway({
  // A worker is killed.
  mayLogErrors: true,
  env: { SLUICE_WORKERS: '1', MCP_KEY: 'secret-of-the-operator' },
  config: {
    mcp_servers: {
      near: { command: execPath, args: [EVERYTHING, 'stdio'] },
      far: { url: foreign.url, api_key_env: 'MCP_KEY' },
      faulty: { command: execPath, args: ['--input-type=module', '-e', FAULTY_SERVER] },
      gone: { url: 'http://127.0.0.1:1/mcp' },
    },
    tools: { mcp: { price: '0.001', timeout_ms: 5_000 } },
  },
})
after(async () => {
  await server.stop()
  await foreign.close()
})

const mcp = (server_label: string, more: object = {}) => ({
  type: 'service:mcp',
  parameters: { server_label, ...more },
})
const asking = (content: string, tools: readonly object[], more: object = {}): Json => ({
  model: 'sim/agent',
  messages: [{ role: 'user', content }],
  tools,
  ...more,
})

async function rowsOf(id: string): Promise<Json> {
  return await eventually(async () => {
    const response = await server.get(`/generation?id=${id}`)
    return response.status === 200 && ((await response.json()) as Json).data
  })
}

const SUMS =
  'call near__get-sum {"a":2,"b":40}\nand far__get-sum {"a":3,"b":4}\ncall sim__echo {"message":"hello"}'
const SUM_TOOLS = [mcp('near', { allowed_tools: ['get-sum'] }), mcp('far'), mcp('sim')]

test('a model calls tools of a command, of a server over HTTP, and of the simulated one', async (t) => {
  const whole = (await askChat(server, asking(SUMS, SUM_TOOLS))).json()
  const text: string = whole.choices[0].message.content
  for (const said of ['The sum of 2 and 40 is 42.', 'The sum of 3 and 4 is 7.', 'Echo: hello'])
    t.match(text, said)
  t.match(whole.usage.server_tool_use_details, { tool_calls_requested: 3, tool_calls_executed: 3 })
  const { rows } = await rowsOf(whole.id)
  const tools = rows.filter(({ kind }: Json) => kind === 'tool')
  t.same(
    tools.map(({ name, charged }: Json) => [name, charged]),
    [
      ['mcp', 0.001],
      ['mcp', 0.001],
      ['mcp', 0.001],
    ],
  )
  const sum = rows.reduce((total: number, { charged }: Json) => total + Math.round(charged * 1e9), 0)
  t.equal(sum, Math.round(whole.usage.cost * 1e9), 'the rows are the cost')
})

test('the openai package sees one answer, the same whole and streamed', async (t) => {
  const client = new OpenAI({ baseURL: server.apiUrl, apiKey: API_KEY, maxRetries: 0 })
  const wishes = asking(SUMS, SUM_TOOLS) as OpenAI.ChatCompletionCreateParamsNonStreaming
  const whole = await client.chat.completions.create(wishes)
  const streamed = await client.chat.completions.stream({ ...wishes, stream: true }).finalChatCompletion()
  t.equal(streamed.choices[0]!.message.content, whole.choices[0]!.message.content)
  t.match(streamed.choices[0]!.message.content, 'is 42')
})

test('a caller’s function beside them is the caller’s', async (t) => {
  const own = { type: 'function', function: { name: 'own', parameters: { type: 'object' } } }
  const tools = [mcp('sim'), own]
  const { choices } = (await askChat(server, asking('call sim__add {"a":1,"b":1}\nand own {}', tools))).json()
  t.equal(choices[0].finish_reason, 'tool_calls')
  t.same(
    choices[0].message.tool_calls.map((call: Json) => call.function.name),
    ['own'],
  )
})

test('a server that hangs, answers too much, dies or writes garbage costs the caller an error result', async (t) => {
  for (const [name, said] of [
    ['hang', 'did not answer in time'],
    ['large', 'ended the connection'],
    ['die', 'ended the connection'],
    ['garbage', 'after the garbage'],
  ] as const) {
    const answer = await askChat(server, asking(`call faulty__${name}`, [mcp('faulty')]))
    t.equal(answer.status, 200, name)
    t.match(answer.json().choices[0].message.content, said)
  }
})

test('a caller that leaves while a server hangs ends the call, which the server hears, and what ran is settled', async (t) => {
  const heard = async (): Promise<number> => {
    const { choices } = (await askChat(server, asking('call faulty__heard', [mcp('faulty')]))).json()
    return JSON.parse(/"text":"(\[.*?\])"/.exec(choices[0].message.content)![1]!).length
  }
  const before = await heard()
  const ids = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const leaving = new AbortController()
      const body = asking('say One moment.\ncall faulty__hang', [mcp('faulty')], { stream: true })
      const response = await server.post('/chat/completions', body, { signal: leaving.signal })
      // The comment that the tool has begun.
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
      for (let text = ''; !text.includes(': service tool mcp'); ) text += (await reader.read()).value ?? ''
      leaving.abort()
      await reader.read().catch(() => {})
      return response.headers.get('x-generation-id')!
    }),
  )
  for (const id of ids) {
    const { cancelled, total_cost, rows } = await rowsOf(id)
    const charged = rows.reduce((total: number, row: Json) => total + Math.round(row.charged * 1e9), 0)
    t.match([cancelled, Math.round(total_cost * 1e9)], [true, charged])
  }
  t.equal(await eventually(async () => (await heard()) - before === 8), true)
})

test('what cannot be had is a 400 that names it', async (t) => {
  for (const [tool, sentence] of [
    [
      mcp('other'),
      'tools.0.parameters.server_label: names no server of this gateway: other is not among mcp_servers',
    ],
    [mcp('gone'), 'tools.0.parameters.server_label: names a server that failed'],
    [
      mcp('near', { allowed_tools: ['x'] }),
      'tools.0.parameters.allowed_tools.0: names a tool that the server does not have',
    ],
    [mcp('my', { server_url: 'https://example.com/mcp' }), 'tools.0.parameters.server_url: is neither'],
    [{ type: 'service:mcp' }, 'tools.0.parameters: is required'],
  ] as const) {
    const answer = await askChat(server, asking('call x', [tool]))
    t.equal(answer.status, 400)
    t.ok(answer.json().error.message.startsWith(`Invalid request parameters: ${sentence}`), answer.text)
  }
})

test('a worker that is killed leaves no server, and the next one has its own', async (t) => {
  const pidIn = async (name: string): Promise<number> => {
    const { choices } = (await askChat(server, asking(`call faulty__${name}`, [mcp('faulty')]))).json()
    return Number(/"text":"(\d+)"/.exec(choices[0].message.content)?.[1])
  }
  const before = [await pidIn('pid'), await pidIn('child')]
  t.same(before.map(isAlive), [true, true])
  process.kill(workerOf(before[0]!), 'SIGKILL')
  t.ok(await eventually(() => before.every((pid) => !isAlive(pid))))
  const next = await eventually(() => pidIn('pid').catch(() => 0))
  t.ok(isAlive(next))
  t.equal(before.includes(next), false)
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Who has started it. */
function workerOf(pid: number): number {
  return Number(/\nPPid:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])
}
