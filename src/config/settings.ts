/** Every setting with its variable, its key in the file, its default and its schema. */
import { z } from 'zod'
import { LOG_LEVELS, type LogLevel } from '../base/log.js'
import {
  addresses,
  autoOr,
  credential,
  delays,
  flag,
  integer,
  labPlace,
  metricsPlace,
  origins,
  publicUrl,
  readableFile,
  text,
} from './values.js'

/** The settings that come from the environment or the file. */
export interface Settings {
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
  /** `''` when not set. */
  readonly publicUrl: string
  /** A credential; never logged. `''` when not set. */
  readonly apiKey: string
  /** A credential; never logged. `''` when not set. */
  readonly managementKey: string
  readonly allowLoopbackIssuers: boolean
  readonly exchangesPerMinute: number
  readonly exchangeBurst: number
  readonly signingKeyDays: number
  readonly ledgerDays: number
  /** `''` when nothing is exported. */
  readonly otlpEndpoint: string
  /** `off`, `on`, or where the control listener of the lab listens. */
  readonly lab: string
  readonly labOpen: boolean
  readonly labFaults: boolean
  /** In words: `src/lab/delay-shape.ts` reads them. */
  readonly reportDelays: string
}

export interface SettingDefinition {
  readonly env: string
  /** Key in the configuration file. */
  readonly key: string
  readonly schema: z.ZodType
  readonly default: unknown
  readonly about: string
}

const KIB = 1024
const MIB = KIB * KIB

/** Every setting, in the order of the table in docs/guide/settings.md. */
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
  publicUrl: {
    env: 'SLUICE_PUBLIC_URL',
    key: 'public_url',
    schema: publicUrl,
    default: '',
    about: 'Base URL under which callers reach the server, for links in answers.',
  },
  apiKey: {
    env: 'SLUICE_API_KEY',
    key: 'api_key',
    schema: credential,
    default: '',
    about:
      'A fixed API key of at least 32 characters, for trials; it is disabled when the setting changes or goes.',
  },
  managementKey: {
    env: 'SLUICE_MANAGEMENT_KEY',
    key: 'management_key',
    schema: credential,
    default: '',
    about:
      'A fixed management key of at least 32 characters, for trials; it is disabled when the setting changes or goes.',
  },
  allowLoopbackIssuers: {
    env: 'SLUICE_ALLOW_LOOPBACK_ISSUERS',
    key: 'allow_loopback_issuers',
    schema: flag,
    default: false,
    about: 'Accept identity providers on this machine, also without TLS; for trials.',
  },
  exchangesPerMinute: {
    env: 'SLUICE_EXCHANGES_PER_MINUTE',
    key: 'exchanges_per_minute',
    schema: integer(0, 60_000_000),
    default: 600,
    about: 'Token exchanges per minute and client address, over all workers; 0 for any number.',
  },
  exchangeBurst: {
    env: 'SLUICE_EXCHANGE_BURST',
    key: 'exchange_burst',
    schema: integer(1, 1_000_000),
    default: 100,
    about: 'Token exchanges that a client address may make at once.',
  },
  signingKeyDays: {
    env: 'SLUICE_SIGNING_KEY_DAYS',
    key: 'signing_key_days',
    schema: integer(1, 3650),
    default: 30,
    about: 'Days for which a key signs access tokens before the next takes over.',
  },
  ledgerDays: {
    env: 'SLUICE_LEDGER_DAYS',
    key: 'ledger_days',
    schema: integer(1, 36_500),
    default: 90,
    about: 'Days for which the ledger keeps the row of a call; what keys and organizations have spent stays.',
  },
  otlpEndpoint: {
    env: 'SLUICE_OTLP_ENDPOINT',
    key: 'otlp_endpoint',
    schema: publicUrl,
    default: '',
    about:
      'Base URL of an OpenTelemetry collector (OTLP over HTTP) that gets traces and metrics of inferences.',
  },
  lab: {
    env: 'SLUICE_LAB',
    key: 'lab',
    schema: labPlace,
    default: 'off',
    about: 'Control listener of the lab: `off`, `on` (127.0.0.1:8081) or host:port.',
  },
  labOpen: {
    env: 'SLUICE_LAB_OPEN',
    key: 'lab_open',
    schema: flag,
    default: false,
    about: 'Let the lab listen on an address that other machines reach; it has no authentication.',
  },
  labFaults: {
    env: 'SLUICE_LAB_FAULTS',
    key: 'lab_faults',
    schema: flag,
    default: false,
    about: 'Let the lab make faults on purpose, and obey its request headers.',
  },
  reportDelays: {
    env: 'SLUICE_REPORT_DELAYS',
    key: 'report_delays',
    schema: delays,
    default: 'random',
    about:
      'Delays of the report: `random`, `quasi`, `constant 200`, `uniform 50 150`, `log-normal 300 900`, `bimodal 100 2000 0.05` or `load 50 2`.',
  },
} satisfies Record<keyof Settings, SettingDefinition>
