/**
 * What entries of the file say about each other. Looks at the raw values, so that it finds its faults beside those
 * of the schemas and not after them; whatever has the wrong type is the schemas' business.
 */
import { AUDIO_SERVICES, type AudioServiceKind } from './audio-services.js'
import { isPrefixEntry, restBehind } from './models.js'
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

/** Environment variables that the providers and tools of a file take their credentials from. */
export function credentialVariables(file: RawConfig): string[] {
  const ofProviders = Object.values(asRecord(file.providers))
    .map((entry) => asRecord(entry).api_key_env)
    .filter((name) => typeof name === 'string')
  return [...ofProviders, ...toolVariables(file).map(({ name }) => name)]
}

interface NamedVariable {
  /** Where it stands: `['tools', 'web_search', 'api_key_env']`. */
  readonly place: readonly (string | number)[]
  readonly name: string
}

/**
 * Environment variables that tools, MCP servers and plugins name: in members that end in `_env`, as a name or as a map
 * or a list of names.
 */
function toolVariables(file: RawConfig): readonly NamedVariable[] {
  const found: NamedVariable[] = []
  for (const section of ['tools', 'mcp_servers', 'plugins'])
    collectVariables(file[section], [section], false, found)
  return found
}

function collectVariables(
  value: unknown,
  place: NamedVariable['place'],
  isName: boolean,
  found: NamedVariable[],
): void {
  if (typeof value === 'string') {
    if (isName) found.push({ place, name: value })
  } else if (Array.isArray(value)) {
    for (const [at, each] of value.entries()) collectVariables(each, [...place, at], isName, found)
  } else {
    for (const [member, each] of Object.entries(asRecord(value)))
      collectVariables(each, [...place, member], isName || member.endsWith('_env'), found)
  }
}

/** What the variables hold that tools, MCP servers and plugins name; the file has been checked. */
export function toolCredentials(
  file: RawConfig,
  environment: EnvironmentVariables,
): Readonly<Record<string, string>> {
  return Object.fromEntries(toolVariables(file).map(({ name }) => [name, environment[name] ?? '']))
}

/** Whether the ready-made models and their provider are there. */
export function usesBuiltInModels(file: RawConfig): boolean {
  return file.simulated_models !== false
}

/** Every contradiction between entries, and between the file and the environment. */
export function referenceFaults(
  file: RawConfig,
  environment: EnvironmentVariables,
  builtInModels: RawConfig,
): GatewayConfigFault[] {
  const providers = Object.entries(asRecord(file.providers))
  const models = Object.entries(asRecord(file.models))
  return [
    ...providers.flatMap(([slug, entry]) =>
      credentialFaults(['providers', slug, 'api_key_env'], asRecord(entry).api_key_env, environment),
    ),
    ...toolVariables(file).flatMap(({ place, name }) => credentialFaults(place, name, environment)),
    ...builtInFaults(file),
    ...models.flatMap(([id, model]) => endpointFaults(file, id, asRecord(model))),
    ...aliasFaults(file, builtInModels),
    ...pluginFaults(file, builtInModels),
    ...painterFaults(file, builtInModels),
  ]
}

function faultAt(path: readonly (string | number)[], problem: string): GatewayConfigFault {
  return { path: formatConfigPath(path), problem }
}

function credentialFaults(
  place: NamedVariable['place'],
  name: unknown,
  environment: EnvironmentVariables,
): GatewayConfigFault[] {
  // What is no name may be a credential in the wrong place: the schema refuses it without repeating it.
  if (typeof name !== 'string' || !VARIABLE_NAME.test(name)) return []
  const problem = credentialProblem(name, environment)
  return problem === null ? [] : [faultAt(place, problem)]
}

function credentialProblem(name: string, environment: EnvironmentVariables): string | null {
  if (CALLER_CREDENTIALS.has(name)) return `${name} holds a credential of our callers`
  const value = (Object.hasOwn(environment, name) ? environment[name] : undefined) ?? ''
  if (value === '') return `environment variable ${name} is not set`
  if (CREDENTIAL.test(value)) return null
  return `environment variable ${name} holds characters that no header field takes`
}

/** Simulated models that only an operator can have: of tapes that were recorded. */
const TAPED_MODELS = `${BUILT_IN_SLUG}/tape:`

function builtInFaults(file: RawConfig): GatewayConfigFault[] {
  if (!usesBuiltInModels(file)) return []
  const off = 'unless simulated_models is false'
  const faults = Object.keys(asRecord(file.models))
    .filter((id) => id.startsWith(`${BUILT_IN_SLUG}/`) && !id.startsWith(TAPED_MODELS))
    .map((id) => faultAt(['models', id], `ids of ${BUILT_IN_SLUG}/ are reserved, ${off}`))
  if (!isRemote(providerKind(file, BUILT_IN_SLUG))) return faults
  return [faultAt(['providers', BUILT_IN_SLUG, 'kind'], `must be simulated, ${off}`), ...faults]
}

function isRemote(kind: unknown): boolean {
  return kind === 'openai' || kind === 'anthropic' || audioServiceOf(kind) !== null
}

function audioServiceOf(kind: unknown): { readonly serves: readonly string[] } | null {
  return typeof kind === 'string' && Object.hasOwn(AUDIO_SERVICES, kind)
    ? AUDIO_SERVICES[kind as AudioServiceKind]
    : null
}

/** A service of speech or transcription has nothing to say to text, and not all of them do both. */
function modalityProblem(kind: unknown, { output_modalities: modalities }: RawConfig): string | null {
  const service = audioServiceOf(kind)
  if (service === null) return null
  const asked = Array.isArray(modalities) ? modalities : ['text']
  if (asked.every((modality) => service.serves.includes(modality))) return null
  return `names a provider of kind ${kind}, for models whose output_modalities are ${service.serves.join(' or ')}`
}

