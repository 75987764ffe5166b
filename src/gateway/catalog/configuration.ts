/** The gateway part of the configuration file: its schema, and the way from the file's values to `GatewayConfig`. */
import { hash } from 'node:crypto'
import { z } from 'zod'
import { type PluginsConfig, pluginsSchema } from '../plugins/configuration.js'
import { type ToolsConfig, toolsSchema } from '../tools/configuration.js'
import { type McpServersConfig, mcpServersSchema } from '../tools/mcp/configuration.js'
import { type ModelConfig, modelSchemaWith, toModelConfig } from './configuration/models.js'
import {
  describeSchemaIssues,
  type GatewayConfigFault,
  schemaIssueMessage,
} from './configuration/problems.js'
import { type ProviderConfig, providerSchema, toProviderConfig } from './configuration/providers.js'
import {
  BUILT_IN_SLUG,
  type EnvironmentVariables,
  referenceFaults,
  toolCredentials,
  usesBuiltInModels,
} from './configuration/references.js'
import {
  camelCased,
  flag,
  integerBetween,
  milliseconds,
  modelEntryId,
  modelId,
  operationName,
  slug,
} from './configuration/values.js'

export { AUDIO_SERVICES, type AudioServiceKind } from './configuration/audio-services.js'
export type { ModelConfig } from './configuration/models.js'
export type { ProviderConfig } from './configuration/providers.js'
export { credentialVariables } from './configuration/references.js'

/**
 * What the gateway part of the configuration file says once it has been checked. Plain data, so that it can go
 * from the supervisor to the workers. It holds credentials: it is never logged and never answered.
 */
export interface GatewayConfig {
  /** By slug, the built-in `sim` included. */
  readonly providers: Readonly<Record<string, ProviderConfig>>
  /** The ready-made simulated models included. Ids are unique. */
  readonly models: readonly ModelConfig[]
  /** Further names of models, each with the id or the further name it stands for. None leads back to itself. */
  readonly aliases: Readonly<Record<string, string>>
  /** Who may call an operation, where the configuration says so (contract/decisions 3). By name of the operation. */
  readonly permissions: Readonly<Record<string, 'key' | 'management'>>
  readonly routing: RoutingConfig
  readonly tools: ToolsConfig
  /** By label. */
  readonly mcpServers: McpServersConfig
  readonly plugins: PluginsConfig
  /** Of tools, MCP servers and plugins, by the names of the environment variables that hold them. */
  readonly credentials: Readonly<Record<string, string>>
  /** Keys of the gateway's part that the file has. */
  readonly members: readonly string[]
  /** Tells one configuration of the gateway from another; credentials are no part of it. */
  readonly version: string
}

const MIB = 1024 * 1024
const GIB = 1024 * MIB

const limits = z
  .strictObject({
    inference_body_bytes: integerBetween(1, GIB)
      .default(20 * MIB)
      .describe('Most bytes of a chat request.'),
    inference_deadline_ms: milliseconds
      .default(600_000)
      .describe('Most time for an answer, streams included.'),
    upload_body_bytes: integerBetween(1, GIB)
      .default(100 * MIB)
      .describe('Most bytes of an uploaded file.'),
  })
  .transform(camelCased)
  .describe('Limits of the inference operations. A change takes effect with the next start.')

export type InferenceLimits = z.output<typeof limits>

const routing = z
  .strictObject({
    rescue: z
      .enum(['unanswered', 'unsent'], 'must be unanswered or unsent')
      .default('unanswered')
      .describe(
        'Which failed calls go to another endpoint: all that nothing was answered to, or only those that no provider can have worked on.',
      ),
    retries: integerBetween(0, 10)
      .default(2)
      .describe('Further attempts at endpoints that have turned a call away or were out of reach.'),
    retry_wait_ms: integerBetween(0, 60_000)
      .default(2_500)
      .describe('Longest wait before such an attempt. Who asks for a longer one is not asked again.'),
    retry_budget: z
      .number('must be a number from 0 to 1')
      .min(0, 'must be a number from 0 to 1')
      .max(1, 'must be a number from 0 to 1')
      .default(0.1)
      .describe('Share of the calls of an organization, in each worker, that may be tried again.'),
    hedge: z
      .enum(['never', 'requested', 'always'], 'must be never, requested or always')
      .default('never')
      .describe(
        'For which calls a second endpoint is asked where the first is later than with 95 of 100 calls: none, those with `provider.hedge: true`, or all without `provider.hedge: false`.',
      ),
    hedge_budget: z
      .number('must be a number from 0 to 1')
      .min(0, 'must be a number from 0 to 1')
      .max(1, 'must be a number from 0 to 1')
      .default(0.05)
      .describe(
        'Share of the calls of an organization, in each worker, for which a second endpoint may be asked.',
      ),
  })
  .transform(camelCased)
  .describe('When a call is tried again, or a second endpoint asked.')

/** How often and how patiently a call is tried again. */
export type RoutingConfig = z.output<typeof routing>

const permission = z.enum(['key', 'management'], 'must be key or management')

/** What the simulator brings into the configuration; handed in, because the gateway does not know it. */
interface SimulatorConfigPart {
  /** Schema of an endpoint's `simulation`. An empty object must satisfy it. */
  readonly behaviour: z.ZodType
  /** Entries of `models` that are there without any configuration, by id. */
  readonly models: Readonly<Record<string, unknown>>
}

