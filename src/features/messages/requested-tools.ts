/**
 * The tools of a messages request told apart: those that go to the provider as they came, and those that are, or may
 * be, the gateway's own to run (contract/tools 3.12).
 */
import { Fault, type ValidationIssue } from '../../base/fault.js'
import type { JsonObject } from '../../gateway/formats/json-values.js'
import type { MessagesTool } from '../../gateway/formats/messages.js'
import { callerToolName, nativeToolName } from '../../gateway/formats/native-tools.js'
import { type RequestedTool, serverToolName } from '../../gateway/formats/tooling.js'
import { bodyIssue } from '../../inference-http/request-members.js'
import { MESSAGES_SERVER_TOOLS, toolNamedTwice } from '../../inference-http/server-tools.js'
import type { McpServer } from './schema-tools.js'

interface ToolMembers {
  readonly tools?: readonly MessagesTool[]
  readonly mcp_servers?: readonly McpServer[] | boolean | null
  readonly tool_choice?: { readonly type: string; readonly name?: string }
}

export interface ToldTools {
  /** For the provider, a tool with a date also where the gateway may come to run it; the list itself where it can be. */
  readonly kept: readonly MessagesTool[]
  readonly requested: readonly RequestedTool[]
}

const NOTHING: ToldTools = { kept: [], requested: [] }

/** Throws `invalid-input` for a tool that there is none of, or that is named twice. */
export function tellTools({ tools = [], mcp_servers, tool_choice: choice }: ToolMembers): ToldTools {
  if (mcp_servers === true) throw refused(bodyIssue(['mcp_servers'], 'must be a list'))
  const servers = mcp_servers === false ? [] : (mcp_servers ?? [])
  if (servers.length === 0 && tools.every(isOfTheCaller))
    return tools.length === 0 ? NOTHING : { kept: tools, requested: [] }
  const kept: MessagesTool[] = []
  const requested: RequestedTool[] = []
  tools.forEach((tool, at) => {
    if (tool.type !== 'mcp_toolset') tellTool(tool, at, kept, requested)
  })
  requested.push(...toolsOfServers(servers, tools))
  const issue = toolNamedTwice(requested) ?? forcedSearchIssue(requested, choice)
  if (issue !== null) throw refused(issue)
  return { kept, requested }
}

function isOfTheCaller({ type }: MessagesTool): boolean {
  return type === undefined || type === null || type === 'custom'
}

function refused(issue: ValidationIssue): Fault {
  return new Fault('invalid-input', { issues: [issue] })
}

function tellTool(tool: MessagesTool, at: number, kept: MessagesTool[], requested: RequestedTool[]): void {
  const { engine, ...rest } = tool
  const type = tool.type ?? 'custom'
  const place = ['tools', at]
  // Shorthands without a prefix are chat's.
  const own = type.includes(':') ? serverToolName(type) : null
  if (own !== null) {
    if (!(MESSAGES_SERVER_TOOLS as readonly string[]).includes(own))
      throw refused(bodyIssue([...place, 'type'], 'is no tool of this gateway'))
    const parameters = (tool.parameters ?? {}) as JsonObject
    requested.push({ name: own, parameters, type, place, isNative: false })
    const native = parameters.engine === 'native' ? toNativeTool(own, parameters) : null
    if (native !== null) kept.push(native)
    return
  }
  const native = nativeToolName(type)
  const name = native ?? callerToolName(type)
  const isOurs = engine !== undefined && engine !== 'auto' && engine !== 'native'
  if (!isOurs) kept.push(engine === undefined ? tool : rest)
  if (name === null || (native === null && !isOurs)) return
  const calledName = tool.name === undefined || tool.name === name ? {} : { calledName: tool.name }
  const parameters = parametersOf(tool, name)
  requested.push({ name, parameters, type, place, isNative: true, ...calledName })
}

// ── Native names ────────────────────────────────────────────────────────────

/** Engines by which a native name says only that it is to be run here. */
const PLAIN_ENGINES: ReadonlySet<unknown> = new Set(['service', 'openrouter'])