function endpointFaults(file: RawConfig, id: string, model: RawConfig): GatewayConfigFault[] {
  if (!Array.isArray(model.endpoints)) return []
  const faults: GatewayConfigFault[] = []
  const seen = new Set<string>()
  for (const [at, entry] of model.endpoints.entries()) {
    const { provider, upstream_model: upstream, simulation } = asRecord(entry)
    if (typeof provider !== 'string') continue
    const place = ['models', id, 'endpoints', at]
    const kind = providerKind(file, provider)
    if (kind === null) {
      faults.push(faultAt([...place, 'provider'], 'names a provider that is not configured'))
      continue
    }
    const problem = modalityProblem(kind, model)
    if (problem !== null) faults.push(faultAt([...place, 'provider'], problem))
    const twin = `${provider} ${upstream ?? id}`
    if (seen.has(twin)) faults.push(faultAt(place, 'repeats an endpoint of this model'))
    seen.add(twin)
    if (!isPrefixEntry(id) && typeof upstream === 'string' && upstream.includes('*'))
      faults.push(faultAt([...place, 'upstream_model'], 'has a * that stands for nothing: the id has none'))
    if (isRemote(kind) && simulation !== undefined)
      faults.push(faultAt([...place, 'simulation'], 'is for providers of kind simulated only'))
  }
  return faults
}

/** Plugins ask models and providers of the file. */
function pluginFaults(file: RawConfig, builtInModels: RawConfig): GatewayConfigFault[] {
  const plugins = asRecord(file.plugins)
  const isModel = modelFinder(file, builtInModels)
  const faults: GatewayConfigFault[] = []
  const { provider } = asRecord(plugins.moderation)
  if (typeof provider === 'string' && providerKind(file, provider) !== 'openai')
    faults.push(
      faultAt(['plugins', 'moderation', 'provider'], 'must be a configured provider of kind openai'),
    )
  const judges = ['alignment', 'switchyard-router', ...(provider === undefined ? ['moderation'] : [])]
  for (const plugin of judges) {
    const { model } = asRecord(plugins[plugin])
    if (typeof model === 'string' && !isModel(model) && !Object.hasOwn(asRecord(file.aliases), model))
      faults.push(faultAt(['plugins', plugin, 'model'], 'is no model of this file'))
  }
  return faults
}

function painterFaults(file: RawConfig, builtInModels: RawConfig): GatewayConfigFault[] {
  const { model: named } = asRecord(asRecord(file.tools).image_generation)
  if (typeof named !== 'string') return []
  const place = ['tools', 'image_generation', 'model']
  const aliases = asRecord(file.aliases)
  const id = String(Object.hasOwn(aliases, named) ? aliasTarget(aliases, named) : named)
  if (!modelFinder(file, builtInModels)(id)) return [faultAt(place, 'is no model of this file')]
  const entry = asRecord(asRecord(file.models)[id] ?? builtInModels[id])
  const { output_modalities: modalities } = entry
  const paints = Array.isArray(modalities) && modalities.includes('image')
  // One under a prefix has the modalities of the prefix; that is seen when it is asked.
  const isEntry = Object.keys(entry).length > 0
  return paints || !isEntry ? [] : [faultAt(place, 'names a model whose output_modalities lack image')]
}

/** Whether an id is one of a model, or falls under a prefix. */
function modelFinder(file: RawConfig, builtInModels: RawConfig): (id: string) => boolean {
  const models = { ...(usesBuiltInModels(file) ? builtInModels : {}), ...asRecord(file.models) }
  const prefixes = Object.keys(models).filter(isPrefixEntry)
  return (id) => Object.hasOwn(models, id) || prefixes.some((prefix) => restBehind(prefix, id) !== null)
}

/** A name that means two things, or nothing. */
function aliasFaults(file: RawConfig, builtInModels: RawConfig): GatewayConfigFault[] {
  const aliases = asRecord(file.aliases)
  const models = { ...(usesBuiltInModels(file) ? builtInModels : {}), ...asRecord(file.models) }
  const isModel = modelFinder(file, builtInModels)
  return Object.keys(aliases).flatMap((alias): GatewayConfigFault[] => {
    const place = ['aliases', alias]
    if (Object.hasOwn(models, alias)) return [faultAt(place, 'is the id of a model')]
    if (usesBuiltInModels(file) && alias.startsWith(`${BUILT_IN_SLUG}/`))
      return [faultAt(place, `ids of ${BUILT_IN_SLUG}/ are reserved, unless simulated_models is false`)]
    const target = aliasTarget(aliases, alias)
    if (target === null) return [faultAt(place, 'leads back to itself')]
    return typeof target !== 'string' || isModel(target) ? [] : [faultAt(place, 'names no model')]
  })
}

/** What a name stands for in the end; null when it leads back to itself. */
export function aliasTarget(aliases: RawConfig, alias: string): unknown {
  const passed = new Set<unknown>()
  let name: unknown = alias
  while (typeof name === 'string' && Object.hasOwn(aliases, name)) {
    if (passed.has(name)) return null
    passed.add(name)
    name = aliases[name]
  }
  return name
}

/** Null when there is no such provider. */
function providerKind(file: RawConfig, slug: string): unknown {
  const providers = asRecord(file.providers)
  if (Object.hasOwn(providers, slug)) return asRecord(providers[slug]).kind
  return slug === BUILT_IN_SLUG && usesBuiltInModels(file) ? 'simulated' : null
}
