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

/**
 * A row: a place, what stands there, and what it may import, separated by blanks; `type:` before a path allows
 * types of it only.
 */
function rule(place: string, says: string, may: string): FolderRule {
  const allowance = (word: string): Allowance =>
    word.startsWith('type:') ? { to: word.slice('type:'.length), typesOnly: true } : { to: word }
  return { place, says, may: may.split(/\s+/).filter(Boolean).map(allowance) }
}

/** Arrows point down only. Files of one place may always import each other. Every allowance has a file that uses it. */
export const FOLDERS: readonly FolderRule[] = [
  rule('workers/', 'tasks that a pool thread runs: PBKDF2, conditions, token counts, pages and PDFs', ''),
  rule('src/base/', 'what everybody needs and that needs nobody: faults, clock, ids, money, log', ''),
  rule('src/transport/', 'the native edge: sockets, framing, answers', 'src/base/'),
  rule('src/upstream/', 'the HTTP client, the address guard, event streams', 'src/base/'),
  rule(
    'src/store/',
    'the store ports, and LMDB, PostgreSQL and files behind them',
    'src/base/ type:src/limits/quota-bank.ts',
  ),
  rule('src/cpu-pool/', 'the pool of threads and its queue', 'src/base/ workers/tasks.ts'),
  rule('src/telemetry/counters/', 'what each worker counts', 'src/base/ type:src/cpu-pool/pool.ts'),
  rule(
    'src/telemetry/prometheus/',
    'the counters as Prometheus text, and the address that serves it',
    'src/base/ type:src/telemetry/counters/',
  ),
  rule(
    'src/telemetry/opentelemetry/',
    'generations as spans and measurements for a collector',
    'src/base/ src/gateway/formats/ type:src/gateway/run/generation.ts',
  ),
  rule(
    'src/http/',
    'HTTP without business: endpoints, dispatch, bodies, parameters, dialects, OpenAPI',
    'src/base/ type:src/transport/exchange.ts',
  ),
  rule(
    'src/telemetry/live/',
    'the live feed: what workers count for it, and how the supervisor merges it',
    'src/base/ type:src/store/ledger-store.ts src/store/ledger/generation-time.ts',
  ),
  rule('src/limits/', 'token buckets, quotas and their leases', 'src/base/'),
  rule('src/ledger/', 'journals and their ingest into the ledger', 'src/base/ src/store/ledger/'),
  rule(
    'src/identity/',
    'keys, access tokens, who a caller is and what it may',
    `src/base/ type:src/store/account-store.ts type:src/store/federation-store.ts
     type:src/store/directory-store.ts src/store/provider-key-store.ts type:src/store/scim-store.ts
     type:src/store/session-store.ts`,
  ),
  rule(
    'src/directory/',
    'SCIM: group mappings, and documents of users and groups',
    'src/base/ type:src/store/account-store.ts type:src/store/scim-store.ts type:src/store/directory-store.ts',
  ),
  rule(
    'src/federation/',
    'workload identity: issuers, policies, conditions, the exchange',
    `src/base/ type:workers/tasks.ts type:src/store/account-store.ts
     type:src/store/directory-store.ts src/store/federation-store.ts type:src/store/session-store.ts
     src/upstream/ src/identity/`,
  ),
  rule('src/gateway/formats/', 'requests, events and answers as the gateway holds them', 'src/base/'),
  rule(
    'src/gateway/providers/port/',
    'the port to a provider, and how provider failures are read',
    'src/base/ src/gateway/formats/ type:src/upstream/port.ts',
  ),
  rule(
    'src/gateway/providers/http/',
    'what providers over HTTP share: requests, answers',
    'src/base/ src/gateway/formats/ src/gateway/providers/port/ src/upstream/',
  ),
  rule(
    'src/gateway/translation/',
    'chat over messages and messages over chat',
    'src/base/ src/gateway/formats/ src/gateway/providers/port/',
  ),
  rule(
    'src/gateway/providers/audio/',
    'services of speech and transcription, and what all that speak or listen share',
    'src/base/ src/gateway/formats/ src/gateway/providers/port/ src/gateway/providers/http/',
  ),
  rule(
    'src/gateway/providers/openai/',
    'servers that speak the chat format; where their streams are parsed',
    `src/base/ src/gateway/formats/ src/gateway/providers/port/ src/gateway/providers/http/
     src/gateway/providers/audio/ src/upstream/repeated-event.ts`,
  ),
  rule(
    'src/gateway/providers/anthropic/',
    'servers that speak the messages format; where their streams are parsed',
    `src/base/ src/gateway/formats/ src/gateway/providers/port/ src/gateway/providers/http/
     src/gateway/translation/ type:src/upstream/port.ts src/upstream/repeated-event.ts`,
  ),
  rule('src/gateway/catalog/configuration/values.ts', 'schemas of single values of the file', 'src/base/'),
  rule('src/gateway/tools/port/', 'the port of a server tool', 'type:src/base/ type:src/gateway/formats/'),
  rule(
    'src/gateway/plugins/port/',
    'the port of a plugin',
    'type:src/base/ type:src/gateway/formats/ type:src/gateway/tools/port/',
  ),
  rule(
    'src/gateway/tools/bash/configuration.ts',
    'the sandbox in the file',
    'src/gateway/catalog/configuration/values.ts',
  ),
  rule(
    'src/gateway/tools/mcp/configuration.ts',
    'MCP servers in the file',
    'src/gateway/catalog/configuration/values.ts',
  ),
  rule(
    'src/gateway/tools/web-search/configuration.ts',
    'search engines in the file',
    'src/gateway/catalog/configuration/values.ts',
  ),
  rule(
    'src/gateway/tools/web-fetch/configuration.ts',
    'what may be read of the web',
    'src/gateway/catalog/configuration/values.ts',
  ),
  rule(
    'src/gateway/tools/image-generation/configuration.ts',
    'settings of the painter',
    'src/gateway/catalog/configuration/values.ts',
  ),
  rule(
    'src/gateway/tools/configuration.ts',
    'what the operator says of server tools',
    `src/base/ src/gateway/catalog/configuration/values.ts src/gateway/tools/bash/configuration.ts
     src/gateway/tools/mcp/configuration.ts src/gateway/tools/web-search/configuration.ts
     src/gateway/tools/web-fetch/configuration.ts
     src/gateway/tools/image-generation/configuration.ts`,
  ),
  rule(
    'src/gateway/plugins/configuration.ts',
    'what the operator says of plugins',
    'src/base/ type:src/gateway/formats/ src/gateway/catalog/configuration/values.ts',
  ),
  rule(
    'src/gateway/catalog/',
    'models, endpoints, providers and prices, and the configuration they come from',
    `src/base/ src/gateway/formats/ type:src/gateway/providers/port/provider.ts
     src/gateway/tools/configuration.ts src/gateway/tools/mcp/configuration.ts
     src/gateway/plugins/configuration.ts`,
  ),
  rule(
    'src/gateway/metering/',
    'how each format is run and what an answer consumed, counted or estimated',
    'type:src/base/ src/gateway/formats/ type:src/gateway/providers/port/provider.ts type:src/gateway/catalog/',
  ),
  rule(
    'src/gateway/pricing/',
    'what an answer costs, and what is set aside for it before',
    'src/base/ src/gateway/formats/ type:src/gateway/catalog/ src/gateway/metering/',
  ),
  rule(
    'src/gateway/health/',
    'breakers and what is known of each endpoint',
    'src/base/ type:src/gateway/catalog/ type:src/gateway/providers/port/provider.ts',
  ),
  rule(
    'src/gateway/routing/',
    'which endpoints may serve a call, and in which order',
    `src/base/ src/gateway/formats/ type:src/gateway/catalog/ src/gateway/catalog/own-accounts.ts
     type:src/gateway/health/ src/gateway/pricing/`,
  ),
  rule(
    'src/gateway/what-if/',
    'calls of the ledger under another configuration: their money, times and refusals',
    `src/base/ type:src/gateway/catalog/ type:src/gateway/formats/ src/gateway/metering/ src/gateway/pricing/
     src/gateway/health/ src/gateway/routing/ src/gateway/accounting/ledger-rows.ts
     type:src/store/ledger-store.ts`,
  ),
  rule(
    'src/gateway/files/',
    'files that requests name and answers come with',
    `src/base/ src/gateway/formats/ type:src/gateway/catalog/ type:src/gateway/metering/
     src/gateway/providers/port/ src/gateway/providers/http/ type:src/gateway/tools/port/`,
  ),
  rule(
    'src/gateway/run/',
    'one inference from its plan to its end: attempts and retries, events, settlement',
    `src/base/ src/gateway/formats/ type:src/gateway/catalog/ src/gateway/catalog/own-accounts.ts
     type:src/gateway/providers/port/provider.ts src/gateway/metering/ src/gateway/pricing/
     src/gateway/health/ src/gateway/routing/ src/gateway/files/ type:src/gateway/plugins/port/`,
  ),
  rule('src/gateway/web/port.ts', 'searching and reading the web', 'type:src/gateway/formats/'),
  rule(
    'src/gateway/web/',
    'search engines, pages, lists of domains: what tools and plugins of the web share',
    `src/base/ src/gateway/formats/ type:src/gateway/metering/ type:src/gateway/tools/port/
     type:src/upstream/`,
  ),
  rule(
    'src/gateway/tools/operator-terms.ts',
    'what the operator says of a tool, around it',
    'type:src/gateway/tools/port/',
  ),
  rule(
    'src/gateway/tools/nested/',
    'what models beneath a tool are asked',
    'src/gateway/formats/ type:src/gateway/tools/port/',
  ),
  rule(
    'src/gateway/tools/bash/',
    'commands in a sandbox: bubblewrap here, HTTP elsewhere',
    'type:src/base/ type:src/gateway/formats/ type:src/gateway/tools/port/ src/upstream/',
  ),
  rule(
    'src/gateway/tools/mcp/',
    'MCP servers: connections, commands, their tools',
    `src/base/ src/gateway/formats/ type:src/gateway/tools/port/ src/upstream/`,
  ),
  rule(
    'src/gateway/plugins/judge/',
    'a model that judges a text',
    'src/gateway/formats/ type:src/gateway/plugins/port/',
  ),
  rule(
    'src/gateway/plugins/routers/',
    'plugins that choose the model',
    `src/base/ src/gateway/formats/ type:src/gateway/plugins/port/ src/gateway/catalog/
     src/gateway/metering/ type:src/gateway/routing/ src/gateway/plugins/judge/`,
  ),
  rule(
    'src/gateway/tools/fusion/',
    'a panel of models and its judge',
    `src/gateway/formats/ type:src/gateway/catalog/ type:src/gateway/tools/port/ src/gateway/tools/nested/
     src/gateway/plugins/routers/`,
  ),
  rule(
    'src/gateway/tools/*/',
    'the server tools, each in a folder of its own',
    `src/base/ src/gateway/formats/ type:src/gateway/tools/port/ type:src/gateway/catalog/
     src/gateway/tools/nested/ src/gateway/web/`,
  ),
  rule(
    'src/gateway/plugins/*/',
    'the plugins, each in a folder of its own',
    `src/base/ src/gateway/formats/ type:src/gateway/plugins/port/ type:src/gateway/catalog/
     src/gateway/metering/ src/gateway/plugins/judge/ src/gateway/tools/fusion/
     src/gateway/tools/nested/ src/gateway/web/ type:src/upstream/`,
  ),
  rule(
    'src/gateway/loop/',
    'the loop of turns and server tools above the run',
    `src/base/ src/gateway/formats/ src/gateway/metering/ src/gateway/pricing/ src/gateway/files/
     type:src/gateway/providers/port/ type:src/gateway/routing/ type:src/gateway/run/
     type:src/gateway/gateway.ts type:src/gateway/tools/port/ type:src/gateway/plugins/port/
     src/gateway/tools/configuration.ts type:src/gateway/plugins/configuration.ts
     src/gateway/plugins/context-compression/ src/gateway/plugins/file-parser/
     src/gateway/translation/`,
  ),
  rule(
    'src/gateway/accounting/',
    'admission against limits and credits, settlement, ledger rows',
    `src/base/ type:src/store/account-store.ts src/store/ledger-store.ts src/gateway/formats/
     type:src/gateway/catalog/ src/gateway/catalog/own-accounts.ts src/limits/ src/gateway/pricing/
     type:src/gateway/routing/ src/gateway/routing/parameters.ts
     type:src/gateway/run/ type:src/gateway/loop/`,
  ),
  rule(
    'src/gateway/gateway.ts',
    'the gateway as the rest of the house sees it: plan, then run',
    `src/base/ type:src/gateway/formats/ type:src/gateway/catalog/
     type:src/gateway/providers/port/provider.ts src/gateway/metering/ src/gateway/routing/ src/gateway/files/
     src/gateway/run/`,
  ),
  rule(
    'src/simulator/',
    'simulated models: a provider like any other',
    `src/base/ src/gateway/formats/ src/gateway/providers/port/ type:src/gateway/web/port.ts
     src/tape/tape.ts src/tape/tape-file.ts`,
  ),
  rule(
    'src/tape/',
    'pace tapes: how streams came, recorded before a provider and compared',
    'src/upstream/event-stream-parser.ts',
  ),
  rule(
    'src/inference-http/',
    'what the inference operations share on the HTTP side',
    'src/base/ src/http/ src/gateway/',
  ),
  rule(
    'src/features/*/',
    'one folder per resource: schemas, endpoints, encoding; folders never import each other',
    `src/base/ type:src/store/store.ts type:src/store/file-store.ts type:src/store/spool.ts
     src/store/account-store.ts src/store/federation-store.ts src/store/fleet-view.ts
     type:src/store/fleet-failures.ts type:src/store/directory-store.ts src/store/ledger-store.ts src/store/provider-key-store.ts
     src/store/scim-store.ts type:src/store/session-store.ts src/http/ src/inference-http/ src/identity/
     src/directory/ src/gateway/
     src/federation/ src/telemetry/live/`,
  ),
  // Runs in browsers: it knows the server by its documented operations alone.
  rule('src/console/api/', 'calls of the API from the page, records and lists that it reads', ''),
  rule('src/console/kit/', 'what screens of the console are built of', 'type:src/console/api/'),
  rule(
    'src/console/',
    'the console, a page that runs in browsers: its frame, and a folder for each screen',
    '',
  ),
  rule('src/guide/', 'what pages of the documentation do in browsers: search, themes, copying', ''),
  rule(
    'src/app.ts',
    'ports in, endpoints out: the list of all operations',
    `src/base/ type:src/store/store.ts type:src/store/ledger-store.ts
     src/features/ src/http/ type:src/gateway/catalog/ type:src/gateway/routing/ type:src/inference-http/
     type:src/federation/admin/ports.ts type:src/federation/admin/sign-in-provider-service.ts
     type:src/identity/people.ts`,
  ),
  rule(
    'src/lab/',
    'the load-test target that knows the truth: recorder, verdicts, faults on purpose',
    'src/base/ type:src/telemetry/counters/ src/telemetry/prometheus/ type:src/transport/exchange.ts',
  ),
  // A client of the gateway and a provider for it: what it judges it may not share with whom it judges.
  rule('src/drill/verdict.ts', 'verdicts and scores of drills', ''),
  rule(
    'src/drill/fleet/',
    'machines, clusters of PostgreSQL and a TCP proxy that fails: for drills, trials and tests',
    'src/base/ src/drill/verdict.ts',
  ),
  rule('src/drill/', 'a caller and a faulty provider that judge the gateway between them', 'src/base/'),
  rule(
    'src/config/',
    'the only reader of the environment and of the configuration file',
    'src/base/ src/gateway/catalog/configuration.ts src/lab/delay-shape.ts',
  ),
  rule(
    'src/fleet/',
    'a machine among others: heartbeats, epochs, until when it may serve, the revocation barrier',
    'src/base/ type:src/store/membership.ts type:src/store/revocation-barrier.ts',
  ),
  rule(
    'src/process/ipc/',
    'the messages between supervisor and workers',
    `src/base/ type:src/config/config.ts type:src/fleet/standing.ts type:src/gateway/catalog/configuration.ts
     type:src/gateway/routing/routing-update.ts type:src/lab/lab-command.ts type:src/limits/
     type:src/telemetry/counters/ type:src/telemetry/live/`,
  ),
  rule(
    'src/compose/',
    'the only place that chooses implementations and connects them',
    `src/base/ src/store/ src/config/ src/http/ src/identity/ src/federation/ src/limits/ src/ledger/
     src/gateway/ src/inference-http/ src/simulator/ src/upstream/ src/telemetry/ src/cpu-pool/ src/lab/
     src/features/ src/fleet/ src/app.ts type:src/process/ipc/`,
  ),
  rule(
    'src/process/',
    'supervisor, workers, signals, restarts',
    `src/base/ type:src/store/store.ts type:src/store/ledger-store.ts type:src/store/ledger/
     src/store/replicated/replica-folder.ts src/store/lmdb/database-files.ts src/config/ src/compose/ src/identity/
     src/limits/ src/ledger/ type:src/gateway/routing/routing-update.ts
     type:src/telemetry/counters/ src/telemetry/live/ src/telemetry/prometheus/ src/lab/ src/app.ts src/transport/uws.ts
     src/transport/native-server.ts`,
  ),
  rule(
    'src/doctor/',
    'what a server needs of its machine and its neighbours, looked at without changing anything',
    `src/base/ src/config/ src/compose/ src/process/ src/transport/native-server.ts
     src/ledger/journal/segment-format.ts type:src/gateway/catalog/configuration.ts`,
  ),
  rule(
    'src/cli/',
    'one file per word of the command line',
    `src/base/ src/doctor/ type:src/store/account-store.ts src/store/federation-store.ts type:src/store/fleet-view.ts
     src/store/fleet-failures.ts type:src/store/transfer/transfer.ts src/config/ src/compose/ src/identity/ src/federation/ src/gateway/catalog/
     type:src/gateway/providers/port/provider.ts src/gateway/routing/ src/gateway/translation/ src/gateway/what-if/ src/drill/
     src/http/dialects/ src/inference-http/ type:src/features/generation/
     type:src/features/routing/ src/tape/`,
  ),
  rule(
    'src/command-line.ts',
    'the words of the command line, and the short commands',
    'src/base/ src/app.ts src/config/ src/compose/ src/process/ src/cli/',
  ),
  rule(
    'src/main.ts',
    'the entry of the program',
    'src/process/open-files.ts src/process/supported-node.ts src/command-line.ts',
  ),
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
  'uWebSockets.js': { owners: ['src/transport/native-server.ts'], types: ['src/transport/'] },
  '@btc-vision/uwebsockets.js': { owners: ['src/transport/native-server.ts'] },
  // Loaded by a pool thread when a provider first sends no figures.
  'gpt-tokenizer': { owners: ['workers/count-tokens.ts'] },
  // Loaded by the threads of documents, when the first one is read.
  linkedom: { owners: ['workers/documents/read-html.ts'] },
  '@mozilla/readability': { owners: ['workers/documents/read-html.ts'] },
  turndown: { owners: ['workers/documents/read-html.ts'] },
  jsonrepair: { owners: ['workers/documents/repair-json.ts'] },
  re2js: { owners: ['src/gateway/tools/tool-search/'] },
  unpdf: { owners: ['workers/documents/read-pdf.ts'] },
  '@modelcontextprotocol/client': {
    owners: ['src/gateway/tools/mcp/connect.ts'],
    types: ['src/gateway/tools/mcp/'],
  },
  undici: { owners: ['src/upstream/client.ts'] },
  piscina: { owners: ['src/cpu-pool/lane.ts'] },
  lmdb: { owners: ['src/store/lmdb/'] },
  pg: { owners: ['src/store/postgres/'] },
  pino: { owners: ['src/base/log.ts'] },
  '@marcbachmann/cel-js': { owners: ['workers/cel/'] },
  jose: { owners: ['src/identity/', 'src/federation/', 'src/cli/demo/'] },
  'openid-client': { owners: ['src/identity/sign-in/openid-provider.ts'] },
  yaml: { owners: ['src/config/'] },
  // They run in browsers, and the build puts them into the console's files.
  ...owned(['preact', '@preact/signals'], 'src/console/'),
  ...owned(['minisearch'], 'src/guide/'),
  // The build takes files of theirs along, which are served to browsers; nothing of them runs here.
  ...owned(['swagger-ui-dist', 'echarts'], '.tools/build.js'),
  'wasm-media-encoders': { owners: ['src/simulator/audio/synthesis.ts'] },
  ...owned(OPEN_TELEMETRY, 'src/telemetry/opentelemetry/telemetry.ts'),
  'hdr-histogram-js': { owners: ['src/lab/control/histogram-formats.ts'] },
  // Wherever a schema lives: not below http, where bytes and counters are.
  zod: {
    owners: [
      'src/config/',
      'src/http/',
      'src/inference-http/',
      'src/features/',
      'src/gateway/catalog/',
      'src/gateway/tools/',
      'src/gateway/plugins/',
      'src/gateway/what-if/',
      'src/simulator/',
      'src/tape/',
      'src/lab/control/',
    ],
  },
  // Both ends of the process group: who forks, and who is forked.
  'node:cluster': { owners: ['src/process/forked-worker.ts', 'src/process/worker.ts'] },
  'node:worker_threads': { owners: ['workers/job-runner.ts'] },
  'node:child_process': {
    owners: [
      'src/process/',
      'src/base/server-process.ts',
      'src/drill/fleet/machine.ts',
      'src/drill/fleet/postgres-cluster.ts',
      'src/gateway/tools/mcp/stdio-transport.ts',
      'src/gateway/tools/bash/local/sandbox-process.ts',
    ],
  },
}

