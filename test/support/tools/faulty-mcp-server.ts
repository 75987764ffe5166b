/**
 * The text of a program that is an MCP server over its standard input and output, and misbehaves as its tools are called:
 * `hang` never answers and `heard` tells which calls were cancelled; `large` answers with 5 MB, `die` ends it, `garbage`
 * writes lines that are no messages and then answers, `grow` adds a tool and tells so, `ask` wants an answer of a model,
 * `chatter` says 5,000 notifications and then answers,
 * `child` starts a process that outlives it, `deep` answers with a structure of 100,000 levels, and `sink` adds a tool
 * whose schema has as many.
 */
export const FAULTY_SERVER = `
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
const names = ['hang', 'heard', 'large', 'die', 'garbage', 'grow', 'ask', 'child', 'pid', 'deep', 'sink', 'chatter']
const cancelled = []
const abyss = '['.repeat(1e5) + ']'.repeat(1e5)
const say = (message) =>
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }).replace('"ABYSS"', abyss) + '\\n')
const text = (value) => ({ content: [{ type: 'text', text: value }] })
const asked = new Map()
const call = {
  hang: () => {},
  heard: (id) => say({ id, result: text(JSON.stringify(cancelled)) }),
  large: (id) => say({ id, result: text('x'.repeat(5e6)) }),
  die: () => process.exit(1),
  pid: (id) => say({ id, result: text(String(process.pid)) }),
  garbage: (id) => {
    process.stdout.write('no json\\n[1,2]\\nnull\\n{"jsonrpc":"2.0","id":{},"result":7}\\n\\u0000\\n')
    say({ id, result: text('after the garbage') })
  },
  grow: (id) => {
    names.push('grown')
    say({ method: 'notifications/tools/list_changed' })
    say({ id, result: text('grown') })
  },
  ask: (id) => {
    asked.set('mine', id)
    say({ id: 'mine', method: 'sampling/createMessage', params: { messages: [], maxTokens: 5 } })
  },
  deep: (id) => say({ id, result: { content: [], structuredContent: { x: 'ABYSS' } } }),
  chatter: (id) => {
    for (let at = 0; at < 5_000; at++) say({ method: 'notifications/message', params: { level: 'info', data: at } })
    say({ id, result: text('all said') })
  },
  sink: (id) => {
    names.push('bottomless')
    say({ method: 'notifications/tools/list_changed' })
    say({ id, result: text('sunk') })
  },
  child: (id) => {
    const { pid } = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
    say({ id, result: text(String(pid)) })
  },
}
const toTool = (name) => ({ name, inputSchema: { type: 'object', ...(name === 'bottomless' && { x: 'ABYSS' }) } })
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params, error } = JSON.parse(line)
  if (asked.has(id)) say({ id: asked.get(id), result: text('refused with ' + error?.code) })
  else if (method === 'initialize') {
    const capabilities = { tools: { listChanged: true } }
    say({ id, result: { protocolVersion: params.protocolVersion, capabilities, serverInfo: { name: 'f', version: '1' } } })
  } else if (method === 'tools/list') {
    say({ id, result: { tools: names.map(toTool) } })
  } else if (method === 'tools/call') call[params.name](id)
  else if (method === 'notifications/cancelled') cancelled.push(params.requestId)
  else if (id !== undefined) say({ id, error: { code: -32601, message: 'there is no ' + method } })
})
`
