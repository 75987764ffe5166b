/** Puts a worker together: the only place that chooses implementations. */
import { type AppPorts, appEndpoints } from '../app.js'
import { systemClock } from '../base/clock.js'
import type { CallerAuthority } from '../base/principal.js'
import { shareRounds } from '../base/shared-rounds.js'
import type { Config } from '../config/config.js'
import { CpuPool } from '../cpu-pool/pool.js'
import { isConsolePath } from '../features/console/endpoints.js'
import { pathAdviser } from '../features/start/unknown-paths.js'
import { BodyBudget } from '../http/body-budget.js'
import { createCors } from '../http/cors.js'
import { gateway } from '../http/dialects/gateway.js'
import { practice } from '../http/dialects/practice.js'
import { buildRoutes } from '../http/dispatch.js'
import { FirstEventTimers } from '../http/event-stream.js'
import { createAuthority } from '../identity/authenticate.js'
import { peopleOf } from '../identity/people.js'
import { wrapWithFaults } from '../lab/faults/faulty-route.js'
import { limitByAddress } from '../limits/address-limit.js'
import { fileSpool } from '../store/files/spool.js'
import { failureTable } from '../store/fleet-failures.js'
import { formatStatsBody } from '../telemetry/counters/stats-body.js'
import { WorkerStats } from '../telemetry/counters/worker-stats.js'
import { formatMetrics } from '../telemetry/prometheus/fleet-metrics.js'
import { PROMETHEUS_TYPE } from '../telemetry/prometheus/text-format.js'
import { WorkerAccounting } from './accounting.js'
import { settingsOf } from './configuration.js'
import { composeDirectory } from './directory.js'
import { composeFederation } from './federation.js'
import { composeFileFetching } from './file-fetching.js'
import { composeInference } from './gateway.js'
import { LabAgent } from './lab-agent.js'
import { composeLive } from './live.js'
import { pooledKeyDerivation } from './pool-tasks.js'
import { composeRouting } from './routing.js'
import { composeSignIn } from './sign-in.js'
import { startPorts } from './start-page.js'
import type { WorkerSettings } from './worker-context.js'

export type ComposedWorker = ReturnType<typeof composeWorker>

/** Silence after which a stream says that it is alive, also before its first event. */
const KEEP_ALIVE_MS = 15_000
/** How often the metrics of all workers are gathered at most. */
const METRICS_MS = 100

/** Loaded by whoever asks: with it comes the parser of configuration files. */
const WHAT_IF: Omit<AppPorts['whatIf'], 'ledgerDays'> = {
  readCatalog: async (text) => (await import('./what-if.js')).readSupposedCatalog(text, false),
  ask: async (...question) => (await import('./what-if.js')).askWhatIf(...question),
}

export function composeWorker(settings: WorkerSettings) {
  const { config, log } = settings
  const parts = composeParts(settings)
  const { store, pool, accounting, routing, inference, federation, signIn, files, stats, lab, lifecycle } =
    parts
  const { accounts } = store
  const { fleet } = settings.opened
  const { clock } = parts
  const authority = createAuthority(accounts, clock, inference.permissions, {
    accessTokens: federation.accessTokens,
    people: parts.people,
    connections: store.directory.connections,
    sessions: signIn.sessions,
  })
  const guarded = fleet === null ? authority : fleet.standing.guard(authority)
  const endpoints = appEndpoints(
    { ...endpointPorts(settings, parts), live: livePorts(parts, guarded) },
    config.practice,
  )
  const routes = buildRoutes(endpoints, {
    log,
    logRefusals: config.logCalls !== 'none',
    authority: guarded,
    bodyLimit: config.bodyLimit,
    deadlineMs: config.callDeadlineMs,
    maxInFlight: config.maxInFlight,
    inFlight: () => stats.inFlight(),
    bodies: bodyBudgets(config),
    meter: (operation) => lab.meterOf(stats.operation(operation), operation),
    cors: config.corsOrigins.length > 0 ? createCors(config.corsOrigins) : null,
    hasPeers: fleet !== null,
    fallback: gateway,
    // Users of the practice API are promised one and the same 404.
    adviseOn: pathAdviser(endpoints.flatMap(({ path, dialect }) => (dialect === practice ? [] : [path]))),
  })
  const { board } = lab
  const served = board === null ? routes : routes.map((route) => wrapWithFaults(route, board))
  return {
    routes: served,
    /** Without the console, which may have an address of its own. */
    apiRoutes: served.filter(({ path }) => !isConsolePath(path)),
    stats,
    store,
    accounting,
    /** What the lab records and does in this worker. */
    lab,
    /** Does what has to be done before the first call. */
    start: async (): Promise<void> => {
      await Promise.all([federation.start(), inference.start()])
    },
    /** Calls that begin from now on see the new providers, models and permissions. */
    configure: inference.configure,
    applyPeerUpdate: routing.applyPeerUpdate,
    live: parts.live,
    fleet,
    /** From now on health says `draining`. */
    drain: (): void => {
      lifecycle.draining = true
      parts.live.readers.close()
    },
    close: async (): Promise<void> => {
      stats.stop()
      lab.close()
      routing.close()
      await Promise.all([
        inference.upstream.close(),
        ...[federation, signIn, files, inference].map((part) => part.close()),
      ])
      await pool.close()
      await accounting.close()
      await store.close()
    },
  }
}

/** Bodies of the practice face are small, and a flood of them must not take the room of the gateway's. */
const PRACTICE_PART = 1 / 8

