/** The gateway part of the configuration file: its schema, and the way from the file's values to `GatewayConfig`. */
import { z } from 'zod'
import { type BuiltInModel, builtInModels } from './configuration/built-in-models.js'
import type {
  GatewayConfig,
  InferenceLimits,
  ModelConfig,
  ProviderConfig,
  RoutingConfig,
} from './configuration/gateway-config.js'
import { modelOf, modelSchemaWith } from './configuration/models.js'
import { type GatewayFault, problemsOf, sentenceFor } from './configuration/problems.js'
import { providerOf, providerSchema } from './configuration/providers.js'
import { BUILT_IN, type Environment, hasBuiltIn, referenceFaults } from './configuration/references.js'
import { flag, integer, milliseconds, modelId, operationName, slug } from './configuration/values.js'

export type * from './configuration/gateway-config.js'
export { credentialVariables } from './configuration/references.js'

const MIB = 1024 * 1024
const GIB = 1024 * MIB

const limits = z
  .strictObject({
    inference_body_bytes: integer(1, GIB)
      .default(20 * MIB)
      .describe('Most bytes of a chat request.'),
    inference_deadline_ms: milliseconds
      .default(600_000)
      .describe('Most time for an answer, streams included.'),
    upload_body_bytes: integer(1, GIB)
      .default(100 * MIB)
      .describe('Most bytes of an uploaded file.'),
  })
  .describe('Limits of the inference operations. A change takes effect with the next start.')

const routing = z
  .strictObject({
    retries: integer(0, 10)
      .default(2)
      .describe('Further attempts at endpoints that have turned a call away or were out of reach.'),
    retry_wait_ms: integer(0, 60_000)
      .default(2_500)
      .describe('Longest wait before such an attempt. Who asks for a longer one is not asked again.'),
    retry_budget: z
      .number('must be a number from 0 to 1')
      .min(0, 'must be a number from 0 to 1')
      .max(1, 'must be a number from 0 to 1')
      .default(0.1)
      .describe('Share of the calls of a worker that may be tried again.'),
  })
  .describe('When a call is tried again.')

/** Who may call what, unless the file says otherwise (contract/decisions 3). */
const PERMISSIONS = { transcription: 'management', 'file-content': 'management' } as const

const permission = z.enum(['key', 'management'], 'must be key or management')

/** What the simulator brings into the configuration; handed in, because the gateway does not know it. */
interface Simulation {
  /** Schema of an endpoint's `simulation`. An empty object must satisfy it. */
  readonly behaviour: z.ZodType
  /** Models that are there without any configuration. */
  readonly models: readonly BuiltInModel[]
}

/** The members of the file that belong to the gateway, by their keys. */
export type GatewayKeys = ReturnType<typeof keysWith>

function keysWith(simulation: Simulation) {
  return {
    providers: z.record(slug, providerSchema).describe('Who serves models, by short name.'),
    models: z
      .record(modelId, modelSchemaWith(simulation.behaviour))
      .describe('What callers can name, by vendor/name.'),
    permissions: z
      .record(operationName, permission)
      .describe('Operations that any key may call, or management keys only.'),
    simulated_models: flag.describe('Whether the ready-made simulated models are there; true when absent.'),
    routing,
    limits,
  } as const
}

function fileSchemaOf(keys: GatewayKeys) {
  return z.object({
    providers: keys.providers.default({}),
    models: keys.models.default({}),
    permissions: keys.permissions.default({}),
    simulated_models: keys.simulated_models.default(true),
    routing: routing.prefault({}),
    limits: limits.prefault({}),
  })
}

/** The gateway part of the file: its schema by keys, and its reader. */
export interface GatewayFile {
  readonly keys: GatewayKeys
  /**
   * Checks the gateway part of a file and resolves it: credentials from the environment, prices to integers, the
   * built-in provider and models added. Members of other parts are skipped. All faults at once, never a value in one.
   */
  read(file: Readonly<Record<string, unknown>>, environment: Environment): GatewayReading
}

export function gatewayFile(simulation: Simulation): GatewayFile {
  const keys = keysWith(simulation)
  const schema = fileSchemaOf(keys)
  return Object.freeze({
    keys,
    read: (file, environment) => readGateway({ keys, schema, simulation }, file, environment),
  } satisfies GatewayFile)
}

interface Schemas {
  readonly keys: GatewayKeys
  readonly schema: ReturnType<typeof fileSchemaOf>
  readonly simulation: Simulation
}

type GatewayReading =
  | { readonly gateway: GatewayConfig; readonly limits: InferenceLimits; readonly faults: readonly [] }
  | { readonly gateway: null; readonly limits: null; readonly faults: readonly GatewayFault[] }

function readGateway(
  { keys, schema, simulation }: Schemas,
  file: Readonly<Record<string, unknown>>,
  environment: Environment,
): GatewayReading {
  const checked = schema.safeParse(file, { error: sentenceFor })
  const faults = [
    ...(checked.success ? [] : problemsOf(checked.error)),
    ...referenceFaults(file, environment),
  ]
  if (!checked.success || faults.length > 0) return { gateway: null, limits: null, faults }
  const { data } = checked
  const providers = providersOf(data.providers, hasBuiltIn(file), environment)
  const own = hasBuiltIn(file) ? keys.models.parse(builtInModels(BUILT_IN, simulation.models)) : {}
  const gateway: GatewayConfig = {
    providers,
    models: modelsOf({ ...own, ...data.models }, providers, simulation),
    permissions: { ...PERMISSIONS, ...data.permissions },
    routing: routingOf(data.routing),
  }
  return { gateway: deeplyFrozen(gateway), limits: limitsOf(data.limits), faults: [] }
}

/** The fault models are there to fail, as often as somebody asks them to. */
const INSIDE = { kind: 'simulated', name: 'Simulated', breaker: false }

type FileProviders = z.output<GatewayKeys['providers']>
type FileModels = z.output<GatewayKeys['models']>

function providersOf(
  entries: FileProviders,
  builtIn: boolean,
  environment: Environment,
): Record<string, ProviderConfig> {
  const own = builtIn ? { [BUILT_IN]: providerSchema.parse(INSIDE) } : {}
  return Object.fromEntries(
    Object.entries({ ...own, ...entries }).map(([name, entry]) => [
      name,
      providerOf(name, entry, (variable) => environment[variable]),
    ]),
  )
}

function modelsOf(
  entries: FileModels,
  providers: Readonly<Record<string, ProviderConfig>>,
  { behaviour }: Simulation,
): ModelConfig[] {
  const simulationOf = (provider: string, given: unknown): unknown =>
    providers[provider]?.kind === 'simulated' ? (given ?? behaviour.parse({})) : null
  return Object.entries(entries).map(([id, entry]) => modelOf(id, entry, simulationOf))
}

function routingOf(entry: z.output<typeof routing>): RoutingConfig {
  return { retries: entry.retries, retryWaitMs: entry.retry_wait_ms, retryBudget: entry.retry_budget }
}

function limitsOf(entry: z.output<typeof limits>): InferenceLimits {
  return Object.freeze({
    inferenceBodyBytes: entry.inference_body_bytes,
    inferenceDeadlineMs: entry.inference_deadline_ms,
    uploadBodyBytes: entry.upload_body_bytes,
  })
}

function deeplyFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const member of Object.values(value)) deeplyFrozen(member)
  return Object.freeze(value)
}
