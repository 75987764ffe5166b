/** Which folder may import which, and what goes with it, as data. */

/** What a place may import: everything under `to`, or types of it only. */
export interface Allowance {
  readonly to: string
  readonly typesOnly?: true
}

export interface FolderRule {
  /** A folder (ends in `/`) or a file. `*` stands for one name, so that features stay apart. */
  readonly place: string
  /** What stands there, in half a sentence; the table in docs/architecture.md is made of it. */
  readonly says: string
  readonly may: readonly Allowance[]
}

const BASE = { to: 'src/base/' }
const FORMATS = { to: 'src/gateway/formats/' }
const FORMAT_TYPES = { to: 'src/gateway/formats/', typesOnly: true } as const
const PROVIDER_PORT = { to: 'src/gateway/providers/port/' }
/** What a call and its end are; how failures are read stays with the providers. */
const PROVIDER_TYPES = { to: 'src/gateway/providers/port/provider.ts', typesOnly: true } as const
const CATALOG_TYPES = { to: 'src/gateway/catalog/', typesOnly: true } as const
const EVERYTHING: readonly Allowance[] = [{ to: 'src/' }]

/** The ports of the named stores with what they throw, not what stands behind them. */
function stores(...names: readonly string[]): Allowance[] {
  return names.map((name) => ({ to: `src/store/${name}.ts` }))
}

/** Types of those ports alone. */
function storeTypes(...names: readonly string[]): Allowance[] {
  return stores(...names).map((port) => ({ ...port, typesOnly: true }))
}

