/**
 * The tools that the gateway runs, as requests of chat and of messages name them (contract/gateway 2.4, 5.2;
 * contract/tools 3): their spellings, the shapes of their parameters, and what of a body becomes its tooling.
 */
import { z } from 'zod'
import type { ValidationIssue } from '../base/fault.js'
import type { RoutedRequest } from '../gateway/formats/canonical.js'
import {
  MOST_TOOL_CALLS,
  type RequestedPlugin,
  type RequestedTool,
  SEARCH_SHORTHANDS,
  type StopCondition,
} from '../gateway/formats/tooling.js'
import { CONTEXT_COMPRESSION } from '../gateway/plugins/context-compression/context-compression.js'
import { agentFunction } from '../gateway/tools/nested/agent-name.js'
import {
  boundedInteger,
  boundedString,
  finiteNumber,
  noteOptions,
  optional,
  safeInteger,
  stringMatching,
} from '../http/fields.js'
import { fetchParameters, innerTool, searchMode, userLocation, xSearch } from './plugins.js'
import { bodyIssue, cacheControl, effort } from './request-members.js'

/** Tools of both formats, without their prefix. */
const SHARED_TOOLS = [
  'advisor',
  'bash',
  'datetime',
  'files',
  'fusion',
  'image_generation',
  'experimental__search_models',
  'mcp',
  'memory',
  'subagent',
  'web_fetch',
  'web_search',
] as const

/** Tools that only the messages format has. */
const MESSAGES_ONLY = ['shell', 'text_editor', 'tool_search'] as const

type ServerToolName = (typeof SHARED_TOOLS)[number] | (typeof MESSAGES_ONLY)[number]

export const CHAT_SERVER_TOOLS: readonly ServerToolName[] = SHARED_TOOLS
export const MESSAGES_SERVER_TOOLS: readonly ServerToolName[] = [...SHARED_TOOLS, ...MESSAGES_ONLY]

// ── Parameters ──────────────────────────────────────────────────────────────

const effortOrBudget = z.object(optional({ effort, max_tokens: safeInteger(1) }))
const agentName = stringMatching(
  /^[A-Za-z0-9 _-]{1,64}$/,
  'must be 1 to 64 letters, digits, spaces, underscores or hyphens',
)
const strings = z.array(z.string())
const positive = safeInteger(1)

/** Who runs a tool. The other spelling of our own name is taken and not advertised (contract/decisions 1). */
function engineAmong(names: readonly string[]): z.ZodEnum {
  return z.enum([...names, 'openrouter']).meta({ enum: [...names] })
}

const networkPolicy = z.discriminatedUnion('type', [
  z.object({ type: z.literal('disabled') }),
  z.object({ type: z.literal('allowlist'), allowed_domains: strings }),
])
const inContainer = optional({ file_ids: strings, network_policy: networkPolicy })

/** Who searches: the gateway's own backends, and those that other gateways name. */
export const searchEngine = z.enum([
  ...(['auto', 'native', 'searxng', 'brave', 'tavily', 'exa'] as const),
  ...(['parallel', 'firecrawl', 'perplexity'] as const),
])

export const fetchEngine = engineAmong(['auto', 'native', 'service', 'exa', 'parallel', 'firecrawl'])

/** Of tools with one engine here. */
export const ownEngine = engineAmong(['auto', 'native', 'service'])

/** Members that the search tool takes under `parameters`, and its shorthands directly as well. */
const searchParameters = optional({
  engine: searchEngine,
  allowed_domains: strings,
  excluded_domains: strings,
  max_results: positive,
  max_total_results: positive,
  max_uses: positive,
  max_characters: positive,
  mode: searchMode,
  search_context_size: z.enum(['low', 'medium', 'high']),
  user_location: userLocation,
  x_search: xSearch,
})

interface DomainLists {
  readonly allowed_domains?: readonly string[]
  readonly excluded_domains?: readonly string[]
}

/** An allow-list and a deny-list exclude each other. */
function oneListOfDomains(search: DomainLists): boolean {
  return search.allowed_domains === undefined || search.excluded_domains === undefined
}

const ONE_LIST = noteOptions('takes allowed_domains or excluded_domains, not both')
const searchObject = z.object(searchParameters).refine(oneListOfDomains, ONE_LIST)

const environment = z.discriminatedUnion('type', [
  z.object({ type: z.literal('container_auto'), ...inContainer }),
  z.object({ type: z.literal('container_reference'), container_id: boundedString(1, 20), ...inContainer }),
])

