/**
 * The settings: the only reader of the environment and of the configuration file. Each setting stands in one
 * table with its variable, its key in the file, its default and its schema. All faults are found at once and
 * named with their source.
 */
import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import { parse as parseYaml } from 'yaml'
import { z } from 'zod'
import { trustedProxies } from './base/caller-address.js'
import { LOG_LEVELS, type LogLevel } from './base/log.js'

export interface Config {
  readonly host: string
  readonly port: number
  readonly workers: number | 'auto'
  readonly poolThreads: number | 'auto'
  readonly dataDir: string
  readonly logLevel: LogLevel
  readonly seedItems: number
  readonly tlsKey: string
  readonly tlsCert: string
  readonly corsOrigins: readonly string[]
  readonly bodyLimit: number
  readonly callDeadlineMs: number
  readonly drainDeadlineMs: number
  readonly maxInFlight: number
  readonly hashSalt: string
  readonly hashQueueRounds: number
  readonly reportSeed: number | null
  readonly metrics: string
  readonly allowChunked: boolean
  readonly trustedProxies: readonly string[]
}

export interface Setting {
  readonly env: string
  /** Key in the configuration file. */
  readonly key: string
  readonly schema: z.ZodType
  readonly default: unknown
  readonly about: string
}

/** Accepts the text of an environment variable as well as the number of a file. */
function integer(min: number, max: number): z.ZodType<number> {
  const text = z
    .string()
    .regex(/^-?[0-9]+$/, 'must be an integer')
    .transform(Number)
  return z
    .union([z.number(), text], { error: 'must be an integer' })
    .refine((n) => Number.isInteger(n) && n >= min && n <= max, `must be an integer from ${min} to ${max}`)
}

function autoOr(schema: z.ZodType<number>): z.ZodType<number | 'auto'> {
  return z.union([z.literal('auto'), schema], { error: 'must be "auto" or an integer of at least 1' })
}

const text = z.string('must be text').min(1, 'must not be empty')

const flag = z.union(
  [
    z.boolean(),
    z.enum(['true', 'on', '1', 'false', 'off', '0']).transform((t) => ['true', 'on', '1'].includes(t)),
  ],
  { error: 'must be on or off' },
)

const list = z.union(
  [
    z.array(z.string()),
    z.string().transform((t) =>
      t
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    ),
  ],
  { error: 'must be a list, or text with commas' },
)

const addresses = list.refine(areAddresses, 'must hold addresses or CIDR ranges only')

function areAddresses(entries: readonly string[]): boolean {
  try {
    trustedProxies(entries)
    return true
  } catch {
    return false
  }
}

const readableFile = text.refine(isReadable, 'must name a readable file')

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

const metricsPlace = text.refine(isMetricsPlace, 'must be "on", "off" or host:port')

function isMetricsPlace(place: string): boolean {
  if (place === 'on' || place === 'off') return true
  const port = /^(?:\[[0-9a-fA-F:]+\]|[^:\s]+):([0-9]{1,5})$/.exec(place)?.[1]
  return port !== undefined && Number(port) >= 1 && Number(port) <= 65_535
}

const origins = list.refine(
  (entries) => entries.every((entry) => entry === '*' || isOrigin(entry)),
  'must hold origins such as https://example.org, or *',
)

function isOrigin(entry: string): boolean {
  return !entry.includes('*') && URL.canParse(entry) && new URL(entry).origin === entry
}

const KIB = 1024
const MIB = KIB * KIB