/** Arrows point down only. Files of one place may always import each other. Every allowance has a file that uses it. */
export const FOLDERS: readonly FolderRule[] = [
  { place: 'workers/', says: 'tasks that a pool thread runs: PBKDF2, conditions, token counts', may: [] },
  {
    place: 'src/base/',
    says: 'what everybody needs and that needs nobody: faults, clock, ids, money, log',
    may: [],
  },
  { place: 'src/transport/', says: 'the native edge: sockets, framing, answers', may: [BASE] },
  { place: 'src/upstream/', says: 'the HTTP client, the address guard, event streams', may: [BASE] },
  { place: 'src/store/', says: 'the store ports, and LMDB and files behind them', may: [BASE] },
  {
    place: 'src/cpu-pool/',
    says: 'the pool of threads and its queue',
    may: [BASE, { to: 'workers/tasks.ts', typesOnly: true }],
  },
  {
    place: 'src/telemetry/counters/',
    says: 'what each worker counts',
    may: [BASE, { to: 'src/cpu-pool/pool-snapshot.ts', typesOnly: true }],
  },
  {
    place: 'src/telemetry/prometheus/',
    says: 'the counters as Prometheus text, and the address that serves it',
    may: [BASE, { to: 'src/telemetry/counters/' }],
  },
  {
    place: 'src/telemetry/opentelemetry/',
    says: 'generations as spans and measurements for a collector',
    may: [BASE, FORMAT_TYPES, { to: 'src/gateway/run/generation.ts', typesOnly: true }],
  },
  {
    place: 'src/http/',
    says: 'HTTP without business: endpoints, dispatch, bodies, parameters, dialects, OpenAPI',
    may: [BASE, { to: 'src/transport/exchange.ts', typesOnly: true }],
  },
  { place: 'src/limits/', says: 'token buckets, quotas and their leases', may: [BASE] },
  {
    place: 'src/ledger/',
    says: 'journals and their intake into the ledger',
    may: [BASE, ...storeTypes('ledger-store'), { to: 'src/store/ledger/' }],
  },
  {
    place: 'src/identity/',
    says: 'keys, access tokens, who a caller is and what it may',
    may: [BASE, ...storeTypes('account-store', 'federation-store', 'scim-store')],
  },
  {
    place: 'src/directory/',
    says: 'SCIM group mappings',
    may: [BASE, ...storeTypes('account-store', 'scim-store')],
  },
  {
    place: 'src/federation/',
    says: 'workload identity: issuers, policies, conditions, the exchange',
    may: [
      BASE,
      ...storeTypes('account-store'),
      ...stores('federation-store'),
      { to: 'src/upstream/' },
      { to: 'src/identity/' },
    ],
  },
  {
    place: 'src/gateway/formats/',
    says: 'requests, events and answers as the gateway holds them',
    may: [BASE],
  },
  {
    place: 'src/gateway/providers/port/',
    says: 'the port to a provider, and how provider failures are read',
    may: [BASE, FORMATS, { to: 'src/upstream/port.ts', typesOnly: true }],
  },
  {
    place: 'src/gateway/providers/http/',
    says: 'what providers over HTTP share: requests, answers',
    may: [BASE, PROVIDER_PORT, { to: 'src/upstream/' }],
  },
  {
    place: 'src/gateway/translation/',
    says: 'chat over messages and messages over chat',
    may: [BASE, FORMATS, PROVIDER_PORT],
  },
  {
    place: 'src/gateway/providers/openai/',
    says: 'servers that speak the chat format; where their streams are parsed',
    may: [BASE, FORMATS, PROVIDER_PORT, { to: 'src/gateway/providers/http/' }, { to: 'src/upstream/' }],
  },
  {
    place: 'src/gateway/providers/anthropic/',
    says: 'servers that speak the messages format; where their streams are parsed',
    may: [
      BASE,
      FORMATS,
      PROVIDER_PORT,
      { to: 'src/gateway/providers/http/' },
      { to: 'src/gateway/translation/' },
      { to: 'src/upstream/' },
    ],
  },
  {
    place: 'src/gateway/catalog/',
    says: 'models, endpoints, providers and prices, and the configuration they come from',
    may: [BASE, PROVIDER_TYPES, { to: 'src/upstream/port.ts', typesOnly: true }],
  },
  {
    place: 'src/gateway/metering/',
    says: 'how each format is run and what an answer consumed, counted or estimated',
    may: [FORMATS, PROVIDER_TYPES, CATALOG_TYPES],
  },
  {
    place: 'src/gateway/pricing/',
    says: 'what an answer costs, and what is set aside for it before',
    may: [BASE, FORMATS, CATALOG_TYPES, { to: 'src/gateway/metering/' }],
  },
  {
    place: 'src/gateway/health/',
    says: 'breakers and what is known of each endpoint',
    may: [BASE, CATALOG_TYPES, PROVIDER_TYPES],
  },
  {
    place: 'src/gateway/routing/',
    says: 'which endpoints may serve a call, in which order, and when it is tried again',
    may: [BASE, FORMAT_TYPES, CATALOG_TYPES, PROVIDER_TYPES, { to: 'src/gateway/health/', typesOnly: true }],
  },
  {
    place: 'src/gateway/run/',
    says: 'one inference from its plan to its end: attempts, events, settlement',
    may: [
      BASE,
      FORMAT_TYPES,
      CATALOG_TYPES,
      PROVIDER_TYPES,
      { to: 'src/gateway/metering/' },
      { to: 'src/gateway/pricing/' },
      { to: 'src/gateway/health/' },
      { to: 'src/gateway/routing/' },
    ],
  },
  {
    place: 'src/gateway/accounting/',
    says: 'admission against limits and credits, settlement, ledger rows',
    may: [
      BASE,
      ...storeTypes('account-store'),
      ...stores('ledger-store'),
      FORMAT_TYPES,
      { to: 'src/limits/' },
      { to: 'src/gateway/pricing/' },
      { to: 'src/gateway/run/', typesOnly: true },
    ],
  },
  {
    place: 'src/gateway/gateway.ts',
    says: 'the gateway as the rest of the house sees it: plan, then run',
    may: [
      BASE,
      FORMAT_TYPES,
      CATALOG_TYPES,
      PROVIDER_TYPES,
      { to: 'src/gateway/metering/' },
      { to: 'src/gateway/routing/' },
      { to: 'src/gateway/run/' },
    ],
  },
  {
    place: 'src/simulator/',
    says: 'simulated models: a provider like any other',
    may: [BASE, FORMATS, PROVIDER_TYPES],
  },
  {
    place: 'src/inference-http/',
    says: 'what the inference operations share on the HTTP side',
    may: [BASE, { to: 'src/http/' }, { to: 'src/gateway/' }],
  },
  {
    place: 'src/features/*/',
    says: 'one folder per resource: schemas, endpoints, encoding; folders never import each other',
    may: [
      BASE,
      ...storeTypes('store', 'file-store', 'spool'),
      ...stores('account-store', 'federation-store', 'ledger-store', 'scim-store'),
      { to: 'src/http/' },
      { to: 'src/inference-http/' },
      { to: 'src/identity/' },
      { to: 'src/directory/' },
      { to: 'src/gateway/' },
      { to: 'src/federation/' },
    ],
  },
  {
    place: 'src/app.ts',
    says: 'ports in, endpoints out: the list of all operations',
    may: [
      BASE,
      ...storeTypes('store', 'ledger-store'),
      { to: 'src/features/' },
      { to: 'src/http/' },
      CATALOG_TYPES,
      { to: 'src/gateway/routing/', typesOnly: true },
      { to: 'src/inference-http/', typesOnly: true },
      { to: 'src/federation/admin/ports.ts', typesOnly: true },
    ],
  },
  {
    place: 'src/lab/',
    says: 'the load-test target that knows the truth: recorder, verdicts, faults on purpose',
    may: [
      BASE,
      { to: 'src/telemetry/counters/', typesOnly: true },
      { to: 'src/telemetry/prometheus/' },
      { to: 'src/transport/exchange.ts' },
    ],
  },
  // A client of the gateway and a provider for it: what it judges it may not share with whom it judges.
  {
    place: 'src/drill/',
    says: 'a caller and a faulty provider that judge the gateway between them',
    may: [],
  },
  {
    place: 'src/config/',
    says: 'the only reader of the environment and of the configuration file',
    may: [BASE, { to: 'src/gateway/catalog/configuration.ts' }, { to: 'src/lab/delay-shape.ts' }],
  },
  {
    place: 'src/process/ipc/',
    says: 'the messages between supervisor and workers',
    may: [
      BASE,
      { to: 'src/config/config.ts', typesOnly: true },
      { to: 'src/gateway/catalog/configuration.ts', typesOnly: true },
      { to: 'src/gateway/routing/news.ts', typesOnly: true },
      { to: 'src/lab/command.ts', typesOnly: true },
      { to: 'src/limits/', typesOnly: true },
      { to: 'src/telemetry/counters/', typesOnly: true },
    ],
  },
  {
    place: 'src/compose/',
    says: 'the only place that chooses implementations and connects them',
    may: [
      BASE,
      { to: 'src/store/' },
      { to: 'src/config/' },
      { to: 'src/http/' },
      { to: 'src/identity/' },
      { to: 'src/federation/' },
      { to: 'src/limits/' },
      { to: 'src/ledger/' },
      { to: 'src/gateway/' },
      { to: 'src/simulator/' },
      { to: 'src/upstream/' },
      { to: 'src/telemetry/' },
      { to: 'src/cpu-pool/' },
      { to: 'src/lab/' },
      { to: 'src/features/' },
      { to: 'src/app.ts' },
      { to: 'src/transport/exchange.ts', typesOnly: true },
      { to: 'src/process/ipc/', typesOnly: true },
    ],
  },
  {
    place: 'src/process/',
    says: 'supervisor, workers, signals, restarts',
    may: [
      BASE,
      ...storeTypes('store', 'ledger-store'),
      { to: 'src/store/ledger/' },
      { to: 'src/config/' },
      { to: 'src/compose/' },
      { to: 'src/identity/' },
      { to: 'src/limits/' },
      { to: 'src/ledger/' },
      { to: 'src/gateway/accounting/' },
      { to: 'src/gateway/routing/', typesOnly: true },
      { to: 'src/telemetry/counters/', typesOnly: true },
      { to: 'src/telemetry/prometheus/' },
      { to: 'src/lab/' },
      { to: 'src/app.ts' },
      { to: 'src/transport/uws.ts' },
    ],
  },
  {
    place: 'src/cli/',
    says: 'one file per word of the command line',
    may: [
      BASE,
      ...storeTypes('account-store'),
      ...stores('federation-store'),
      { to: 'src/config/', typesOnly: true },
      { to: 'src/compose/' },
      { to: 'src/identity/' },
      { to: 'src/federation/' },
      { to: 'src/gateway/catalog/' },
      PROVIDER_TYPES,
      { to: 'src/gateway/routing/' },
      { to: 'src/gateway/translation/' },
      { to: 'src/drill/' },
      { to: 'src/http/dialects/' },
      { to: 'src/inference-http/' },
    ],
  },
  { place: 'src/main.ts', says: 'the entry of the command line', may: EVERYTHING },
]

