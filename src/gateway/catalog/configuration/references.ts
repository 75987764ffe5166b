/**
 * What entries of the file say about each other. Looks at the raw values, so that it finds its faults beside those
 * of the schemas and not after them; whatever has the wrong type is the schemas' business.
 */
import { type GatewayFault, pathText } from './problems.js'
import { CREDENTIAL, VARIABLE } from './values.js'

/** Slug of the provider inside, and vendor of the ready-made models. */
export const BUILT_IN = 'sim'

type Raw = Readonly<Record<string, unknown>>
export type Environment = Readonly<Record<string, string | undefined>>

/** Our callers' credentials: a provider must never see them. */
const OURS: ReadonlySet<string> = new Set(['SLUICE_API_KEY', 'SLUICE_MANAGEMENT_KEY'])

function raw(value: unknown): Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Raw) : {}
}

/** Environment variables that the providers of a file take their credentials from. */
export function credentialVariables(file: Raw): string[] {
  return Object.values(raw(file.providers))
    .map((entry) => raw(entry).api_key_env)
    .filter((name) => typeof name === 'string')
}

/** Whether the ready-made models and their provider are there. */
export function hasBuiltIn(file: Raw): boolean {
  return file.simulated_models !== false
}

/** Every contradiction between entries, and between the file and the environment. */
export function referenceFaults(file: Raw, environment: Environment): GatewayFault[] {
  const providers = raw(file.providers)
  return [
    ...Object.entries(providers).flatMap(([slug, entry]) => credentialFaults(slug, raw(entry), environment)),
    ...builtInFaults(file, providers),
    ...Object.entries(raw(file.models)).flatMap(([id, model]) => endpointFaults(file, id, raw(model))),
  ]
}

function credentialFaults(
  slug: string,
  { api_key_env: name }: Raw,
  environment: Environment,
): GatewayFault[] {
  // What is no name may be a credential in the wrong place: the schema refuses it without repeating it.
  if (typeof name !== 'string' || !VARIABLE.test(name)) return []
  const path = pathText(['providers', slug, 'api_key_env'])
  if (OURS.has(name)) return [{ path, problem: `${name} holds a credential of our callers` }]
  const value = (Object.hasOwn(environment, name) ? environment[name] : undefined) ?? ''
  if (value === '') return [{ path, problem: `environment variable ${name} is not set` }]
  if (CREDENTIAL.test(value)) return []
  return [{ path, problem: `environment variable ${name} holds characters that no header field takes` }]
}

function builtInFaults(file: Raw, providers: Raw): GatewayFault[] {
  if (!hasBuiltIn(file)) return []
  const off = 'unless simulated_models is false'
  const own = raw(providers[BUILT_IN]).kind
  return [
    ...(own === 'openai' || own === 'anthropic'
      ? [{ path: pathText(['providers', BUILT_IN, 'kind']), problem: `must be simulated, ${off}` }]
      : []),
    ...Object.keys(raw(file.models))
      .filter((id) => id.startsWith(`${BUILT_IN}/`))
      .map((id) => ({ path: pathText(['models', id]), problem: `ids of ${BUILT_IN}/ are reserved, ${off}` })),
  ]
}

function endpointFaults(file: Raw, id: string, model: Raw): GatewayFault[] {
  if (!Array.isArray(model.endpoints)) return []
  const seen = new Set<string>()
  return model.endpoints.flatMap((entry: unknown, at) => {
    const endpoint = raw(entry)
    const { provider } = endpoint
    if (typeof provider !== 'string') return []
    const place = ['models', id, 'endpoints', at]
    const kind = kindOf(file, provider)
    if (kind === null) {
      return [{ path: pathText([...place, 'provider']), problem: 'names a provider that is not configured' }]
    }
    const twin = `${provider} ${endpoint.upstream_model ?? id}`
    const repeats = seen.has(twin)
    seen.add(twin)
    return [
      ...(repeats ? [{ path: pathText(place), problem: 'repeats an endpoint of this model' }] : []),
      ...((kind === 'openai' || kind === 'anthropic') && endpoint.simulation !== undefined
        ? [{ path: pathText([...place, 'simulation']), problem: 'is for providers of kind simulated only' }]
        : []),
    ]
  })
}

/** Null when there is no such provider. */
function kindOf(file: Raw, slug: string): unknown {
  const providers = raw(file.providers)
  if (Object.hasOwn(providers, slug)) return raw(providers[slug]).kind
  return slug === BUILT_IN && hasBuiltIn(file) ? 'simulated' : null
}
