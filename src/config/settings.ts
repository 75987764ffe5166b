/** Every setting with its variable, its key in the file, its default and its schema. */
import { z } from 'zod'
import { LOG_LEVELS, LOGGED_CALLS } from '../base/log.js'
import {
  addresses,
  autoOrInteger,
  credential,
  databaseUrl,
  delays,
  integerBetween,
  LAB_ADDRESS,
  labPlace,
  machineName,
  metricsPlace,
  nonEmptyText,
  onOrOff,
  origins,
  ownPlace,
  publicUrl,
  readableFile,
} from './values.js'

interface SettingRow<T> {
  readonly schema: z.ZodType<T>
  readonly default: T
  readonly about: string
  /** What nobody is shown of the value: all of it, or the user and password of a URL. */
  readonly hides: 'value' | 'credentials' | null
}

export interface SettingDefinition<T = unknown> extends SettingRow<T> {
  /** Environment variable. */
  readonly env: string
  /** Key in the configuration file. */
  readonly key: string
}

function setting<T>(
  schema: z.ZodType<T>,
  fallback: NoInfer<T>,
  about: string,
  hides: SettingRow<T>['hides'] = null,
): SettingRow<T> {
  return { schema, default: fallback, about, hides }
}

/** `bodyLimit` is the key `body_limit` and the variable `SLUICE_BODY_LIMIT`; host and port go without the prefix. */
function nameSettings<T extends Readonly<Record<string, SettingRow<unknown>>>>(rows: T) {
  const named = Object.entries(rows).map(([name, row]) => {
    const key = name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`)
    const prefix = name === 'host' || name === 'port' ? '' : 'SLUICE_'
    return [name, { env: prefix + key.toUpperCase(), key, ...row }]
  })
  return Object.fromEntries(named) as {
    readonly [K in keyof T]: T[K] extends SettingRow<infer V> ? SettingDefinition<V> : never
  }
}

const KIB = 1024
const MIB = KIB * KIB
const GIB = KIB * MIB

/** Every setting, in the order of the table in docs/guide/settings.md. */
export const SETTINGS = nameSettings({
  host: setting(nonEmptyText, '127.0.0.1', 'Address to listen on.'),
  port: setting(integerBetween(0, 65_535), 8080, 'Port; 0 takes a free one.'),
  workers: setting(
    autoOrInteger(integerBetween(1, 256)),
    'auto',
    'Worker processes, each with an event loop of its own.',
  ),
  poolThreads: setting(
    autoOrInteger(integerBetween(1, 256)),
    'auto',
    'Threads of each worker’s CPU pool that hash.',
  ),
  dataDir: setting(nonEmptyText, './data', 'Folder of the store.'),
  /** A credential; never logged. `''` when the store is the embedded one. */
  databaseUrl: setting(
    databaseUrl,
    '',
    'PostgreSQL that several machines share, as `postgres://user:password@host:port/name`; without it the embedded store is used.',
    'credentials',
  ),
  databaseConnections: setting(
    integerBetween(2, 1_000),
    8,
    'Most connections of each worker to the shared PostgreSQL.',
  ),
  /** `''`: a name that is kept in the folder of the store. */
  machine: setting(
    machineName,
    '',
    'Name of this machine among those that share a PostgreSQL; by default one that the folder of the store keeps.',
  ),
  /** `''` where the embedded store keeps its own. */
  sealingKeyFile: setting(
    readableFile,
    '',
    'File of 32 bytes, raw or in base64, that seals signing keys; the same on all machines that share a PostgreSQL, and needed there.',
  ),
  fleetStalenessMs: setting(
    integerBetween(2_000, 600_000),
    10_000,
    'Time without a confirmed heartbeat after which a machine no longer trusts its keys.',
  ),
  fleetWhenStoreIsAway: setting(
    z.enum(['refuse', 'serve'], 'must be refuse or serve'),
    'refuse',
    'Calls beyond that time: `refuse` them, or `serve` them with the keys as last known and the leases that are left.',
  ),
  fleetJournalBytes: setting(
    integerBetween(64 * 1024 * 1024, 2 ** 50),
    1024 * 1024 * 1024,
    'Bytes of rows of each worker that may wait on its disk for the shared PostgreSQL; beyond them inferences get 503.',
  ),
  logLevel: setting(
    z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`),
    'info',
    'Least severity that is logged.',
  ),
  logCalls: setting(
    z.enum(LOGGED_CALLS, `must be one of ${LOGGED_CALLS.join(', ')}`),
    'failures',
    'Which single calls the log tells: `none`, `failures` or `all`.',
  ),
  native: setting(
    z.enum(['auto', 'newer'], 'must be auto or newer'),
    'auto',
    'Build of the native server: `auto` takes the one for the running Node, `newer` the newer one, which needs glibc 2.38.',
  ),
  seedItems: setting(integerBetween(0, 10_000_000), 0, 'Items to have been created at the end of the start.'),
  tlsKey: setting(readableFile, '', 'TLS key, PEM file.'),
  tlsCert: setting(readableFile, '', 'TLS certificate chain, PEM file.'),
  corsOrigins: setting(origins, [], 'Origins whose pages may call; `*` for all. CORS is off without any.'),
  bodyLimit: setting(integerBetween(1, 64 * MIB), 64 * KIB, 'Most bytes of a request body.'),
  bodyMemory: setting(
    integerBetween(16 * MIB, 16 * 1024 * MIB),
    1024 * MIB,
    'Bytes that request bodies under way may take in a worker, a quarter of them those of one organization or address.',
  ),
  callDeadlineMs: setting(
    integerBetween(100, 3_600_000),
    30_000,
    'Most time for a call, from its parsed head to its last byte, without the time in which a slow reader is behind.',
  ),
  drainDeadlineMs: setting(
    integerBetween(0, 3_600_000),
    10_000,
    'Most time to finish what is under way after SIGTERM.',
  ),
  workerSilenceMs: setting(
    integerBetween(1_000, 3_600_000),
    15_000,
    'Time without a sign of life after which a worker is ended and replaced.',
  ),
  maxInFlight: setting(
    integerBetween(1, 1_000_000),
    10_000,
    'Complete requests in flight per worker beyond which new ones get 503.',
  ),
  maxConnections: setting(
    autoOrInteger(integerBetween(1, 10_000_000)),
    'auto',
    'Open connections per worker beyond which new ones are closed; by default what the limit of open files leaves.',
  ),
  itemStorageBytes: setting(
    integerBetween(0, Number.MAX_SAFE_INTEGER),
    4 * GIB,
    'Most bytes of all items together, as JSON; beyond it new ones get 503.',
  ),
  fileStorageFiles: setting(
    integerBetween(0, Number.MAX_SAFE_INTEGER),
    100_000,
    'Most files of an organization.',
  ),
  fileStorageBytes: setting(
    integerBetween(0, Number.MAX_SAFE_INTEGER),
    10 * GIB,
    'Most bytes of an organization’s files together.',
  ),
  diskReserveBytes: setting(
    integerBetween(0, Number.MAX_SAFE_INTEGER),
    256 * MIB,
    'Bytes of the disk that stay free: uploads and new items that would need them get 503; 0 for none.',
  ),
  practice: setting(
    z.enum(['open', 'keyed', 'off'], 'must be open, keyed or off'),
    'open',
    'The practice API for anybody (`open`), for callers with a key (`keyed`) or not at all (`off`).',
  ),
  hashSalt: setting(nonEmptyText, 'load-test', 'Salt of the hash operation.'),
  hashQueueRounds: setting(
    integerBetween(1, 1_000_000_000),
    4_000_000,
    'PBKDF2 rounds that may wait per pool thread; about a second of work.',
  ),
  reportSeed: setting<number | null>(
    integerBetween(0, 0xffff_ffff),
    null,
    'Seed of the report’s delays, for runs that can be repeated.',
  ),
  metrics: setting(
    metricsPlace,
    'on',
    '`on` serves /metrics beside the API, `off` not at all, host:port elsewhere.',
  ),
  console: setting(onOrOff, true, 'Serve the console, the page in a browser at /console.'),
  consoleListen: setting(
    ownPlace,
    '',
    'Serve the console at this host:port, with the API that it calls, and no longer beside the API.',
  ),
  allowChunked: setting(
    onOrOff,
    false,
    'Keep connections behind chunked request bodies; only where a strict proxy has parsed them.',
  ),
  trustedProxies: setting(
    addresses,
    [],
    'Addresses or CIDR ranges whose X-Forwarded-For counts, for operations that ask who calls.',
  ),
  /** `''` when not set. */
  publicUrl: setting(publicUrl, '', 'Base URL under which callers reach the server, for links in answers.'),
  /** A credential; never logged. `''` when not set. */
  apiKey: setting(
    credential,
    '',
    'A fixed API key of at least 32 characters, for trials; it is disabled when the setting changes or goes.',
    'value',
  ),
  /** A credential; never logged. `''` when not set. */
  managementKey: setting(
    credential,
    '',
    'A fixed management key of at least 32 characters, for trials; it is disabled when the setting changes or goes.',
    'value',
  ),
  allowLoopbackIssuers: setting(
    onOrOff,
    false,
    'Accept identity providers on this machine, also without TLS; for trials.',
  ),
  allowLoopbackFiles: setting(
    onOrOff,
    false,
    'Fetch files that requests name by an address also from this machine; for trials.',
  ),
  exchangesPerMinute: setting(
    integerBetween(0, 60_000_000),
    600,
    'Token exchanges per minute and client address, over all workers; 0 for any number.',
  ),
  exchangeBurst: setting(
    integerBetween(1, 1_000_000),
    100,
    'Token exchanges that a client address may make at once.',
  ),
  signingKeyDays: setting(
    integerBetween(1, 3650),
    30,
    'Days for which a key signs access tokens before the next takes over.',
  ),
  ledgerDays: setting(
    integerBetween(1, 36_500),
    90,
    'Days for which the ledger keeps the row of a call; what keys and organizations have spent stays.',
  ),
  /** `''` when nothing is exported. */
  otlpEndpoint: setting(
    publicUrl,
    '',
    'Base URL of an OpenTelemetry collector (OTLP over HTTP) that gets traces and metrics of inferences.',
  ),
  /** `off`, or where the control listener of the lab listens. */
  lab: setting(
    labPlace,
    'off',
    `Control listener of the lab: \`off\`, \`on\` (${LAB_ADDRESS}) or host:port.`,
  ),
  labOpen: setting(
    onOrOff,
    false,
    'Let the lab listen on an address that other machines reach; it has no authentication.',
  ),
  labFaults: setting(onOrOff, false, 'Let the lab make faults on purpose, and obey its request headers.'),
  /** In words: `src/lab/delay-shape.ts` reads them. */
  reportDelays: setting(
    delays,
    'random',
    'Delays of the report: `random`, `quasi`, `constant 200`, `uniform 50 150`, `log-normal 300 900`, `bimodal 100 2000 0.05` or `load 50 2`.',
  ),
})

/** The settings that come from the environment or the file. */
export type Settings = {
  readonly [K in keyof typeof SETTINGS]: (typeof SETTINGS)[K] extends SettingDefinition<infer T> ? T : never
}

/** Where a value comes from; a flag of the command line wins over all. */
export type SettingSource = 'default' | 'environment' | 'file' | 'flag'
