/** Tools of MCP servers, as a request names the servers (contract/tools 3.10). */
import type { Tool } from '@modelcontextprotocol/client'
import { asList, type JsonObject, jsonText } from '../../formats/json-values.js'
import type {
  PreparedTool,
  ServerTool,
  ToolCallInput,
  ToolOutcome,
  ToolRefusal,
  ToolRequest,
  ToolRun,
} from '../port/tool.js'
import { functionNames } from './function-names.js'
import type { McpServer } from './mcp-server.js'
import { showResult } from './result-content.js'

/** Which servers there are; `McpServers` is them all. */
export interface McpDirectory {
  /** The server that a request names; null where there is none, or none for this request. */
  find(label: string, url: string | null, request: ToolRequest): McpServer | null
}

const MOST_TOOLS = 128
const MOST_SCHEMA_CHARS = 256 * 1024
const LONGEST_DESCRIPTION = 2_000
const LONGEST_RESULT = 100_000

export function createMcpTool(directory: McpDirectory): ServerTool {
  return {
    name: 'mcp',
    async prepare({ parameters }, request): Promise<PreparedTool | ToolRefusal> {
      const label = String(parameters.server_label)
      const url = typeof parameters.server_url === 'string' ? parameters.server_url : null
      const find = (): McpServer | null => directory.find(label, url, request)
      const server = find()
      if (server === null) return unknownServer(label, url)
      const listed = await server.tools()
      if (!listed.ok) return { refused: `names a server that ${listed.reason}`, member: LABEL }
      const tools = choose(listed.value, parameters)
      const refusal = refuseTools(tools, parameters, listed.value)
      return refusal ?? offer(find, label, tools, request)
    },
  }
}

const LABEL = ['parameters', 'server_label']

function unknownServer(label: string, url: string | null): ToolRefusal {
  if (url === null) {
    return { refused: `names no server of this gateway: ${label} is not among mcp_servers`, member: LABEL }
  }
  const refused = 'is neither the address of a configured server nor in tools.mcp.allowed_urls'
  return { refused, member: ['parameters', 'server_url'] }
}

function choose(tools: readonly Tool[], { allowed_tools, excluded_tools }: JsonObject): readonly Tool[] {
  const excluded = asList(excluded_tools)
  return tools.filter(
    ({ name }) =>
      (allowed_tools === undefined || asList(allowed_tools).includes(name)) && !excluded.includes(name),
  )
}

function refuseTools(
  tools: readonly Tool[],
  { allowed_tools }: JsonObject,
  all: readonly Tool[],
): ToolRefusal | null {
  const member = ['parameters', 'allowed_tools']
  const missing = asList(allowed_tools).findIndex((wanted) => all.every(({ name }) => name !== wanted))
  if (missing >= 0)
    return { refused: 'names a tool that the server does not have', member: [...member, missing] }
  if (tools.length > MOST_TOOLS) {
    return { refused: `must name those that are wanted: the server has more than ${MOST_TOOLS}`, member }
  }
  const chars = tools.reduce((sum, { inputSchema }) => sum + schemaChars(inputSchema), 0)
  if (chars <= MOST_SCHEMA_CHARS) return null
  const refused = `must leave some out: their schemas have more than ${MOST_SCHEMA_CHARS} characters, or are too deep`
  return { refused, member }
}

/** Infinity where it is nested too deep to be sent on. */
function schemaChars(schema: Tool['inputSchema']): number {
  return jsonText(schema)?.length ?? Number.POSITIVE_INFINITY
}

/** @param find asked with every call: a server is closed by a reload, or let go while a model thinks. */
function offer(
  find: () => McpServer | null,
  label: string,
  tools: readonly Tool[],
  { contextLength }: ToolRequest,
): PreparedTool {
  const names = functionNames(
    label,
    tools.map(({ name }) => name),
  )
  const byFunction = new Map(tools.map((tool, index) => [names[index]!, tool]))
  // A token is four characters, roughly, and a result may take a quarter of the context.
  const mostChars = Math.min(LONGEST_RESULT, contextLength)
  return {
    functions: tools.map(({ name, description = '', inputSchema }, index) => ({
      name: names[index]!,
      description: description.slice(0, LONGEST_DESCRIPTION),
      parameters: inputSchema as JsonObject,
      origin: { server: label, tool: name },
    })),
    backend: 'mcp',
    fee: () => 0,
    run: async (call, run) => {
      const tool = byFunction.get(call.function)
      const server = find()
      if (server === null) return failed(`MCP server ${label} is no longer configured`, false)
      if (tool === undefined) return failed(`${label} has no such tool`, false)
      return callTool(server, tool, call, run, { mostChars, label })
    },
  }
}

async function callTool(
  server: McpServer,
  tool: Tool,
  call: ToolCallInput,
  { caller, signal, deadlineAt }: ToolRun,
  { mostChars, label }: { readonly mostChars: number; readonly label: string },
): Promise<ToolOutcome> {
  const timeoutMs = Math.max(1, Math.min(server.timeoutMs, deadlineAt - performance.now()))
  const { organizationId } = caller
  const answer = await server.call({ tool, arguments: call.arguments, organizationId, signal, timeoutMs })
  if (!answer.ok) {
    const { reason, detail, wasAsked } = answer
    return failed(`MCP server ${label} ${reason}${detail === undefined ? '' : `: ${detail}`}`, wasAsked)
  }
  const { text, images } = showResult(answer.value, mostChars)
  const isError = answer.value.isError === true
  return {
    content: isError
      ? { origin: `MCP server ${label}`, error: text }
      : { origin: `MCP server ${label}`, text },
    isError,
    executed: true,
    charged: 0,
    reached: [server.place],
    ...(images.length > 0 && { images }),
  }
}

function failed(error: string, executed: boolean): ToolOutcome {
  return { content: { error }, isError: true, executed, charged: 0 }
}
