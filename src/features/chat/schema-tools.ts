/** Tools, and the choice between them (contract/gateway 2.4, 2.5). */
import { z } from 'zod'
import {
  boundedInteger,
  boundedString,
  finiteNumber,
  noteOptions,
  openObject,
  safeInteger,
  stringMatching,
} from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import { searchMode, userLocation, xSearch } from '../../inference-http/plugins.js'
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
      description: z.string().exactOptional(),
      parameters: openObject().exactOptional(),
      strict: z.boolean().nullable().exactOptional(),
    }),
    cache_control: cacheControl.exactOptional(),
  }),
)

const effortOrBudget = z.object({
  effort: effort.exactOptional(),
  max_tokens: safeInteger(1).exactOptional(),
})
const agentName = stringMatching(
  /^[A-Za-z0-9 _-]{1,64}$/,
  'must be 1 to 64 letters, digits, spaces, underscores or hyphens',
)
const innerTool = z.object({ type: z.string(), parameters: openObject().exactOptional() })
const strings = z.array(z.string())

/** Who runs a tool. The other spelling of our own name is taken and not advertised (contract/decisions 1). */
function engineAmong(names: readonly string[]): z.ZodExactOptional<z.ZodEnum> {
  return z
    .enum([...names, 'openrouter'])
    .meta({ enum: [...names] })
    .exactOptional()
}

const networkPolicy = z.discriminatedUnion('type', [
  z.object({ type: z.literal('disabled') }),
  z.object({ type: z.literal('allowlist'), allowed_domains: strings }),
])
const inContainer = {
  file_ids: strings.exactOptional(),
  network_policy: networkPolicy.exactOptional(),
}

/** Members that the search tool takes under `parameters`, and its shorthands directly as well. */
const searchParameters = {
  engine: z.enum(['auto', 'native', 'exa', 'parallel', 'firecrawl', 'perplexity']).exactOptional(),
  allowed_domains: strings.exactOptional(),
  excluded_domains: strings.exactOptional(),
  max_results: safeInteger(1).exactOptional(),
  max_total_results: safeInteger(1).exactOptional(),
  max_uses: safeInteger(1).exactOptional(),
  max_characters: safeInteger(1).exactOptional(),
  mode: searchMode.exactOptional(),
  search_context_size: z.enum(['low', 'medium', 'high']).exactOptional(),
  user_location: userLocation.exactOptional(),
  x_search: xSearch.exactOptional(),
}

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

const PARAMETERS: { readonly [N in ServerToolName]: z.ZodType } = {
  advisor: z.object({
    model: z.string().exactOptional(),
    name: agentName.exactOptional(),
    instructions: z.string().exactOptional(),
    forward_transcript: z.boolean().exactOptional(),
    max_completion_tokens: safeInteger(1).exactOptional(),
    temperature: finiteNumber().exactOptional(),
    stream: z.boolean().exactOptional(),
    reasoning: effortOrBudget.exactOptional(),
  }),
  bash: z.object({
    engine: engineAmong(['auto', 'native', 'service']),
    environment: z
      .discriminatedUnion('type', [
        z.object({ type: z.literal('container_auto'), ...inContainer }),
        z.object({
          type: z.literal('container_reference'),
          container_id: boundedString(1, 20),
          ...inContainer,
        }),
      ])
      .exactOptional(),
  }),
  datetime: z.object({ timezone: z.string().exactOptional() }),
  files: z.object({}),
  fusion: z.object({
    analysis_models: z.array(z.string()).min(1).max(8).exactOptional(),
    model: z.string().exactOptional(),
    max_tool_calls: boundedInteger(1, 16).exactOptional(),
    max_completion_tokens: safeInteger(1).exactOptional(),
    reasoning: effortOrBudget.exactOptional(),
    temperature: finiteNumber().exactOptional(),
    tools: z.array(innerTool).max(8).exactOptional(),
    cache_control: cacheControl.exactOptional(),
  }),
  image_generation: z.looseObject({ model: z.string().exactOptional() }),
  experimental__search_models: z.object({ max_results: boundedInteger(1, 20).exactOptional() }),
  subagent: z.object({
    model: z.string().exactOptional(),
    name: agentName.exactOptional(),
    instructions: z.string().exactOptional(),
    max_completion_tokens: safeInteger(1).exactOptional(),
    max_tool_calls: boundedInteger(1, 25).exactOptional(),
    temperature: finiteNumber().exactOptional(),
    reasoning: effortOrBudget.exactOptional(),
    tools: z.array(innerTool).exactOptional(),
    inherit_functions: z.boolean().exactOptional(),
    inherited_function_names: strings.exactOptional(),
  }),
  web_fetch: z.object({
    engine: engineAmong(['auto', 'native', 'service', 'exa', 'parallel', 'firecrawl']),
    allowed_domains: strings.exactOptional(),
    blocked_domains: strings.exactOptional(),
    max_uses: safeInteger(1).exactOptional(),
    max_content_tokens: safeInteger(1).exactOptional(),
  }),
  web_search: searchObject,
}

function serverTool(
  name: ServerToolName,
): z.ZodObject<{ type: z.ZodLiteral<string>; parameters: z.ZodExactOptional<z.ZodType> }> {
  return z.object({
    // Both spellings are taken, the neutral one is the one in the document (contract/decisions 1).
    type: z.literal([`service:${name}`, `openrouter:${name}`]).meta({ enum: [`service:${name}`] }),
    parameters: PARAMETERS[name].exactOptional(),
  })
}

const searchShorthand = z
  .object({
    type: z.literal(SEARCH_SHORTHANDS),
    ...searchParameters,
    parameters: searchObject.exactOptional(),
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
      .object({ type: z.string(), function: z.object({ name: FUNCTION_NAME }).exactOptional() })
      .refine((choice) => choice.type !== 'function' || choice.function !== undefined, {
        params: { rule: 'other', note: 'must name the function to call' },
      }),
  ]),
)