function bodyBudgets({ bodyMemory, bodyLimit, limits }: Config) {
  return {
    gateway: new BodyBudget(bodyMemory, limits.inferenceBodyBytes),
    practice: new BodyBudget(bodyMemory * PRACTICE_PART, bodyLimit),
  }
}

function composeParts(settings: WorkerSettings) {
  const { config, worker, poolThreads, log, connections, listeningUrl, opened } = settings
  const clock = systemClock
  const { store, takeRoom } = opened
  const pool = new CpuPool({ threads: poolThreads, maxQueuedCost: config.hashQueueRounds * poolThreads })
  const context = { ...settings, clock, store, pool, baseUrl: config.publicUrl || listeningUrl }
  const people = peopleOf(store)
  const routing = composeRouting(context)
  const live = composeLive({
    ...context,
    accounts: store.accounts,
    figures: {
      uptimeS: () => stats.uptimeS(),
      connections,
      requests: () => stats.inFlight(),
      answers: () => stats.answersByClass(),
      pool: () => pool.queues(),
      breakers: () => routing.health.disturbed(),
    },
  })
  const accounting = new WorkerAccounting({ ...context, ...opened, people, live: live.tap })
  const files = composeFileFetching({ config, clock, log })
  const inference = composeInference(
    { ...context, live: live.tap },
    routing,
    accounting.accounting,
    files.fetchFile,
  )
  const { upstream } = inference
  const { exchangesPerMinute: perMinute, exchangeBurst: burst } = config
  const limit = perMinute === 0 ? null : limitByAddress(accounting.addressLeases, { perMinute, burst })
  const federation = composeFederation({ ...context, limit, standing: opened.fleet?.standing ?? null })
  const { sealer, recordAudit: audit } = federation
  const signIn = composeSignIn({ ...context, people, sealer, limit, audit })
  const stats = new WorkerStats({
    worker,
    startedAt: clock.unixSeconds(),
    pool: () => pool.snapshot(),
    upstream: () => ({ sockets: upstream.sockets(), calls: upstream.inFlight() }),
    inference: () => inference.stats.snapshot(),
    tools: () => inference.toolStats.snapshot(),
    statements: () => settings.opened.fleet?.database.statementsByKind() ?? {},
    connections,
  })
  const directory = composeDirectory(context, accounting.addressLeases)
  const lab = new LabAgent({ worker, config, log })
  const lifecycle = { draining: false }
  const spool = fileSpool(config.dataDir, takeRoom)
  return {
    clock,
    store,
    spool,
    pool,
    accounting,
    routing,
    live,
    inference,
    federation,
    signIn,
    files,
    directory,
    stats,
    lab,
    lifecycle,
    people,
  }
}

const livePorts = ({ live, people }: ReturnType<typeof composeParts>, authority: CallerAuthority) => ({
  readers: live.readers,
  people,
  authority,
})

function endpointPorts(
  { config, worker, collect, configuration, listeningUrl, opened }: WorkerSettings,
  parts: ReturnType<typeof composeParts>,
): Omit<AppPorts, 'live'> {
  const {
    clock,
    store,
    pool,
    accounting,
    routing,
    inference,
    federation,
    stats,
    lab,
    lifecycle,
    people,
    signIn,
  } = parts
  const metricsText = async () => Buffer.from(formatMetrics(await collect()))
  return {
    items: store.items,
    derive: pooledKeyDerivation(pool, config.hashSalt),
    delays: lab.nextDelay,
    delayed: lab.recordDelay,
    clock,
    service: {
      worker,
      uptimeS: () => stats.uptimeS(),
      draining: () => lifecycle.draining,
      stats: () => formatStatsBody(stats.snapshot()),
      metrics: config.metrics === 'on' ? shareRounds(metricsText, METRICS_MS, clock) : null,
      metricsType: PROMETHEUS_TYPE,
    },
    accounts: store.accounts,
    people,
    members: { ...store, clock },
    providerKeys: { ...inference.providerKeys, people, accounts: store.accounts, clock },
    ledger: accounting.ledger,
    catalog: inference.catalog,
    routing: { ...routing, accountOf: inference.accountOf },
    whatIf: { ...WHAT_IF, ledgerDays: config.ledgerDays },
    inference: {
      gateway: inference.gateway,
      loops: inference.loops,
      firstEventTimers: new FirstEventTimers(KEEP_ALIVE_MS),
      bodyLimit: config.limits.inferenceBodyBytes,
      deadlineMs: config.limits.inferenceDeadlineMs,
    },
    audio: {
      spool: parts.spool,
      uploadBytes: config.limits.uploadBodyBytes,
      fetchFile: parts.files.fetchFile,
    },
    oauth: federation.oauth,
    federationAdmin: federation.admin,
    sessions: signIn.sessionPorts,
    signIn: signIn.signInPorts,
    signInProviders: signIn.providers,
    files: {
      files: store.files,
      accounts: store.accounts,
      keysOf: inference.keysOf,
      catalog: inference.catalog,
      spool: parts.spool,
      fileBytes: config.limits.uploadBodyBytes,
      deadlineMs: config.limits.inferenceDeadlineMs,
    },
    ...parts.directory,
    fleet: { view: opened.fleetView, failures: opened.fleet === null ? [] : failureTable(config) },
    settings: {
      settings: () => settingsOf(config, inference.settings()),
      configuration,
    },
    operatorTerms: inference.settings,
    start: startPorts(config, listeningUrl),
    hasConsole: config.console,
  }
}
