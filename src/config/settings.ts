/** Every setting with its variable, its key in the file, its default and its schema. */
import { z } from 'zod'
import { LOG_LEVELS } from '../base/log.js'
import {
  addresses,
  autoOrInteger,
  credential,
  delays,
  integerBetween,
  labPlace,
  metricsPlace,
  nonEmptyText,
  onOrOff,
  origins,
  publicUrl,
  readableFile,
} from './values.js'

export interface SettingDefinition<T = unknown> {
  readonly env: string
  /** Key in the configuration file. */
  readonly key: string
  readonly schema: z.ZodType<T>
  readonly default: T
  readonly about: string
}

/** The key in the file is the variable in lower case, without its prefix. */
function defineSetting<T>(
  env: string,
  schema: z.ZodType<T>,
  fallback: NoInfer<T>,
  about: string,
): SettingDefinition<T> {
  return { env, key: env.toLowerCase().replace('sluice_', ''), schema, default: fallback, about }
}

const KIB = 1024
const MIB = KIB * KIB

/** Every setting, in the order of the table in docs/guide/settings.md. */
export const SETTINGS = {
  host: defineSetting('HOST', nonEmptyText, '127.0.0.1', 'Address to listen on.'),
  port: defineSetting('PORT', integerBetween(0, 65_535), 8080, 'Port; 0 takes a free one.'),
  workers: defineSetting(
    'SLUICE_WORKERS',
    autoOrInteger(integerBetween(1, 256)),
    'auto',
    'Worker processes, each with an event loop of its own.',
  ),
  poolThreads: defineSetting(
    'SLUICE_POOL_THREADS',
    autoOrInteger(integerBetween(1, 256)),
    'auto',
    'Threads of each worker’s CPU pool.',
  ),
  dataDir: defineSetting('SLUICE_DATA_DIR', nonEmptyText, './data', 'Folder of the store.'),
  logLevel: defineSetting(
    'SLUICE_LOG_LEVEL',
    z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`),
    'info',
    'Least severity that is logged.',
  ),
  seedItems: defineSetting(
    'SLUICE_SEED_ITEMS',
    integerBetween(0, 10_000_000),
    0,
    'Items to have been created at the end of the start.',
  ),
  tlsKey: defineSetting('SLUICE_TLS_KEY', readableFile, '', 'TLS key, PEM file.'),
  tlsCert: defineSetting('SLUICE_TLS_CERT', readableFile, '', 'TLS certificate chain, PEM file.'),
  corsOrigins: defineSetting(
    'SLUICE_CORS_ORIGINS',
    origins,
    [],
    'Origins whose pages may call; `*` for all. CORS is off without any.',
  ),
  bodyLimit: defineSetting(
    'SLUICE_BODY_LIMIT',
    integerBetween(1, 64 * MIB),
    64 * KIB,
    'Most bytes of a request body.',
  ),
  callDeadlineMs: defineSetting(
    'SLUICE_CALL_DEADLINE_MS',
    integerBetween(100, 3_600_000),
    30_000,
    'Most time for a call, from its parsed head to its last byte.',
  ),
  drainDeadlineMs: defineSetting(
    'SLUICE_DRAIN_DEADLINE_MS',
    integerBetween(0, 3_600_000),
    10_000,
    'Most time to finish what is under way after SIGTERM.',
  ),
  maxInFlight: defineSetting(
    'SLUICE_MAX_IN_FLIGHT',
    integerBetween(1, 1_000_000),
    10_000,
    'Calls in flight per worker beyond which new ones get 503.',
  ),
  hashSalt: defineSetting('SLUICE_HASH_SALT', nonEmptyText, 'load-test', 'Salt of the hash operation.'),
  hashQueueRounds: defineSetting(
    'SLUICE_HASH_QUEUE_ROUNDS',
    integerBetween(1, 1_000_000_000),
    4_000_000,
    'PBKDF2 rounds that may wait per pool thread; about a second of work.',
  ),
  reportSeed: defineSetting<number | null>(
    'SLUICE_REPORT_SEED',
    integerBetween(0, 0xffff_ffff),
    null,
    'Seed of the report’s delays, for runs that can be repeated.',
  ),
  metrics: defineSetting(
    'SLUICE_METRICS',
    metricsPlace,
    'on',
    '`on` serves /metrics beside the API, `off` not at all, host:port elsewhere.',
  ),
  allowChunked: defineSetting(
    'SLUICE_ALLOW_CHUNKED',
    onOrOff,
    false,
    'Accept chunked request bodies; only behind a strict proxy.',
  ),
  trustedProxies: defineSetting(
    'SLUICE_TRUSTED_PROXIES',
    addresses,
    [],
    'Addresses or CIDR ranges whose X-Forwarded-For counts, for operations that ask who calls.',
  ),
  /** `''` when not set. */
  publicUrl: defineSetting(
    'SLUICE_PUBLIC_URL',
    publicUrl,
    '',
    'Base URL under which callers reach the server, for links in answers.',
  ),
  /** A credential; never logged. `''` when not set. */
  apiKey: defineSetting(
    'SLUICE_API_KEY',
    credential,
    '',
    'A fixed API key of at least 32 characters, for trials; it is disabled when the setting changes or goes.',
  ),
  /** A credential; never logged. `''` when not set. */
  managementKey: defineSetting(
    'SLUICE_MANAGEMENT_KEY',
    credential,
    '',
    'A fixed management key of at least 32 characters, for trials; it is disabled when the setting changes or goes.',
  ),
  allowLoopbackIssuers: defineSetting(
    'SLUICE_ALLOW_LOOPBACK_ISSUERS',
    onOrOff,
    false,
    'Accept identity providers on this machine, also without TLS; for trials.',
  ),
  exchangesPerMinute: defineSetting(
    'SLUICE_EXCHANGES_PER_MINUTE',
    integerBetween(0, 60_000_000),
    600,
    'Token exchanges per minute and client address, over all workers; 0 for any number.',
  ),
  exchangeBurst: defineSetting(
    'SLUICE_EXCHANGE_BURST',
    integerBetween(1, 1_000_000),
    100,
    'Token exchanges that a client address may make at once.',
  ),
  signingKeyDays: defineSetting(
    'SLUICE_SIGNING_KEY_DAYS',
    integerBetween(1, 3650),
    30,
    'Days for which a key signs access tokens before the next takes over.',
  ),
  ledgerDays: defineSetting(
    'SLUICE_LEDGER_DAYS',
    integerBetween(1, 36_500),
    90,
    'Days for which the ledger keeps the row of a call; what keys and organizations have spent stays.',
  ),
  /** `''` when nothing is exported. */
  otlpEndpoint: defineSetting(
    'SLUICE_OTLP_ENDPOINT',
    publicUrl,
    '',
    'Base URL of an OpenTelemetry collector (OTLP over HTTP) that gets traces and metrics of inferences.',
  ),
  /** `off`, `on`, or where the control listener of the lab listens. */
  lab: defineSetting(
    'SLUICE_LAB',
    labPlace,
    'off',
    'Control listener of the lab: `off`, `on` (127.0.0.1:8081) or host:port.',
  ),
  labOpen: defineSetting(
    'SLUICE_LAB_OPEN',
    onOrOff,
    false,
    'Let the lab listen on an address that other machines reach; it has no authentication.',
  ),
  labFaults: defineSetting(
    'SLUICE_LAB_FAULTS',
    onOrOff,
    false,
    'Let the lab make faults on purpose, and obey its request headers.',
  ),
  /** In words: `src/lab/delay-shape.ts` reads them. */
  reportDelays: defineSetting(
    'SLUICE_REPORT_DELAYS',
    delays,
    'random',
    'Delays of the report: `random`, `quasi`, `constant 200`, `uniform 50 150`, `log-normal 300 900`, `bimodal 100 2000 0.05` or `load 50 2`.',
  ),
}

/** The settings that come from the environment or the file. */
export type Settings = {
  readonly [K in keyof typeof SETTINGS]: (typeof SETTINGS)[K] extends SettingDefinition<infer T> ? T : never
}
