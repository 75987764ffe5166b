/**
 * What entries of the file say about each other. Looks at the raw values, so that it finds its faults beside those
 * of the schemas and not after them; whatever has the wrong type is the schemas' business.
 */
import { formatConfigPath, type GatewayConfigFault } from './problems.js'
import { CREDENTIAL, VARIABLE_NAME } from './values.js'

/** Slug of the provider inside, and vendor of the ready-made models. */
export const BUILT_IN_SLUG = 'sim'

type RawConfig = Readonly<Record<string, unknown>>
export type EnvironmentVariables = Readonly<Record<string, string | undefined>>

/** Our callers' credentials: a provider must never see them. */
const CALLER_CREDENTIALS: ReadonlySet<string> = new Set(['SLUICE_API_KEY', 'SLUICE_MANAGEMENT_KEY'])

function asRecord(value: unknown): RawConfig {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as RawConfig) : {}
}

/** Environment variables that the providers of a file take their credentials from. */
export function credentialVariables(file: RawConfig): string[] {
  return Object.values(asRecord(file.providers))
    .map((entry) => asRecord(entry).api_key_env)
    .filter((name) => typeof name === 'string')
}

/** Whether the ready-made models and their provider are there. */
export function usesBuiltInModels(file: RawConfig): boolean {
  return file.simulated_models !== false
}

/** Every contradiction between entries, and between the file and the environment. */
export function referenceFaults(file: RawConfig, environment: EnvironmentVariables): GatewayConfigFault[] {
  const providers = asRecord(file.providers)
  return [
    ...Object.entries(providers).flatMap(([slug, entry]) =>
      credentialFaults(slug, asRecord(entry), environment),
    ),
    ...builtInFaults(file, providers),
    ...Object.entries(asRecord(file.models)).flatMap(([id, model]) =>
      endpointFaults(file, id, asRecord(model)),
    ),
  ]
}

function credentialFaults(
  slug: string,
  { api_key_env: name }: RawConfig,
  environment: EnvironmentVariables,
): GatewayConfigFault[] {
  // What is no name may be a credential in the wrong place: the schema refuses it without repeating it.
  if (typeof name !== 'string' || !VARIABLE_NAME.test(name)) return []
  const path = formatConfigPath(['providers', slug, 'api_key_env'])
  if (CALLER_CREDENTIALS.has(name)) return [{ path, problem: `${name} holds a credential of our callers` }]
  const value = (Object.hasOwn(environment, name) ? environment[name] : undefined) ?? ''
  if (value === '') return [{ path, problem: `environment variable ${name} is not set` }]
  if (CREDENTIAL.test(value)) return []
  return [{ path, problem: `environment variable ${name} holds characters that no header field takes` }]
}

function builtInFaults(file: RawConfig, providers: RawConfig): GatewayConfigFault[] {
  if (!usesBuiltInModels(file)) return []
  const off = 'unless simulated_models is false'
  const own = asRecord(providers[BUILT_IN_SLUG]).kind
  return [
    ...(own === 'openai' || own === 'anthropic'
      ? [
          {
            path: formatConfigPath(['providers', BUILT_IN_SLUG, 'kind']),
            problem: `must be simulated, ${off}`,
          },
        ]
      : []),
    ...Object.keys(asRecord(file.models))
      .filter((id) => id.startsWith(`${BUILT_IN_SLUG}/`))
      .map((id) => ({
        path: formatConfigPath(['models', id]),
        problem: `ids of ${BUILT_IN_SLUG}/ are reserved, ${off}`,
      })),
  ]
}

function endpointFaults(file: RawConfig, id: string, model: RawConfig): GatewayConfigFault[] {
  if (!Array.isArray(model.endpoints)) return []
  const seen = new Set<string>()
  return model.endpoints.flatMap((entry: unknown, at) => {
    const endpoint = asRecord(entry)
    const { provider } = endpoint
    if (typeof provider !== 'string') return []
    const place = ['models', id, 'endpoints', at]
    const kind = providerKind(file, provider)
    if (kind === null) {
      return [
        {
          path: formatConfigPath([...place, 'provider']),
          problem: 'names a provider that is not configured',
        },
      ]
    }
    const twin = `${provider} ${endpoint.upstream_model ?? id}`
    const repeats = seen.has(twin)
    seen.add(twin)
    return [
      ...(repeats ? [{ path: formatConfigPath(place), problem: 'repeats an endpoint of this model' }] : []),
      ...((kind === 'openai' || kind === 'anthropic') && endpoint.simulation !== undefined
        ? [
            {
              path: formatConfigPath([...place, 'simulation']),
              problem: 'is for providers of kind simulated only',
            },
          ]
        : []),
    ]
  })
}

/** Null when there is no such provider. */
function providerKind(file: RawConfig, slug: string): unknown {
  const providers = asRecord(file.providers)
  if (Object.hasOwn(providers, slug)) return asRecord(providers[slug]).kind
  return slug === BUILT_IN_SLUG && usesBuiltInModels(file) ? 'simulated' : null
}