/** Every setting, in the order of the README's table. */
export const SETTINGS = {
  host: { env: 'HOST', key: 'host', schema: text, default: '127.0.0.1', about: 'Address to listen on.' },
  port: {
    env: 'PORT',
    key: 'port',
    schema: integer(0, 65_535),
    default: 8080,
    about: 'Port; 0 takes a free one.',
  },
  workers: {
    env: 'SLUICE_WORKERS',
    key: 'workers',
    schema: autoOr(integer(1, 256)),
    default: 'auto',
    about: 'Worker processes, each with an event loop of its own.',
  },
  poolThreads: {
    env: 'SLUICE_POOL_THREADS',
    key: 'pool_threads',
    schema: autoOr(integer(1, 256)),
    default: 'auto',
    about: 'Threads of each worker’s CPU pool.',
  },
  dataDir: {
    env: 'SLUICE_DATA_DIR',
    key: 'data_dir',
    schema: text,
    default: './data',
    about: 'Folder of the store.',
  },
  logLevel: {
    env: 'SLUICE_LOG_LEVEL',
    key: 'log_level',
    schema: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`),
    default: 'info',
    about: 'Least severity that is logged.',
  },
  seedItems: {
    env: 'SLUICE_SEED_ITEMS',
    key: 'seed_items',
    schema: integer(0, 10_000_000),
    default: 0,
    about: 'Items to have been created at the end of the start.',
  },
  tlsKey: {
    env: 'SLUICE_TLS_KEY',
    key: 'tls_key',
    schema: readableFile,
    default: '',
    about: 'TLS key, PEM file.',
  },
  tlsCert: {
    env: 'SLUICE_TLS_CERT',
    key: 'tls_cert',
    schema: readableFile,
    default: '',
    about: 'TLS certificate chain, PEM file.',
  },
  corsOrigins: {
    env: 'SLUICE_CORS_ORIGINS',
    key: 'cors_origins',
    schema: origins,
    default: [],
    about: 'Origins whose pages may call; `*` for all. CORS is off without any.',
  },
  bodyLimit: {
    env: 'SLUICE_BODY_LIMIT',
    key: 'body_limit',
    schema: integer(1, 64 * MIB),
    default: 64 * KIB,
    about: 'Most bytes of a request body.',
  },
  callDeadlineMs: {
    env: 'SLUICE_CALL_DEADLINE_MS',
    key: 'call_deadline_ms',
    schema: integer(100, 3_600_000),
    default: 30_000,
    about: 'Most time for a call, from its parsed head to its last byte.',
  },
  drainDeadlineMs: {
    env: 'SLUICE_DRAIN_DEADLINE_MS',
    key: 'drain_deadline_ms',
    schema: integer(0, 3_600_000),
    default: 10_000,
    about: 'Most time to finish what is under way after SIGTERM.',
  },
  maxInFlight: {
    env: 'SLUICE_MAX_IN_FLIGHT',
    key: 'max_in_flight',
    schema: integer(1, 1_000_000),
    default: 10_000,
    about: 'Calls in flight per worker beyond which new ones get 503.',
  },
  hashSalt: {
    env: 'SLUICE_HASH_SALT',
    key: 'hash_salt',
    schema: text,
    default: 'load-test',
    about: 'Salt of the hash operation.',
  },
  hashQueueRounds: {
    env: 'SLUICE_HASH_QUEUE_ROUNDS',
    key: 'hash_queue_rounds',
    schema: integer(1, 1_000_000_000),
    default: 4_000_000,
    about: 'PBKDF2 rounds that may wait per pool thread; about a second of work.',
  },
  reportSeed: {
    env: 'SLUICE_REPORT_SEED',
    key: 'report_seed',
    schema: integer(0, 0xffff_ffff),
    default: null,
    about: 'Seed of the report’s delays, for runs that can be repeated.',
  },
  metrics: {
    env: 'SLUICE_METRICS',
    key: 'metrics',
    schema: metricsPlace,
    default: 'on',
    about: '`on` serves /metrics beside the API, `off` not at all, host:port elsewhere.',
  },
  allowChunked: {
    env: 'SLUICE_ALLOW_CHUNKED',
    key: 'allow_chunked',
    schema: flag,
    default: false,
    about: 'Accept chunked request bodies; only behind a strict proxy.',
  },
  trustedProxies: {
    env: 'SLUICE_TRUSTED_PROXIES',
    key: 'trusted_proxies',
    schema: addresses,
    default: [],
    about: 'Addresses or CIDR ranges whose X-Forwarded-For counts, for operations that ask who calls.',
  },
} satisfies Record<keyof Config, Setting>

/** Read by the part of the product that is not built yet; accepted so that scripts may set them already. */
const RESERVED = ['SLUICE_API_KEY', 'SLUICE_MANAGEMENT_KEY', 'SLUICE_ALLOW_LOOPBACK_ISSUERS']

/** Names the file the other settings may stand in. */
const FILE = 'SLUICE_CONFIG'

/** What is wrong with one setting, and where it stands. */
export interface ConfigFault {
  readonly source: string
  readonly problem: string
}

/** Carries every fault that was found. */
export class BadConfig extends Error {
  readonly faults: readonly ConfigFault[]

  constructor(faults: readonly ConfigFault[]) {
    super(faults.map(({ source, problem }) => `${source}: ${problem}`).join('\n'))
    this.name = 'BadConfig'
    this.faults = faults
  }
}

type Environment = Readonly<Record<string, string | undefined>>
type Names = keyof Config

/**
 * The frozen settings: environment over file over default. An empty variable counts as unset.
 * Throws `BadConfig` with every fault.
 */
export function loadConfig(environment: Environment): Config {
  const faults: ConfigFault[] = []
  const path = environment[FILE] ?? ''
  const file = path === '' ? {} : readFile(path, faults)
  faults.push(...unknownNames(environment, file, path))
  const values: Record<string, unknown> = {}
  for (const [name, setting] of Object.entries(SETTINGS) as [Names, Setting][]) {
    const fromEnvironment = environment[setting.env]
    if (fromEnvironment !== undefined && fromEnvironment !== '') {
      values[name] = checked(setting, fromEnvironment, `environment variable ${setting.env}`, faults)
    } else if (Object.hasOwn(file, setting.key)) {
      values[name] = checked(setting, file[setting.key], `${path}: ${setting.key}`, faults)
    } else {
      values[name] = setting.default
    }
  }
  const config = values as unknown as Config
  if ((config.tlsKey === '') !== (config.tlsCert === '')) {
    faults.push({ source: 'SLUICE_TLS_KEY and SLUICE_TLS_CERT', problem: 'TLS needs both files or neither' })
  }
  if (faults.length > 0) throw new BadConfig(faults)
  return Object.freeze(config)
}

function checked(setting: Setting, raw: unknown, source: string, faults: ConfigFault[]): unknown {
  const result = setting.schema.safeParse(raw)
  if (result.success) return result.data
  faults.push({ source, problem: result.error.issues[0]?.message ?? 'is not valid' })
  return setting.default
}

function readFile(path: string, faults: ConfigFault[]): Record<string, unknown> {
  try {
    const value: unknown = parseYaml(readFileSync(path, 'utf8')) ?? {}
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>
    faults.push({ source: path, problem: 'must hold one object' })
  } catch (error) {
    const [reason] = String(error instanceof Error ? error.message : error).split('\n')
    faults.push({ source: path, problem: `cannot be read: ${reason}` })
  }
  return {}
}

/** A misspelt setting would otherwise be ignored without a word. */
function unknownNames(environment: Environment, file: object, path: string): ConfigFault[] {
  const settings = Object.values(SETTINGS)
  const known = [...settings.map(({ env }) => env), ...RESERVED, FILE]
  const variables = Object.keys(environment)
    .filter((name) => name.startsWith('SLUICE_') && !known.includes(name))
    .map((name) => ({ source: `environment variable ${name}`, problem: 'there is no such setting' }))
  const keys = Object.keys(file)
    .filter((key) => !settings.some((setting) => setting.key === key))
    .map((key) => ({ source: `${path}: ${key}`, problem: 'there is no such setting' }))
  return [...variables, ...keys]
}
