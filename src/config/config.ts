/**
 * The configuration: the only reader of the environment and of the configuration file. All faults are found at once
 * and named with their source.
 */
import { z } from 'zod'
import {
  credentialVariables,
  type GatewayConfig,
  type GatewayFileKeys,
  type GatewayFileReader,
  type InferenceLimits,
} from '../gateway/catalog/configuration.js'
import type { ConfigFileContent } from './config-file.js'
import { SETTINGS, type SettingDefinition, type SettingSource, type Settings } from './settings.js'
import { isLoopbackPlace } from './values.js'

export { SETTINGS } from './settings.js'

/** Plain data: it goes from the supervisor to the workers. It holds credentials, so it is never logged. */
export interface Config extends Settings {
  /** Providers, models and permissions; the part that a reload renews. */
  readonly gateway: GatewayConfig
  readonly limits: InferenceLimits
  /** Path of the configuration file, as `SLUICE_CONFIG` names it; null without one. */
  readonly file: string | null
  /** Of settings that are not at their default. */
  readonly sources: Readonly<Partial<Record<keyof Settings, SettingSource>>>
}

/** Names the file. */
const FILE = 'SLUICE_CONFIG'
const NO_FILE = { content: {}, problem: null }

/** What is wrong with one setting, and where it stands. */
interface ConfigProblem {
  readonly source: string
  readonly problem: string
}

/** Carries every fault that was found. */
export class InvalidConfigError extends Error {
  readonly faults: readonly ConfigProblem[]

  constructor(faults: readonly ConfigProblem[]) {
    super(faults.map(({ source, problem }) => `${source}: ${problem}`).join('\n'))
    this.name = 'InvalidConfigError'
    this.faults = faults
  }
}

type EnvironmentVariables = Readonly<Record<string, string | undefined>>

/**
 * The frozen configuration: environment over file over default. An empty variable counts as unset.
 * `gatewayFile` reads the gateway's part of the file. Rejects with `InvalidConfigError` with every fault.
 */
export async function readConfig(
  environment: EnvironmentVariables,
  gatewayFile: GatewayFileReader,
): Promise<Config> {
  const faults: ConfigProblem[] = []
  const path = environment[FILE] ?? ''
  // The parser of YAML is loaded by those who have a file.
  const { content: file, problem } =
    path === '' ? NO_FILE : (await import('./config-file.js')).readConfigFile(path)
  if (problem !== null) faults.push({ source: path, problem })
  const unknown = [
    ...findUnknownVariables(environment, file),
    ...findUnknownMembers(file, gatewayFile.keys).map((key) => ({
      source: `${path}: ${key}`,
      problem: NO_SUCH_SETTING,
    })),
  ]
  const { settings, sources, unread } = readSettings(environment, file, path, faults)
  const contradictions = findContradictions(settings, unread)
  const { gateway, limits, faults: gatewayFaults } = gatewayFile.read(file, environment)
  const inGateway = gatewayFaults.map((fault) => ({
    source: `${path}: ${fault.path}`,
    problem: fault.problem,
  }))
  const all = [faults, unknown, contradictions, inGateway].flat()
  if (all.length > 0 || gateway === null) throw new InvalidConfigError(all)
  return Object.freeze({ ...settings, gateway, limits, file: path || null, sources })
}

/** Keys of what differs between two configurations and only counts from a start on. */
export function settingsNeedingRestart(running: Config, read: Config): string[] {
  const differs = (name: keyof Config): boolean =>
    JSON.stringify(running[name]) !== JSON.stringify(read[name])
  const settings = (Object.keys(SETTINGS) as (keyof Settings)[])
    .filter(differs)
    .map((name) => SETTINGS[name].key)
  return differs('limits') ? [...settings, 'limits'] : settings
}

function readSettings(
  environment: EnvironmentVariables,
  file: ConfigFileContent,
  path: string,
  faults: ConfigProblem[],
): Pick<Config, 'sources'> & { readonly settings: Settings; readonly unread: ReadonlySet<string> } {
  const unread = new Set<string>()
  const values: Record<string, unknown> = {}
  const sources: Record<string, SettingSource> = {}
  for (const [name, setting] of Object.entries<SettingDefinition>(SETTINGS)) {
    const { env, key, schema } = setting
    const isInEnvironment = (environment[env] ?? '') !== ''
    values[name] = setting.default
    if (!isInEnvironment && !Object.hasOwn(file, key)) continue
    sources[name] = isInEnvironment ? 'environment' : 'file'
    const result = schema.safeParse(isInEnvironment ? environment[env] : file[key])
    const source = isInEnvironment ? `environment variable ${env}` : `${path}: ${key}`
    if (result.success) values[name] = result.data
    else {
      faults.push({ source, problem: result.error.issues[0]?.message ?? 'is not valid' })
      unread.add(name)
    }
  }
  return { settings: values as unknown as Settings, sources, unread }
}

interface Contradiction extends ConfigProblem {
  /** The settings that contradict each other. */
  readonly of: readonly (keyof Settings)[]
  readonly found: boolean
}

/**
 * What no setting can know alone.
 * @param unread settings with a fault of their own: what stands for them is the default, which nobody has set
 */
function findContradictions(settings: Settings, unread: ReadonlySet<string>): ConfigProblem[] {
  return contradictionsOf(settings)
    .filter(({ of, found }) => found && !of.some((name) => unread.has(name)))
    .map(({ source, problem }) => ({ source, problem }))
}

