/** The import table of the architecture page, and what goes with it, as data. */

/** What a place may import: everything under `to`, or types of it only. */
export interface Allowance {
  readonly to: string
  readonly typesOnly?: true
}

export interface FolderRule {
  /** A folder (ends in `/`) or a file. `*` stands for one name, so that features stay apart. */
  readonly place: string
  readonly may: readonly Allowance[]
}

const BASE = { to: 'src/base/' }
/** The ports, not what stands behind them. */
const STORE_PORTS: readonly Allowance[] = [
  { to: 'src/store/store.ts' },
  { to: 'src/store/account-store.ts' },
  { to: 'src/store/federation-store.ts' },
  { to: 'src/store/ledger-store.ts' },
  { to: 'src/store/file-store.ts' },
  { to: 'src/store/scim-store.ts' },
  { to: 'src/store/spool.ts' },
]
const EVERYTHING = { to: '' }

/** Arrows point down only. Files of one place may always import each other. */
export const FOLDERS: readonly FolderRule[] = [
  { place: 'workers/', may: [] },
  { place: 'src/base/', may: [{ to: 'workers/tasks.ts', typesOnly: true }] },
  { place: 'src/transport/', may: [BASE] },
  { place: 'src/upstream/', may: [BASE] },
  { place: 'src/store/', may: [BASE] },
  { place: 'src/stats/', may: [BASE] },
  { place: 'src/http/', may: [BASE, { to: 'src/transport/exchange.ts', typesOnly: true }] },
  { place: 'src/identity/', may: [BASE, ...STORE_PORTS] },
  { place: 'src/limits/', may: [BASE, ...STORE_PORTS] },
  {
    place: 'src/gateway/',
    may: [BASE, ...STORE_PORTS, { to: 'src/upstream/' }, { to: 'src/identity/' }, { to: 'src/limits/' }],
  },
  {
    place: 'src/federation/',
    may: [BASE, ...STORE_PORTS, { to: 'src/upstream/' }, { to: 'src/identity/' }, { to: 'src/limits/' }],
  },
  // What several inference operations say alike; features may not import each other.
  { place: 'src/wire/', may: [BASE, { to: 'src/http/' }, { to: 'src/gateway/' }] },
  {
    place: 'src/features/*/',
    may: [
      BASE,
      ...STORE_PORTS,
      { to: 'src/http/' },
      { to: 'src/wire/' },
      { to: 'src/identity/' },
      { to: 'src/limits/' },
      { to: 'src/gateway/' },
      { to: 'src/federation/' },
      { to: 'src/stats/' },
    ],
  },
  {
    place: 'src/app.ts',
    may: [
      BASE,
      ...STORE_PORTS,
      { to: 'src/features/' },
      { to: 'src/http/' },
      { to: 'src/gateway/catalog.ts', typesOnly: true },
      { to: 'src/gateway/plan.ts', typesOnly: true },
      { to: 'src/wire/', typesOnly: true },
    ],
  },
  { place: 'src/config.ts', may: [BASE, { to: 'src/config/' }, { to: 'src/gateway/configuration.ts' }] },
  {
    place: 'src/config/',
    may: [BASE, { to: 'src/gateway/configuration.ts' }, { to: 'src/lab/delay-shape.ts' }],
  },
  {
    place: 'src/lab/',
    may: [BASE, { to: 'src/stats/' }, { to: 'src/transport/exchange.ts' }],
  },
  // A client of the gateway and a provider for it: what it judges it may not share with whom it judges.
  { place: 'src/drill/', may: [BASE] },
  { place: 'src/runtime/', may: [EVERYTHING] },
  { place: 'src/main.ts', may: [EVERYTHING] },
]

export interface LibraryRule {
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
  piscina: { owners: ['src/runtime/pool.ts'] },
  lmdb: { owners: ['src/store/lmdb/'] },
  pino: { owners: ['src/base/log.ts'] },
  '@marcbachmann/cel-js': { owners: ['workers/cel.ts'] },
  jose: { owners: ['src/identity/', 'src/federation/'] },
  yaml: { owners: ['src/config.ts'] },
  'mpg123-decoder': { owners: ['src/gateway/providers/simulated/audio/mp3.ts'] },
  'wasm-media-encoders': { owners: ['src/gateway/providers/simulated/audio/mp3.ts'] },
  ...owned(OPEN_TELEMETRY, 'src/runtime/telemetry.ts'),
  'hdr-histogram-js': { owners: ['src/lab/control/hdr-encoding.ts'] },
  // Wherever a schema lives: not below http, where bytes and counters are.
  zod: {
    owners: [
      'src/config.ts',
      'src/config/',
      'src/app.ts',
      'src/http/',
      'src/wire/',
      'src/features/',
      'src/gateway/',
      'src/federation/',
      'src/identity/',
      'src/limits/',
      'src/runtime/',
      'src/lab/control/',
    ],
  },
  // Both ends of the process group: who forks, and who is forked.
  'node:cluster': { owners: ['src/runtime/supervisor.ts', 'src/runtime/worker.ts'] },
  'node:worker_threads': { owners: ['workers/', 'src/runtime/pool.ts'] },
  'node:child_process': { owners: ['src/runtime/'] },
}

export interface Exception {
  readonly place: string
  readonly reason: string
}

/** The only default export: the pool calls what a module exports by default. */
export const DEFAULT_EXPORTS: readonly Exception[] = [
  { place: 'workers/thread.ts', reason: 'a pool thread runs the default export of the file it is given' },
]

/** Who touches `process.env` without being `config.ts`. */
export const ENVIRONMENT: readonly (Exception & { readonly use: 'handed over' | 'written' })[] = [
  {
    place: 'src/main.ts',
    use: 'handed over',
    reason: 'config.ts gets the environment as an argument, so that tests can give it another',
  },
  {
    place: 'src/runtime/worker.ts',
    use: 'written',
    reason: 'the native module reads UWS_HTTP_MAX_HEADERS_SIZE from there while it is loaded',
  },
]

/** Import cycles that exist for types alone; no module waits for another at run time. */
export const TYPE_CYCLES: readonly Exception[] = [
  {
    place: 'src/gateway/',
    reason: 'an endpoint of the catalogue holds its provider, and a call of a provider names its endpoint',
  },
  { place: 'workers/', reason: 'a task names its input and output with the types of the list it stands in' },
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
