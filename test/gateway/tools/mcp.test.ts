import { readFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { childrenOf } from '../../../bench/harness/machine/proc.js'
import { createMcpTool } from '../../../src/gateway/tools/mcp/mcp.js'
import type { PreparedTool, ToolOutcome, ToolRun } from '../../../src/gateway/tools/port/tool.js'
import { startPeer } from '../../support/peers/peer-process.js'
import { eventually } from '../../support/timing/eventually.js'
import { FAULTY_SERVER } from '../../support/tools/faulty-mcp-server.js'
import { byProgram, mcpWorld } from '../../support/tools/mcp-servers.js'
import { prepared, REQUEST, refusalOf, requested, toolRun } from '../../support/tools/tool-call.js'

const PEER = new URL('../../support/peers/mcp-peer.js', import.meta.url).href

/** The misbehaving server, and a caller of its tools. */
async function faulty(t: Test, more: Parameters<typeof byProgram>[1] = {}) {
  const { servers, close } = mcpWorld({ f: byProgram(FAULTY_SERVER, more) })
  t.teardown(close)
  const tool = createMcpTool(servers)
  const ready = await prepared(tool, { server_label: 'f' })
  const ask = (name: string, run: Partial<ToolRun> = {}) => callIn(ready, `f__${name}`, run)
  return { tool, ready, ask, close }
}

function callIn(ready: PreparedTool, name: string, run: Partial<ToolRun> = {}) {
  return ready.run({ id: 'call_1', function: name, arguments: {} }, toolRun(run))
}

test('a call that hangs ends with its time, and the server is told that it is cancelled', async (t) => {
  const { ask } = await faulty(t)
  const outcome = await ask('hang', { deadlineAt: performance.now() + 50 })
  t.match(outcome, {
    content: { error: 'MCP server f did not answer in time' },
    isError: true,
    executed: true,
  })
  t.match((await ask('heard')).content, { text: /^\[\d+\]$/ })
})

test('an aborted call resolves at once, and the server is told', async (t) => {
  const { ask } = await faulty(t)
  const leaving = new AbortController()
  const outcome = ask('hang', { signal: leaving.signal })
  await ask('heard')
  leaving.abort()
  t.match(await outcome, { isError: true })
  t.match((await ask('heard')).content, { text: /^\[\d+\]$/ })
  const late = await ask('hang', { signal: AbortSignal.abort() })
  t.match(late, { executed: false, charged: 0 }, 'what is aborted already is not begun')
})

test('an answer of 5 MB, and the death of a server, are errors for the model, and the next call has a new server', async (t) => {
  const { ask } = await faulty(t)
  const pidOf = async (): Promise<number> => Number(textOf(await ask('pid')))
  for (const fault of ['large', 'die']) {
    const before = await pidOf()
    const outcome = await ask(fault)
    t.match(outcome, {
      content: { error: 'MCP server f ended the connection' },
      isError: true,
      executed: true,
    })
    const after = await pidOf()
    t.ok(after > 0 && after !== before)
    t.equal(isAlive(before), false)
  }
})

test('lines that are no messages harm nobody', async (t) => {
  const { ask } = await faulty(t)
  t.match((await ask('garbage')).content, { text: 'after the garbage' })
})

test('what a server says too fast is read all the same, later', async (t) => {
  const { ask } = await faulty(t)
  t.match((await ask('chatter')).content, { text: 'all said' })
})

test('what is nested too deep to be written is not shown, and a tool with such a schema is refused', async (t) => {
  const { tool, ask } = await faulty(t)
  t.match(await ask('deep'), { content: { text: '[a structure that is nested too deep]' }, isError: false })
  await ask('sink')
  const refusal = await eventually(async () => {
    const ready = await tool.prepare(requested('mcp', { server_label: 'f' }), REQUEST)
    return 'refused' in ready && ready
  })
  t.match(refusal, { refused: /are too deep/, member: ['parameters', 'allowed_tools'] })
  t.ok(await prepared(tool, { server_label: 'f', excluded_tools: ['bottomless'] }), 'the others can be had')
})

test('a server gets no answers of models', async (t) => {
  const { ask } = await faulty(t)
  t.match((await ask('ask')).content, { text: 'refused with -32601' })
})

test('a list that has changed is asked for anew', async (t) => {
  const { tool, ready, ask } = await faulty(t)
  t.notOk(ready.functions.some(({ name }) => name === 'f__grown'))
  await ask('grow')
  const names = async () => (await prepared(tool, { server_label: 'f' })).functions.map(({ name }) => name)
  t.ok(await eventually(async () => (await names()).includes('f__grown')))
})

test('nothing is left of a server that is closed, also what it has started', async (t) => {
  const { ask, close } = await faulty(t)
  const pids = [await ask('pid'), await ask('child')].map((outcome) => Number(textOf(outcome)))
  t.same(pids.map(isAlive), [true, true])
  await close()
  t.ok(await eventually(() => pids.every((pid) => !isAlive(pid))))
})

test('nothing is left of a server whose worker is killed, also where it does not mind the end of its input', async (t) => {
  const peer = await startPeer<string, number[]>(PEER, '')
  const pids = await peer.ask('servers')
  t.same(pids.map(isAlive), [true, true])
  peer.child.kill('SIGKILL')
  t.ok(await eventually(() => pids.every((pid) => !isAlive(pid))))
})

test('a reload keeps servers whose entries are the same, and ends the others', async (t) => {
  const kept = byProgram(FAULTY_SERVER)
  const { servers, close } = mcpWorld({ kept, changed: kept, gone: kept })
  t.teardown(close)
  const tool = createMcpTool(servers)
  const pidOf = async (label: string): Promise<number> => {
    const ready = await prepared(tool, { server_label: label })
    return Number(textOf(await callIn(ready, `${label}__pid`)))
  }
  const ready = await prepared(tool, { server_label: 'changed' })
  const lost = await prepared(tool, { server_label: 'gone' })
  const before = [await pidOf('kept'), await pidOf('changed'), await pidOf('gone')]
  servers.configure({
    servers: { kept: { ...kept }, changed: { ...kept, timeoutMs: 5_000 } },
    allowedUrls: [],
  })
  t.equal(await pidOf('kept'), before[0])
  t.not(await pidOf('changed'), before[1])
  t.match(
    await callIn(ready, 'changed__pid'),
    { isError: false },
    'a loop under way goes on with the new one',
  )
  t.match(await callIn(lost, 'gone__pid'), {
    content: { error: 'MCP server gone is no longer configured' },
    executed: false,
  })
  t.match(await refusalOf(tool, { server_label: 'gone' }), { refused: /names no server/ })
  t.ok(await eventually(() => before.slice(1).every((pid) => !isAlive(pid))))
})

test('a server that says nothing is not waited for when its worker ends', async (t) => {
  const { servers, close } = mcpWorld({ mute: byProgram('setInterval(() => {}, 1000)') })
  const before = performance.now()
  const refusal = refusalOf(createMcpTool(servers), { server_label: 'mute' })
  const child = await eventually(() =>
    childrenOf(process.pid).find((pid) => commandOf(pid).includes('setInterval')),
  )
  await close()
  t.equal(isAlive(child), false)
  t.match(await refusal, { refused: /names a server that/ })
  t.ok(performance.now() - before < 8_000, 'less than the time for a connection')
})

test('a request chooses among the tools, and may not name one that is not there', async (t) => {
  const { tool } = await faulty(t)
  const names = async (more: object) =>
    (await prepared(tool, { server_label: 'f', ...more })).functions.map(({ name }) => name)
  t.same(await names({ allowed_tools: ['pid', 'die'] }), ['f__die', 'f__pid'])
  t.notOk((await names({ excluded_tools: ['die'] })).includes('f__die'))
  t.match(await refusalOf(tool, { server_label: 'f', allowed_tools: ['pid', 'fly'] }), {
    refused: 'names a tool that the server does not have',
    member: ['parameters', 'allowed_tools', 1],
  })
})

test('a server that is not there, or cannot be started, is a refusal that names it', async (t) => {
  const { servers, close } = mcpWorld({
    gone: byProgram('process.exit(3)'),
    none: byProgram('', { command: '/no/such' }),
  })
  t.teardown(close)
  const tool = createMcpTool(servers)
  for (const [label, refused] of [
    ['gone', 'names a server that ended the connection'],
    ['none', 'names a server that could not be started'],
    ['other', 'names no server of this gateway: other is not among mcp_servers'],
    ['sim', 'names no server of this gateway: sim is not among mcp_servers'],
  ] as const) {
    t.same(await refusalOf(tool, { server_label: label }), {
      refused,
      member: ['parameters', 'server_label'],
    })
  }
})

test('the simulated server is there for simulated models', async (t) => {
  const { servers, close } = mcpWorld({})
  t.teardown(close)
  const ready = await prepared(createMcpTool(servers), { server_label: 'sim' }, { isSimulated: true })
  const add = { id: 'c', function: 'sim__add', arguments: { a: 2, b: 40 } }
  t.same((await ready.run(add, toolRun())).content, { origin: 'MCP server sim', text: '2 + 40 = 42' })
  t.match(await callIn(ready, 'sim__picture'), { images: [/^data:image\/png;base64,/] })
  t.match(await callIn(ready, 'sim__document'), {
    content: { text: 'sim://tides:\nThe tide is in.\n[moon](sim://moon)' },
  })
  t.match(await callIn(ready, 'sim__fail'), {
    content: { origin: 'MCP server sim', error: 'This tool always fails.' },
    isError: true,
    executed: true,
  })
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function textOf({ content }: ToolOutcome): unknown {
  return (content as { readonly text?: unknown }).text
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