/** What a tool with a date says, as parameters of the tool that runs it here. */
function parametersOf(tool: MessagesTool, name: string): JsonObject {
  const { engine, max_uses, allowed_domains, blocked_domains, user_location } = tool
  const { max_content_tokens, max_characters, model } = tool
  const variant = name === 'tool_search' ? (tool.type?.includes('bm25') ? 'bm25' : 'regex') : undefined
  const blocked = name === 'web_search' ? 'excluded_domains' : 'blocked_domains'
  const isNamed = name.startsWith('web_') || engine === 'native'
  return withoutNothing({
    engine: isNamed && !PLAIN_ENGINES.has(engine) ? engine : undefined,
    max_uses,
    allowed_domains,
    [blocked]: blocked_domains,
    user_location,
    max_content_tokens,
    max_characters,
    model,
    variant,
  })
}

/** The provider's own tool that stands for ours where that is to be left to it; null where the format has none. */
function toNativeTool(name: string, parameters: JsonObject): MessagesTool | null {
  const type = NATIVE_TYPES.get(name)
  if (type === undefined) return null
  const { max_uses, allowed_domains, excluded_domains, blocked_domains, user_location, max_content_tokens } =
    parameters
  const blocked = excluded_domains ?? blocked_domains
  const members = { max_uses, allowed_domains, blocked_domains: blocked, user_location, max_content_tokens }
  return { type, name, ...withoutNothing(members) }
}

const NATIVE_TYPES: ReadonlyMap<string, string> = new Map([
  ['web_search', 'web_search_20250305'],
  ['web_fetch', 'web_fetch_20250910'],
])

function withoutNothing(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value != null))
}

// ── Servers of tools ────────────────────────────────────────────────────────

/** A tool for each server; what a toolset, or in its older place the server itself, says of it stands beside. */
function toolsOfServers(servers: readonly McpServer[], tools: readonly MessagesTool[]): RequestedTool[] {
  tools.forEach(({ type, mcp_server_name: label }, at) => {
    if (type === 'mcp_toolset' && !servers.some(({ name }) => name === label))
      throw refused(bodyIssue(['tools', at, 'mcp_server_name'], 'is the name of none of mcp_servers'))
  })
  return servers.flatMap((server, at) => {
    const place = ['mcp_servers', at]
    if ((server.authorization_token ?? null) !== null)
      throw refused(
        bodyIssue([...place, 'authorization_token'], 'is not forwarded: the operator configures credentials'),
      )
    const toolset = tools.find(({ type, mcp_server_name }) => {
      return type === 'mcp_toolset' && mcp_server_name === server.name
    })
    if (toolset === undefined && server.tool_configuration?.enabled === false) return []
    const { url, name, tool_configuration: older } = server
    const parameters = withoutNothing({
      server_label: name,
      server_url: url,
      ...(toolset === undefined
        ? { allowed_tools: older?.allowed_tools }
        : toolsetParameters(toolset as unknown as Toolset)),
    })
    return [{ name: 'mcp', parameters, type: 'mcp_toolset', place, isNative: true }]
  })
}

interface ToolsetConfig {
  readonly enabled?: boolean
  readonly defer_loading?: boolean
}

interface Toolset {
  readonly default_config?: ToolsetConfig | null
  readonly configs?: Readonly<Record<string, ToolsetConfig>> | null
}

/** Which tools of a server are offered, and which of them only once they were found. */
function toolsetParameters({ default_config, configs }: Toolset): JsonObject {
  const { enabled = true, defer_loading = false } = default_config ?? {}
  const named = Object.entries(configs ?? {})
  const others = named.filter(([, config]) => (config.enabled ?? enabled) !== enabled).map(([name]) => name)
  const exceptions = named
    .filter(([, config]) => (config.defer_loading ?? defer_loading) !== defer_loading)
    .map(([name]) => name)
  return {
    [enabled ? 'excluded_tools' : 'allowed_tools']: enabled && others.length === 0 ? undefined : others,
    ...((defer_loading || exceptions.length > 0) && { defer_loading, defer_exceptions: exceptions }),
  }
}

// ── Rules ───────────────────────────────────────────────────────────────────

/** What is found later cannot be called at once. */
function forcedSearchIssue(
  requested: readonly RequestedTool[],
  choice: ToolMembers['tool_choice'],
): ValidationIssue | null {
  if (choice === undefined || choice.type === 'auto' || choice.type === 'none') return null
  if (!requested.some(({ name }) => name === 'tool_search')) return null
  return bodyIssue(['tool_choice'], 'cannot be forced beside a search for tools')
}
