/** Tools of a messages request, and the choice between them (contract/gateway 5.2; contract/tools 3). */
import { z } from 'zod'
import {
  boundedString,
  limitDepth,
  openObject,
  optional,
  safeInteger,
  stringMatching,
} from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import {
  fetchEngine,
  MESSAGES_SERVER_TOOLS,
  ownEngine,
  searchEngine,
  serverToolSchema,
} from '../../inference-http/server-tools.js'
import { cached } from './schema-blocks.js'

const open = z.looseObject({})
const words = z.string().nullable()

/** Names of tools as this format has them. */
const TOOL_NAME = stringMatching(
  /^[A-Za-z0-9_-]{1,128}$/,
  'must be 1 to 128 letters, digits, underscores or hyphens',
)

const names = z.array(z.string())

const shared = {
  ...cached,
  ...optional({ defer_loading: z.boolean(), allowed_callers: names, strict: z.boolean() }),
}

const inputSchema = limitDepth(
  z.looseObject(
    optional({
      type: z.literal('object'),
      properties: open.nullable(),
      required: names.nullable(),
    }),
  ),
)

const customTool = nameSchema(
  'MessagesCustomTool',
  z.looseObject({
    // Absent and null mean the same; `optional` and not `exactOptional`, so that absence tells the kind.
    type: z.literal('custom').nullable().optional(),
    name: TOOL_NAME,
    ...optional({ description: z.string() }),
    input_schema: inputSchema,
    ...optional({ input_examples: z.array(openObject()), eager_input_streaming: z.boolean().nullable() }),
    ...shared,
  }),
)

const mostUses = safeInteger(1).nullable()

const userLocation = z.looseObject({
  type: z.literal('approximate'),
  ...optional({ city: words, region: words, country: words, timezone: words }),
})

/** A tool that both sides know: the names of its kind and its own, and what it may be told beside. */
function knownTool<
  const T extends readonly [string, ...string[]],
  const N extends string,
  M extends z.ZodRawShape,
>(types: T, name: N, members: M) {
  return z.looseObject({ type: z.literal(types), name: z.literal(name), ...members, ...shared })
}

/** Who runs a tool that the provider, or the caller, has too: the gateway, or with `native` nobody else. */
const engine = optional({ engine: ownEngine })

const domains = {
  max_uses: mostUses,
  allowed_domains: names.nullable(),
  blocked_domains: names.nullable(),
}
const webSearch = {
  ...optional({ ...domains, user_location: userLocation.nullable(), engine: searchEngine }),
}
const webFetch = {
  ...optional({
    ...domains,
    max_content_tokens: safeInteger(1).nullable(),
    citations: open.nullable(),
    engine: fetchEngine,
  }),
}
const advisor = { model: boundedString(1, 256), ...optional({ max_uses: mostUses }), ...engine }

const known = [
  knownTool(['bash_20250124'], 'bash', engine),
  knownTool(['text_editor_20250124'], 'str_replace_editor', engine),
  knownTool(['text_editor_20250429', 'text_editor_20250728'], 'str_replace_based_edit_tool', engine),
  knownTool(['memory_20250818'], 'memory', engine),
  knownTool(['web_search_20250305', 'web_search_20260209'], 'web_search', webSearch),
  knownTool(['web_fetch_20250910', 'web_fetch_20260209'], 'web_fetch', webFetch),
  knownTool(['code_execution_20250522', 'code_execution_20250825'], 'code_execution', engine),
  knownTool(['advisor_20260301'], 'advisor', advisor),
  knownTool(['tool_search_tool_bm25_20251119', 'tool_search_tool_bm25'], 'tool_search_tool_bm25', {}),
  knownTool(['tool_search_tool_regex_20251119', 'tool_search_tool_regex'], 'tool_search_tool_regex', {}),
] as const

const ofServer = optional({ enabled: z.boolean(), defer_loading: z.boolean() })

const toolset = z.looseObject({
  type: z.literal('mcp_toolset'),
  mcp_server_name: boundedString(1, 64),
  ...optional({
    default_config: z.looseObject(ofServer).nullable(),
    configs: z.record(z.string(), z.looseObject(ofServer)).nullable(),
  }),
  ...cached,
})

const gatewayTools = MESSAGES_SERVER_TOOLS.map((name) => serverToolSchema(name, cached))

const KNOWN_TYPES = [
  ...['custom', 'mcp_toolset'],
  ...known.flatMap(({ shape }) => [...shape.type.values]),
  ...MESSAGES_SERVER_TOOLS.map((name) => `service:${name}`),
]

/** Kinds that only a provider of this format may know: passed through as they are. */
const otherTool = limitDepth(
  z.looseObject({ type: boundedString(1, 256).meta({ not: { enum: KNOWN_TYPES } }), ...cached }),
)

export const tool = nameSchema(
  'MessagesTool',
  z.discriminatedUnion('type', [customTool, ...known, toolset, ...gatewayTools, otherTool]),
)

const oneAtATime = optional({ disable_parallel_tool_use: z.boolean() })

export const toolChoice = nameSchema(
  'MessagesToolChoice',
  z.discriminatedUnion('type', [
    z.object({ type: z.literal(['auto', 'any']), ...oneAtATime }),
    z.object({ type: z.literal('tool'), name: boundedString(1, 256), ...oneAtATime }),
    z.object({ type: z.literal('none') }),
  ]),
)

/** Servers of tools that the operator has configured, by their labels (contract/tools 3). */
export const mcpServer = nameSchema(
  'MessagesMcpServer',
  z.looseObject({
    type: z.literal('url'),
    name: boundedString(1, 64),
    ...optional({
      url: boundedString(1, 2048),
      authorization_token: words,
      tool_configuration: z
        .looseObject(optional({ enabled: z.boolean().nullable(), allowed_tools: names.nullable() }))
        .nullable(),
    }),
  }),
)

export type McpServer = z.output<typeof mcpServer>
