/** Server tools and plugins as the operator has them: who does the work, at what price, within which limits. */
import { z } from 'zod'
import type { Principal } from '../../base/principal.js'
import type { GatewayConfig } from '../../gateway/catalog/configuration.js'
import { dataAnswer } from '../../http/answers.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { nameSchema } from '../../http/json-schema.js'
import { jsonReply, NO_STORE } from '../../http/reply.js'
import { plugin } from '../../inference-http/plugins.js'
import { pluginTerms, toolTerms } from './terms.js'

const needs = z.string().nullable().meta({
  description:
    'The setting without which requests are refused; simulated models search and read a simulated web without it.',
})
const backends = z
  .array(z.string())
  .meta({ description: 'Who does the work, by name; empty where the server does it itself.' })
const price = z.number().min(0).meta({ description: 'In dollars.' })
const perMinute = z.int().nullable()

const Tool = nameSchema(
  'ToolTerms',
  z.object({
    name: z.string(),
    enabled: z.boolean(),
    needs,
    backends,
    price: price.meta({ description: 'Dollars for each call.' }),
    timeout_ms: z.int(),
    calls_per_minute_per_key: perMinute,
    calls_per_minute_per_organization: perMinute,
    settings: z.record(z.string(), z.union([z.number(), z.boolean()])).meta({
      description:
        'Further numbers and switches of the tool; what is of the machine as a whole is told to the operator alone.',
    }),
  }),
)

const Plugin = nameSchema(
  'PluginTerms',
  z.object({
    id: z.string(),
    needs,
    backends,
    price,
    price_per: z.enum(['call', 'page']).nullable(),
    defaults: z
      .array(
        z.object({
          options: z.record(z.string(), z.unknown()),
          organizations: z.array(z.string()).nullable().meta({
            description: 'For whose requests; null for all. Callers are told their own organization alone.',
          }),
          overridable: z.boolean().meta({
            description: 'Whether a request may switch it off, or give it other options.',
          }),
        }),
      )
      .meta({
        description:
          'Where it runs for requests that do not name it: for those of the caller’s organization, and to the operator for all.',
      }),
  }),
)

const Terms = nameSchema(
  'ToolsAndPlugins',
  z
    .object({
      max_calls: z
        .int()
        .meta({ description: 'Most calls of server tools in one request, whatever it asks for.' }),
      tools: z.array(Tool),
      plugins: z.array(Plugin),
    })
    .meta({
      description:
        'Names, prices and limits: never an address, a credential or what is set for another organization.',
    }),
)

const PLUGINS = plugin.options.map(({ shape }) => shape.id.value)

const operation = endpointGroup({ tag: 'Service', dialect: gateway, access: 'caller' })

export const toolEndpoints = (config: () => GatewayConfig): Endpoint[] => [
  operation('list_tools', 'GET /api/v1/tools', {
    summary:
      'List server tools and plugins with their backends, prices and limits, which no request can change',
    replies: { 200: { description: 'All of them', schema: dataAnswer(Terms) } },
    handle: ({ caller }) => jsonReply(200, { data: encodeTerms(config(), caller) }, NO_STORE),
  }),
]

function encodeTerms(config: GatewayConfig, caller: Principal): z.infer<typeof Terms> {
  return {
    max_calls: config.tools.maxCalls,
    tools: toolTerms(config, caller),
    plugins: pluginTerms(config, PLUGINS, caller),
  }
}