/** Every one of them may be left out. */
function parametersOf(members: z.ZodRawShape): z.ZodType {
  return z.object(optional(members))
}

/** Tools of the run beneath a call, and how many calls it may make. */
const innerLoop = { tools: z.array(innerTool), max_tool_calls: boundedInteger(1, 25) }

const sandbox = parametersOf({ engine: ownEngine, environment })

const LABEL = 'must be 1 to 64 letters, digits, underscores or hyphens'

const PARAMETERS: { readonly [N in ServerToolName]: z.ZodType } = {
  advisor: parametersOf({
    model: z.string(),
    name: agentName,
    instructions: z.string(),
    forward_transcript: z.boolean(),
    max_completion_tokens: positive,
    temperature: finiteNumber(),
    stream: z.boolean(),
    reasoning: effortOrBudget,
    ...innerLoop,
  }),
  bash: sandbox,
  datetime: parametersOf({ timezone: z.string() }),
  files: parametersOf({}),
  fusion: parametersOf({
    analysis_models: strings.min(1).max(8),
    model: z.string(),
    max_tool_calls: boundedInteger(1, 16),
    max_completion_tokens: positive,
    reasoning: effortOrBudget,
    temperature: finiteNumber(),
    tools: z.array(innerTool).max(8),
    cache_control: cacheControl,
  }),
  image_generation: z.looseObject(optional({ model: z.string() })),
  experimental__search_models: parametersOf({ max_results: boundedInteger(1, 20) }),
  mcp: z.object({
    server_label: stringMatching(/^[A-Za-z0-9_-]{1,64}$/, LABEL),
    ...optional({ server_url: boundedString(1, 2048), allowed_tools: strings, excluded_tools: strings }),
  }),
  memory: parametersOf({}),
  shell: sandbox,
  subagent: parametersOf({
    model: z.string(),
    name: agentName,
    instructions: z.string(),
    max_completion_tokens: positive,
    temperature: finiteNumber(),
    reasoning: effortOrBudget,
    ...innerLoop,
    inherit_functions: z.boolean(),
    inherited_function_names: strings,
  }),
  text_editor: parametersOf({}),
  tool_search: parametersOf({ max_results: boundedInteger(1, 20), variant: z.enum(['regex', 'bm25']) }),
  web_fetch: parametersOf({
    engine: fetchEngine,
    ...fetchParameters,
  }),
  web_search: searchObject,
}

/** Where parameters that a tool gives a tool beneath it break the shape of theirs; null where they do not. */
export function innerParametersFault(name: string, parameters: unknown): readonly (string | number)[] | null {
  const schema = Object.hasOwn(PARAMETERS, name) ? PARAMETERS[name as ServerToolName] : null
  const [issue] = schema?.safeParse(parameters).error?.issues ?? []
  return issue === undefined ? null : (issue.path as (string | number)[])
}

/** A tool of the gateway under both spellings; the neutral one is the one in the document (contract/decisions 1). */
export function serverToolSchema<M extends z.ZodRawShape>(name: ServerToolName, members: M = {} as M) {
  const parameters = PARAMETERS[name]
  return z.object({
    type: z.literal([`service:${name}`, `openrouter:${name}`]).meta({ enum: [`service:${name}`] }),
    ...(name === 'mcp' ? { parameters } : { parameters: z.exactOptional(parameters) }),
    ...members,
  })
}

export const searchShorthand = z
  .object({
    type: z.literal(SEARCH_SHORTHANDS),
    ...searchParameters,
    ...optional({ parameters: searchObject }),
  })
  .refine(oneListOfDomains, ONE_LIST)

// ── What of a body is the gateway's own to do ────────────────────────────────

/** What tells several tools of these names apart. */
const TOLD_APART_BY: Readonly<Record<string, (parameters: RequestedTool['parameters']) => unknown>> = {
  advisor: ({ name }) => agentFunction('advisor', name),
  subagent: ({ name }) => agentFunction('subagent', name),
  mcp: ({ server_label: label }) => label,
  tool_search: ({ variant }) => variant,
}

/** A tool that is named a second time (contract/tools 1.4), or null. */
export function toolNamedTwice(tools: readonly RequestedTool[]): ValidationIssue | null {
  const seen = new Set<string>()
  for (const { name, parameters, place, type } of tools) {
    const key = `${name} ${TOLD_APART_BY[name]?.(parameters) ?? ''}`
    if (seen.has(key)) return bodyIssue([...place, 'type'], `names the tool ${type} a second time`)
    seen.add(key)
  }
  return null
}