interface LibraryRule {
  /** Places that may load it. */
  readonly owners: readonly string[]
  /** Further places that may use its types. */
  readonly types?: readonly string[]
}

const OPEN_TELEMETRY = [
  '@opentelemetry/api',
  '@opentelemetry/exporter-metrics-otlp-http',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-metrics',
  '@opentelemetry/sdk-trace-base',
]

function owned(libraries: readonly string[], owner: string): Record<string, LibraryRule> {
  return Object.fromEntries(libraries.map((library) => [library, { owners: [owner] }]))
}

/** One owner per library. A library that is not listed has none and may not be imported. */
export const LIBRARIES: Readonly<Record<string, LibraryRule>> = {
  'uWebSockets.js': { owners: ['src/transport/uws.ts'], types: ['src/transport/'] },
  // Loaded by a pool thread when a provider first sends no figures.
  'gpt-tokenizer': { owners: ['workers/count-tokens.ts'] },
  undici: { owners: ['src/upstream/client.ts'] },
  piscina: { owners: ['src/cpu-pool/pool.ts'] },
  lmdb: { owners: ['src/store/lmdb/'] },
  pino: { owners: ['src/base/log.ts'] },
  '@marcbachmann/cel-js': { owners: ['workers/cel/'] },
  jose: { owners: ['src/identity/', 'src/federation/'] },
  yaml: { owners: ['src/config/'] },
  // Their files are served to browsers; nothing of them runs here.
  'swagger-ui-dist': { owners: ['src/features/docs/viewer.ts'] },
  echarts: { owners: ['src/lab/page/page.ts'] },
  'mpg123-decoder': { owners: ['src/simulator/audio/mp3.ts'] },
  'wasm-media-encoders': { owners: ['src/simulator/audio/mp3.ts'] },
  ...owned(OPEN_TELEMETRY, 'src/telemetry/opentelemetry/telemetry.ts'),
  'hdr-histogram-js': { owners: ['src/lab/control/hdr-encoding.ts'] },
  // Wherever a schema lives: not below http, where bytes and counters are.
  zod: {
    owners: [
      'src/config/',
      'src/http/',
      'src/inference-http/',
      'src/features/',
      'src/gateway/catalog/',
      'src/simulator/',
      'src/lab/control/',
    ],
  },
  // Both ends of the process group: who forks, and who is forked.
  'node:cluster': { owners: ['src/process/supervisor.ts', 'src/process/worker.ts'] },
  'node:worker_threads': { owners: ['workers/thread.ts'] },
  'node:child_process': { owners: ['src/process/', 'src/base/server-process.ts'] },
}