function contradictionsOf(settings: Settings): Contradiction[] {
  const { tlsKey, tlsCert, apiKey, managementKey, practice, seedItems, lab, labOpen } = settings
  const { databaseUrl, sealingKeyFile, console: hasConsole, consoleListen } = settings
  return [
    {
      of: ['tlsKey', 'tlsCert'],
      found: (tlsKey === '') !== (tlsCert === ''),
      source: 'SLUICE_TLS_KEY and SLUICE_TLS_CERT',
      problem: 'TLS needs both files or neither',
    },
    {
      of: ['apiKey', 'managementKey'],
      found: apiKey !== '' && apiKey === managementKey,
      source: 'SLUICE_API_KEY and SLUICE_MANAGEMENT_KEY',
      problem: 'must be two different keys',
    },
    {
      of: ['practice', 'seedItems'],
      found: practice === 'off' && seedItems > 0,
      source: 'SLUICE_SEED_ITEMS',
      problem: 'nobody could read the items: SLUICE_PRACTICE is off',
    },
    {
      of: ['databaseUrl', 'sealingKeyFile'],
      found: databaseUrl !== '' && sealingKeyFile === '',
      source: 'SLUICE_DATABASE_URL',
      problem: 'machines that share a PostgreSQL need the same SLUICE_SEALING_KEY_FILE',
    },
    {
      of: ['console', 'consoleListen'],
      found: !hasConsole && consoleListen !== '',
      source: 'SLUICE_CONSOLE_LISTEN',
      problem: 'there is nothing to serve: SLUICE_CONSOLE is off',
    },
    {
      of: ['lab', 'labOpen'],
      found: lab !== 'off' && !isLoopbackPlace(lab) && !labOpen,
      source: 'SLUICE_LAB',
      problem:
        'other machines would reach the lab, which has no authentication: SLUICE_LAB_OPEN=on allows it',
    },
  ]
}

/** A misspelt setting would otherwise be ignored without a word. */
function findUnknownVariables(environment: EnvironmentVariables, file: ConfigFileContent): ConfigProblem[] {
  const settings = Object.values(SETTINGS)
  const variables = new Set([...settings.map(({ env }) => env), FILE, ...credentialVariables(file)])
  return Object.keys(environment)
    .filter((name) => name.startsWith('SLUICE_') && !variables.has(name))
    .map((name) => ({ source: `environment variable ${name}`, problem: NO_SUCH_SETTING }))
}

/** Names in a configuration file that are none of a setting, nor of the gateway's part. */
function findUnknownMembers(file: ConfigFileContent, gatewayKeys: GatewayFileKeys): string[] {
  const keys = new Set([...Object.values(SETTINGS).map(({ key }) => key), ...Object.keys(gatewayKeys)])
  return Object.keys(file).filter((key) => !keys.has(key))
}

/**
 * What a file says wrongly beside the gateway's part. `ofThisMachine`: values are checked as well, some of which name
 * files that have to be there; callers from elsewhere must not learn whether they are.
 */
export function findFileFaults(
  file: ConfigFileContent,
  gatewayKeys: GatewayFileKeys,
  ofThisMachine: boolean,
): string[] {
  const unknown = findUnknownMembers(file, gatewayKeys).map((key) => `${key}: ${NO_SUCH_SETTING}`)
  if (!ofThisMachine) return unknown
  const faults = Object.values<SettingDefinition>(SETTINGS).flatMap(({ key, schema }) => {
    const problem = Object.hasOwn(file, key) ? problemOf(schema, file[key]) : null
    return problem === null ? [] : [`${key}: ${problem}`]
  })
  return [...unknown, ...faults]
}

function problemOf(schema: z.ZodType, value: unknown): string | null {
  const { error } = schema.safeParse(value)
  return error === undefined ? null : (error.issues[0]?.message ?? 'is not valid')
}

const NO_SUCH_SETTING = 'there is no such setting'

/**
 * JSON Schema (2020-12) of the whole file, made from the schemas that check it; `src/config/config.schema.json` is its
 * published copy. What one entry says about another, and what the environment holds, it cannot express.
 */
export function configJsonSchema(gatewayKeys: GatewayFileKeys): Record<string, unknown> {
  const settings = Object.values(SETTINGS).map(({ key, schema }) => [key, schema.optional()])
  const members = Object.entries(gatewayKeys).map(([key, schema]) => [key, schema.optional()])
  const file = z.strictObject(Object.fromEntries([...settings, ...members]))
  const { $schema, ...rest } = z.toJSONSchema(file, { io: 'input', unrepresentable: 'any' })
  // Written in afterwards: zod drops defaults, and some descriptions, of schemas that transform what they read.
  const describe = (key: string, more: object): void => {
    Object.assign(rest.properties?.[key] as object, more)
  }
  for (const { key, about, default: fallback } of Object.values(SETTINGS)) {
    // A default that could not stand in the file (no key, no seed) is not told.
    const isTold = fallback !== '' && fallback !== null
    describe(key, { description: about, ...(isTold && { default: fallback }) })
  }
  for (const [key, { description }] of Object.entries(gatewayKeys)) describe(key, { description })
  return {
    $schema,
    title: 'Sluice configuration',
    description: 'The file that SLUICE_CONFIG names, in YAML or JSON.',
    ...rest,
  }
}