interface Exception {
  readonly place: string
  readonly reason: string
}

/** The only default exports: the pool calls what a module exports by default. */
export const DEFAULT_EXPORTS: readonly Exception[] = ['hash', 'condition', 'count', 'document'].map(
  (lane) => ({
    place: `workers/${lane}-thread.ts`,
    reason: 'a pool thread runs the default export of the file it is given',
  }),
)

/** Who touches `process.env` without standing in `src/config`. */
export const ENVIRONMENT: readonly (Exception & { readonly use: 'handed over' | 'written' })[] = [
  {
    place: 'src/command-line.ts',
    use: 'handed over',
    reason: 'the configuration gets the environment as an argument, so that tests can give it another',
  },
  {
    place: 'src/transport/native-server.ts',
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
  rule(
    'bench/harness/',
    'starts the server, frames answers, drives HTTP and event streams, pins, reads /proc, counts',
    'src/base/',
  ),
  rule(
    'bench/performance/',
    'load scenarios of our server and of its floors, in interleaved rounds',
    'src/base/ bench/harness/ type:src/federation/refusal.ts type:workers/tasks.ts',
  ),
  rule(
    'bench/loadlab/',
    'which load tool can be believed: tools, runner, profiles, reports',
    'src/base/ bench/harness/ bench/performance/gateway/ src/lab/ src/tape/arrivals.ts',
  ),
  rule(
    'bench/trials/',
    'what has to hold when processes are killed, readers are slow and callers leave',
    `src/base/ bench/harness/ bench/performance/ src/store/ src/ledger/ src/drill/fleet/
     src/limits/ src/tape/ src/simulator/audio/embedded-text.ts type:src/gateway/what-if/wire.ts workers/`,
  ),
  rule('bench/run.ts', 'the command line of `npm run bench`', 'bench/'),
  rule(
    'test/support/',
    'servers, clients, providers and data of the tests',
    `src/base/ type:workers/tasks.ts workers/job-runner.ts src/transport/ src/upstream/ src/store/ src/cpu-pool/
     type:src/telemetry/counters/ src/http/ src/limits/ src/identity/ src/federation/ src/gateway/
     src/features/ type:src/lab/run-summary.ts src/drill/ src/fleet/ src/ledger/journal/ src/compose/fleet-ledger.ts
     type:src/compose/ledger.ts src/simulator/mcp/ bench/harness/`,
  ),
  rule('test/architecture/', 'the import rules and what checks them', ''),
  rule('test/documents/', 'citations and links of the documents', ''),
  rule(
    'test/conformance/',
    'suites that every implementation of a port passes',
    `src/base/ src/store/ src/compose/workspace-files.ts type:src/gateway/formats/ src/gateway/tools/memory/
     type:src/gateway/tools/port/ type:src/transport/exchange.ts test/support/`,
  ),
  rule(
    'test/',
    'the tests; they may look at everything, and nothing but tests looks at them',
    'src/ workers/ bench/',
  ),
]