interface Exception {
  readonly place: string
  readonly reason: string
}

/** The only default export: the pool calls what a module exports by default. */
export const DEFAULT_EXPORTS: readonly Exception[] = [
  { place: 'workers/thread.ts', reason: 'a pool thread runs the default export of the file it is given' },
]

/** Who touches `process.env` without standing in `src/config`. */
export const ENVIRONMENT: readonly (Exception & { readonly use: 'handed over' | 'written' })[] = [
  {
    place: 'src/main.ts',
    use: 'handed over',
    reason: 'the configuration gets the environment as an argument, so that tests can give it another',
  },
  {
    place: 'src/process/worker.ts',
    use: 'written',
    reason: 'the native module reads UWS_HTTP_MAX_HEADERS_SIZE from there while it is loaded',
  },
]

/** Drawers: names that say nothing about what lies inside. */
export const DRAWERS: ReadonlySet<string> = new Set([
  'util',
  'utils',
  'helper',
  'helpers',
  'common',
  'manager',
  'misc',
])

/**
 * The same for what measures and tests the product. The harness knows no more of it than `src/base`; the support of
 * the tests puts parts of it together in memory, and never what stands on top: composition, processes, command line.
 */
export const APPARATUS: readonly FolderRule[] = [
  {
    place: 'bench/harness/',
    says: 'starts the server, frames answers, drives HTTP and event streams, pins, reads /proc, counts',
    may: [BASE],
  },
  {
    place: 'bench/performance/',
    says: 'load scenarios of our server and of its floors, in interleaved rounds',
    may: [
      BASE,
      { to: 'bench/harness/' },
      { to: 'src/federation/refusal.ts', typesOnly: true },
      { to: 'workers/tasks.ts', typesOnly: true },
    ],
  },
  {
    place: 'bench/loadlab/',
    says: 'which load tool can be believed: tools, runner, profiles, reports',
    may: [BASE, { to: 'bench/harness/' }, { to: 'bench/performance/gateway/' }, { to: 'src/lab/' }],
  },
  {
    place: 'bench/trials/',
    says: 'what has to hold when processes are killed, readers are slow and callers leave',
    may: [
      BASE,
      { to: 'bench/harness/' },
      { to: 'bench/performance/' },
      { to: 'src/store/' },
      { to: 'src/ledger/journal/' },
      { to: 'workers/' },
    ],
  },
  { place: 'bench/run.ts', says: 'the command line of `npm run bench`', may: [{ to: 'bench/' }] },
  {
    place: 'test/support/',
    says: 'servers, clients, providers and data of the tests',
    may: [
      BASE,
      { to: 'workers/tasks.ts', typesOnly: true },
      { to: 'src/transport/' },
      { to: 'src/upstream/' },
      { to: 'src/store/' },
      { to: 'src/cpu-pool/' },
      { to: 'src/telemetry/counters/', typesOnly: true },
      { to: 'src/http/' },
      { to: 'src/limits/' },
      { to: 'src/identity/' },
      { to: 'src/federation/' },
      { to: 'src/gateway/' },
      { to: 'src/features/' },
      { to: 'src/lab/truth.ts', typesOnly: true },
      { to: 'src/drill/' },
      { to: 'bench/harness/' },
    ],
  },
  { place: 'test/architecture/', says: 'the import rules and what checks them', may: [] },
  { place: 'test/documents/', says: 'citations and links of the documents', may: [] },
  {
    place: 'test/conformance/',
    says: 'suites that every implementation of a port passes',
    may: [
      { to: 'src/store/' },
      { to: 'src/transport/exchange.ts', typesOnly: true },
      { to: 'test/support/' },
    ],
  },
  {
    place: 'test/',
    says: 'the tests; they may look at everything, and nothing but tests looks at them',
    may: [{ to: 'src/' }, { to: 'workers/' }, { to: 'bench/' }],
  },
]
