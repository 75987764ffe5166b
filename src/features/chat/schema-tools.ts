/** Tools, and the choice between them (contract/gateway 2.4, 2.5). */
import { z } from 'zod'
import {
  boundedInteger,
  boundedString,
  finiteNumber,
  noteOptions,
  openObject,
  optional,
  safeInteger,
  stringMatching,
} from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import {
  fetchParameters,
  innerTool,
  searchMode,
  userLocation,
  xSearch,
} from '../../inference-http/plugins.js'
import { cacheControl } from '../../inference-http/request-members.js'
import { effort } from './schema-messages.js'

/** Internal names of the tools a gateway or a provider runs, without their prefix. */
const SERVER_TOOLS = [
  'advisor',
  'bash',
  'datetime',
  'files',
  'fusion',
  'image_generation',
  'experimental__search_models',
  'subagent',
  'web_fetch',
  'web_search',
] as const
type ServerToolName = (typeof SERVER_TOOLS)[number]

const SEARCH_SHORTHANDS = [
  'web_search',
  'web_search_preview',
  'web_search_preview_2025_03_11',
  'web_search_2025_08_26',
] as const

/** Wire spelling to our own: `service:` and `openrouter:` name the same tools, shorthands are web search. */
const SPELLINGS: ReadonlyMap<string, string> = new Map([
  ...SERVER_TOOLS.flatMap((name) => [
    [`service:${name}`, `service:${name}`] as const,
    [`openrouter:${name}`, `service:${name}`] as const,
  ]),
  ...SEARCH_SHORTHANDS.map((name) => [name, 'service:web_search'] as const),
])

/** The one name of a server tool, or null for a type that is none. */
export function serverToolType(type: string): string | null {
  return SPELLINGS.get(type) ?? null
}

const FUNCTION_NAME = stringMatching(
  /^[A-Za-z0-9_-]{1,64}$/,
  'must be 1 to 64 letters, digits, underscores or hyphens',
)

const functionTool = nameSchema(
  'FunctionTool',
  z.object({
    type: z.literal('function'),
    function: z.object({
      name: FUNCTION_NAME,
      ...optional({
        description: z.string(),
        parameters: openObject(),
        strict: z.boolean().nullable(),
      }),
    }),
    ...optional({ cache_control: cacheControl }),
  }),
)

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

/** Members that the search tool takes under `parameters`, and its shorthands directly as well. */
const searchParameters = optional({
  engine: z.enum(['auto', 'native', 'exa', 'parallel', 'firecrawl', 'perplexity']),
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
  }),
  bash: parametersOf({ engine: engineAmong(['auto', 'native', 'service']), environment }),
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
  subagent: parametersOf({
    model: z.string(),
    name: agentName,
    instructions: z.string(),
    max_completion_tokens: positive,
    max_tool_calls: boundedInteger(1, 25),
    temperature: finiteNumber(),
    reasoning: effortOrBudget,
    tools: z.array(innerTool),
    inherit_functions: z.boolean(),
    inherited_function_names: strings,
  }),
  web_fetch: parametersOf({
    engine: engineAmong(['auto', 'native', 'service', 'exa', 'parallel', 'firecrawl']),
    ...fetchParameters,
  }),
  web_search: searchObject,
}

function serverTool(
  name: ServerToolName,
): z.ZodObject<{ type: z.ZodLiteral<string>; parameters: z.ZodExactOptional<z.ZodType> }> {
  return z.object({
    // Both spellings are taken, the neutral one is the one in the document (contract/decisions 1).
    type: z.literal([`service:${name}`, `openrouter:${name}`]).meta({ enum: [`service:${name}`] }),
    ...optional({ parameters: PARAMETERS[name] }),
  })
}

const searchShorthand = z
  .object({
    type: z.literal(SEARCH_SHORTHANDS),
    ...searchParameters,
    ...optional({ parameters: searchObject }),
  })
  .refine(oneListOfDomains, ONE_LIST)

/** A function of the caller's, or one of the server tools under any of its names. */
export const tool = nameSchema(
  'Tool',
  z.discriminatedUnion('type', [functionTool, searchShorthand, ...SERVER_TOOLS.map(serverTool)]),
)

export const toolChoice = nameSchema(
  'ToolChoice',
  z.union([
    z.enum(['none', 'auto', 'required']),
    // Any other type passes the shape, for it is what a server tool is chosen by; the rules know which exist.
    z
      .object({ type: z.string(), ...optional({ function: z.object({ name: FUNCTION_NAME }) }) })
      .refine((choice) => choice.type !== 'function' || choice.function !== undefined, {
        params: { rule: 'other', note: 'must name the function to call' },
      }),
  ]),
)