export interface LoopBody {
  readonly model?: string
  readonly models?: readonly string[]
  readonly plugins?: readonly { readonly id: string; readonly enabled?: boolean }[]
  readonly web_search_options?: object | null
  /** An older word for `context-compression`; an empty list switches it off. */
  readonly transforms?: readonly 'middle-out'[] | null
  readonly stop_server_tools_when?: readonly StopCondition[]
  readonly max_tool_calls?: number
}

/** Of a body that asks nothing of the gateway itself: most do, and need no copy for it. */
export const NOTHING_ASKED: Pick<RoutedRequest, 'tooling' | 'idle'> = Object.freeze({})

/** What a body asks of the gateway itself, as a member to be spread; `NOTHING_ASKED` where that is nothing. */
export function toolingMember(
  body: LoopBody,
  tools: readonly RequestedTool[],
): Pick<RoutedRequest, 'tooling' | 'idle'> {
  if (tools.length === 0 && asksNothing(body)) return NOTHING_ASKED
  const { plugins = [], stop_server_tools_when, max_tool_calls = MOST_TOOL_CALLS } = body
  const implied = impliedPlugins(body)
  const isUntransformed = body.transforms?.length === 0
  const limits = LOOP_LIMITS.filter((name) => body[name] !== undefined)
  if (tools.length + plugins.length + implied.length === 0 && !isUntransformed)
    return limits.length === 0 ? NOTHING_ASKED : { idle: limits }
  const wanted: RequestedPlugin[] = []
  const disabled: string[] = []
  plugins.forEach(({ id, enabled, ...options }, at) => {
    if (enabled === false) disabled.push(id)
    else wanted.push({ id, options, place: ['plugins', at] })
  })
  if (isUntransformed) disabled.push(CONTEXT_COMPRESSION)
  const added = implied.filter(({ id }) => !plugins.some((named) => named.id === id))
  const stopWhen = stop_server_tools_when ?? null
  const all = [...wanted, ...added]
  const told = limits.length === 0 ? {} : { limits }
  return { tooling: { tools, plugins: all, disabled, stopWhen, maxToolCalls: max_tool_calls, ...told } }
}

/** Hot: most bodies have nothing of it but the name of one model, which stands for itself. */
function asksNothing(body: LoopBody): boolean {
  if (body.plugins !== undefined || body.transforms !== undefined || body.models !== undefined) return false
  if (body.web_search_options !== undefined) return false
  if (body.stop_server_tools_when !== undefined || body.max_tool_calls !== undefined) return false
  return body.model === undefined || !impliesPlugin(body.model)
}

function impliesPlugin(model: string): boolean {
  return model.endsWith(ONLINE) || ROUTER_MODEL.test(model)
}

/** They say nothing where there is no loop. */
const LOOP_LIMITS = ['stop_server_tools_when', 'max_tool_calls'] as const

/** Names of models that a plugin chooses (contract/tools 4.5), behind either prefix. */
const ROUTERS: Readonly<Record<string, string>> = {
  auto: 'auto-router',
  'auto-beta': 'auto-beta-router',
  'pareto-code': 'pareto-router',
}
const ROUTER_MODEL = /^(?:service|openrouter)\/(auto|auto-beta|pareto-code)$/
const ONLINE = ':online'

/** Plugins that a body asks for in other words. */
function impliedPlugins({
  model,
  models,
  web_search_options: search,
  transforms,
}: LoopBody): readonly RequestedPlugin[] {
  const plugins: RequestedPlugin[] = []
  if (transforms?.length) plugins.push({ id: CONTEXT_COMPRESSION, options: {}, place: ['transforms'] })
  const router = model === undefined ? undefined : ROUTER_MODEL.exec(model)?.[1]
  if (router !== undefined) plugins.push({ id: ROUTERS[router]!, options: {}, place: ['model'] })
  if (model?.endsWith(ONLINE) === true || models?.some((name) => name.endsWith(ONLINE)) === true)
    plugins.push({ id: 'web', options: {}, place: ['model'] })
  else if (search !== undefined && search !== null)
    plugins.push({ id: 'web', options: { ...search }, place: ['web_search_options'] })
  return plugins
}
