/** What a caller has a model do when it leaves: each kind waits for something that ends with it, or takes turns. */

/** Never answers within a trial. */
export const SILENT_MODEL = 'trial/silent'
export const COMMAND_LABEL = 'm'

export interface ToolInUse {
  readonly name: string
  readonly tools: readonly object[]
  /** Lines of the user message (docs/guide/simulated-models.md). */
  readonly lines: string
}

const service = (name: string, parameters: object = {}) => ({ type: `service:${name}`, parameters })
const mcp = (label: string) => service('mcp', { server_label: label })
const panel = [SILENT_MODEL, SILENT_MODEL, 'sim/instant']
const task = JSON.stringify({ task_name: 'wait', task_description: `call ${COMMAND_LABEL}__wait` })

export const TOOLS_IN_USE: readonly ToolInUse[] = [
  { name: 'a command over MCP', tools: [mcp(COMMAND_LABEL)], lines: `call ${COMMAND_LABEL}__wait` },
  { name: 'the simulated MCP server', tools: [mcp('sim')], lines: 'call sim__hang\nand sim__hang {"a":1}' },
  {
    name: 'bash',
    tools: [service('bash', { environment: { type: 'container_auto' } })],
    lines: 'call service:bash {"command":"sleep 60 & sleep 60"}',
  },
  {
    name: 'advisor',
    tools: [service('advisor', { model: SILENT_MODEL })],
    lines: 'call service:advisor {"prompt":"Well?"}',
  },
  {
    name: 'subagent',
    tools: [service('subagent', { model: 'sim/agent', tools: [mcp(COMMAND_LABEL)] })],
    lines: `call service:subagent ${task}`,
  },
  {
    name: 'fusion',
    tools: [service('fusion', { analysis_models: panel })],
    lines: 'call service:fusion {"prompt":"Well?"}',
  },
  {
    name: 'quick ones, turn by turn',
    tools: [service('web_search'), service('datetime'), service('files'), service('memory')],
    lines: [
      'call service:web_search {"query":"gate three"}',
      'and service:datetime',
      'call service:memory {"command":"view","path":"/memories"}',
      'forever',
    ].join('\n'),
  },
]

/** A program that is an MCP server: `wait` is answered by nobody, `left` tells how many of those were not cancelled. */
export const WAITING_SERVER = `
import { createInterface } from 'node:readline'
const waiting = new Set()
const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
const tools = ['wait', 'left'].map((name) => ({ name, inputSchema: { type: 'object' } }))
const serverInfo = { name: 'waiting', version: '1' }
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize') say(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo })
  else if (method === 'tools/list') say(id, { tools })
  else if (method === 'notifications/cancelled') waiting.delete(params.requestId)
  else if (method === 'tools/call' && params.name === 'wait') waiting.add(id)
  else if (method === 'tools/call') say(id, { content: [{ type: 'text', text: 'left=' + waiting.size + '.' }] })
  else if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }) + '\\n')
})
`