/** What others bring into the schema of the file. */
interface BroughtIn {
  readonly simulation: SimulatorConfigPart
  /** Schema of a plugin as a request names it. */
  readonly plugin: z.ZodType
}

/** The members of the file that belong to the gateway, by their keys. */
export type GatewayFileKeys = ReturnType<typeof gatewayFileKeys>

function gatewayFileKeys({ simulation, plugin }: BroughtIn) {
  return {
    providers: z.record(slug, providerSchema).describe('Who serves models, by short name.'),
    models: z
      .record(modelEntryId, modelSchemaWith(simulation.behaviour))
      .describe(
        'What callers can name, by id. An id with a `*` at its end (`openai/*`) is every model whose id begins so; the longest such id counts.',
      ),
    aliases: z.record(modelId, modelId).describe('Further names of models: `gpt-4o: acme/large`.'),
    permissions: z
      .record(operationName, permission)
      .describe('Operations that any key may call, or management keys only.'),
    simulated_models: flag.describe('Whether the ready-made simulated models are there; true when absent.'),
    routing,
    limits,
    tools: toolsSchema,
    mcp_servers: mcpServersSchema,
    plugins: pluginsSchema(plugin),
  } as const
}

/** The gateway part of the file: its schema by keys, and its reader. */
export type GatewayFileReader = ReturnType<typeof gatewayFileReader>

type GatewayReadResult =
  | { readonly gateway: GatewayConfig; readonly limits: InferenceLimits; readonly faults: readonly [] }
  | { readonly gateway: null; readonly limits: null; readonly faults: readonly GatewayConfigFault[] }

export function gatewayFileReader(broughtIn: BroughtIn) {
  const { simulation } = broughtIn
  const keys = gatewayFileKeys(broughtIn)
  const schema = z.object({
    providers: keys.providers.default({}),
    models: keys.models.default({}),
    aliases: keys.aliases.default({}),
    permissions: keys.permissions.default({}),
    simulated_models: keys.simulated_models.default(true),
    routing: routing.prefault({}),
    limits: limits.prefault({}),
    tools: toolsSchema.prefault({}),
    mcp_servers: mcpServersSchema.default({}),
    plugins: keys.plugins.prefault({}),
  })
  /**
   * Checks the gateway part of a file and resolves it: credentials from the environment, prices to integers, the
   * built-in provider and models added. Members of other parts are skipped. All faults at once, never a value in one.
   */
  const read = (
    file: Readonly<Record<string, unknown>>,
    environment: EnvironmentVariables,
  ): GatewayReadResult => {
    const checked = schema.safeParse(file, { error: schemaIssueMessage, ...ONCE })
    const faults = [
      ...(checked.success ? [] : describeSchemaIssues(checked.error)),
      ...referenceFaults(file, environment, simulation.models),
    ]
    if (!checked.success || faults.length > 0) return { gateway: null, limits: null, faults }
    const { data } = checked
    const builtIn = usesBuiltInModels(file)
    const ownModels = builtIn ? keys.models.parse(simulation.models, ONCE) : {}
    const providers = resolveProviders(data.providers, builtIn, environment)
    const gateway: GatewayConfig = {
      providers,
      models: resolveModels({ ...ownModels, ...data.models }, providers, simulation),
      aliases: data.aliases,
      permissions: data.permissions,
      routing: data.routing,
      tools: data.tools,
      mcpServers: data.mcp_servers,
      plugins: data.plugins,
      credentials: toolCredentials(file, environment),
      members: Object.keys(keys).filter((key) => Object.hasOwn(file, key)),
      version: hash('sha256', JSON.stringify(data), 'hex').slice(0, VERSION_CHARS),
    }
    return { gateway: deepFreeze(gateway), limits: Object.freeze(data.limits), faults: [] }
  }
  return Object.freeze({ keys, read })
}

const VERSION_CHARS = 12
/** zod writes code for each object it reads, which takes longer than to read one configuration without. */
const ONCE = { jitless: true } as const

/** The fault models are there to fail, as often as somebody asks them to. */
const BUILT_IN_PROVIDER = { kind: 'simulated', name: 'Simulated', breaker: false }

function resolveProviders(
  entries: z.output<GatewayFileKeys['providers']>,
  builtIn: boolean,
  environment: EnvironmentVariables,
): Record<string, ProviderConfig> {
  const own = builtIn ? { [BUILT_IN_SLUG]: providerSchema.parse(BUILT_IN_PROVIDER, ONCE) } : {}
  return Object.fromEntries(
    Object.entries({ ...own, ...entries }).map(([name, entry]) => [
      name,
      toProviderConfig(name, entry, environment),
    ]),
  )
}

function resolveModels(
  entries: z.output<GatewayFileKeys['models']>,
  providers: Readonly<Record<string, ProviderConfig>>,
  { behaviour }: SimulatorConfigPart,
): ModelConfig[] {
  const defaults = {
    simulationOf: (provider: string, given: unknown): unknown =>
      providers[provider]?.kind === 'simulated' ? (given ?? behaviour.parse({}, ONCE)) : null,
    parametersOf: (provider: string) => providers[provider]!.parameters,
  }
  return Object.entries(entries).map(([id, entry]) => toModelConfig(id, entry, defaults))
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}
