/** Puts a worker together: the only place that chooses implementations. */
import { type AppPorts, appEndpoints } from '../app.js'
import { systemClock } from '../base/clock.js'
import { createCallLog, type Log } from '../base/log.js'
import type { Config } from '../config/config.js'
import { CpuPool } from '../cpu-pool/pool.js'
import type { GatewayConfig } from '../gateway/catalog/configuration.js'
import type { RoutingUpdate } from '../gateway/routing/routing-update.js'
import { createCors } from '../http/cors.js'
import { gateway } from '../http/dialects/gateway.js'
import { buildRoutes } from '../http/dispatch.js'
import { FirstEventTimers } from '../http/first-event-timers.js'
import { createAuthority } from '../identity/authenticate.js'
import { wrapWithFaults } from '../lab/faults/faulty-route.js'
import { limitByAddress } from '../limits/address-limit.js'
import type { LedgerMessageToSupervisor } from '../process/ipc/messages.js'
import { fileSpool } from '../store/files/spool.js'
import { openLmdbStore } from '../store/lmdb/open.js'
import type { Store } from '../store/store.js'
import { formatStatsBody } from '../telemetry/counters/stats-body.js'
import { type WorkerSnapshot, WorkerStats } from '../telemetry/counters/worker-stats.js'
import { formatWorkerMetrics } from '../telemetry/prometheus/prometheus.js'
import { PROMETHEUS_TYPE } from '../telemetry/prometheus/text-format.js'
import type { Route } from '../transport/exchange.js'
import { type AccountingParts, composeAccounting } from './accounting.js'
import { composeFederation } from './federation.js'
import { composeInference } from './gateway.js'
import { LabAgent } from './lab-agent.js'
import { pooledKeyDerivation } from './pool-tasks.js'
import { composeRouting } from './routing.js'

interface WorkerComposition {
  readonly config: Config
  readonly worker: number
  readonly poolThreads: number
  readonly log: Log
  /** Snapshots of all workers, this one included. */
  readonly collect: () => Promise<readonly WorkerSnapshot[]>
  readonly connections: () => number
  /** URL of the address the server listens on. */
  readonly listeningUrl: string
  /** Name of the journal that this worker writes. */
  readonly journal: string
  /** Sends to the supervisor; false when there is none. */
  readonly sendToSupervisor: (message: LedgerMessageToSupervisor) => boolean
  /** Tells all other workers what this one has learnt; null when it is alone. */
  readonly broadcast: ((update: RoutingUpdate) => void) | null
}

export interface ComposedWorker {
  readonly routes: readonly Route[]
  readonly stats: WorkerStats
  readonly store: Store
  readonly accounting: AccountingParts
  /** What the lab records and does in this worker. */
  readonly lab: LabAgent
  /** Does what has to be done before the first call. */
  start(): Promise<void>
  /** Calls that begin from now on see the new providers, models and permissions. */
  configure(gateway: GatewayConfig): void
  /** Takes what another worker has learnt. */
  applyPeerUpdate(from: number, update: RoutingUpdate): void
  /** From now on health says `draining`. */
  drain(): void
  close(): Promise<void>
}

/** Silence after which a stream says that it is alive, also before its first event. */
const KEEP_ALIVE_MS = 15_000

export function composeWorker(composition: WorkerComposition): ComposedWorker {
  const { config, log } = composition
  const parts = composeParts(composition)
  const { store, pool, accounting, routing, inference, federation, stats, lab, lifecycle } = parts
  const { accounts, scim } = store
  const routes = buildRoutes(appEndpoints(endpointPorts(composition, parts)), {
    log,
    authority: createAuthority(accounts, parts.clock, inference.permissions, federation.accessTokens, scim),
    bodyLimit: config.bodyLimit,
    deadlineMs: config.callDeadlineMs,
    maxInFlight: config.maxInFlight,
    inFlight: () => stats.inFlight(),
    meter: (operation) => lab.meterOf(stats.operation(operation), operation),
    cors: config.corsOrigins.length > 0 ? createCors(config.corsOrigins) : null,
    fallback: gateway,
  })
  const { board } = lab
  return {
    routes: board === null ? routes : routes.map((route) => wrapWithFaults(route, board)),
    stats,
    store,
    accounting,
    lab,
    start: async () => {
      await Promise.all([federation.start(), inference.start()])
    },
    configure: (gateway) => inference.configure(gateway),
    applyPeerUpdate: (from, update) => routing.applyPeerUpdate(from, update),
    drain: () => {
      lifecycle.draining = true
    },
    close: async () => {
      stats.stop()
      lab.close()
      routing.close()
      await Promise.all([inference.upstream.close(), federation.close(), inference.close()])
      await pool.close()
      await accounting.close()
      await store.close()
    },
  }
}

function composeParts(composition: WorkerComposition) {
  const { config, worker, poolThreads, log, journal, sendToSupervisor } = composition
  const { dataDir } = config
  const clock = systemClock
  const store = openLmdbStore({ path: dataDir, unixSeconds: clock.unixSeconds })
  const pool = new CpuPool({ threads: poolThreads, maxQueuedCost: config.hashQueueRounds * poolThreads })
  const baseUrl = config.publicUrl || composition.listeningUrl
  const { accounts } = store
  const accounting = composeAccounting({ dataDir, journal, accounts, clock, log, baseUrl, sendToSupervisor })
  const routing = composeRouting(config.gateway.routing, worker, clock, composition.broadcast)
  const inference = composeInference({
    config,
    worker,
    pool,
    clock,
    log,
    calls: createCallLog(config.logLevel, `worker-${worker}`),
    routing,
    accounting: accounting.accounting,
    store,
  })
  const { upstream } = inference
  const { exchangesPerMinute: perMinute, exchangeBurst: burst } = config
  const limit = perMinute === 0 ? null : limitByAddress(accounting.addressLeases, { perMinute, burst })
  const federation = composeFederation({ config, store, pool, clock, log, baseUrl, limit })
  const stats = new WorkerStats({
    worker,
    startedAt: clock.unixSeconds(),
    pool: () => pool.snapshot(),
    upstream: () => ({ sockets: upstream.sockets(), calls: upstream.inFlight() }),
    inference: () => inference.stats.snapshot(),
    connections: composition.connections,
  })
  const lab = new LabAgent({ worker, config, log })
  const lifecycle = { draining: false }
  return { clock, store, pool, accounting, routing, inference, federation, stats, lab, lifecycle }
}

function endpointPorts(
  { config, worker, collect }: WorkerComposition,
  parts: ReturnType<typeof composeParts>,
): AppPorts {
  const { clock, store, pool, accounting, routing, inference, federation, stats, lab, lifecycle } = parts
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
      metrics: config.metrics === 'on' ? async () => formatWorkerMetrics(await collect()) : null,
      metricsType: PROMETHEUS_TYPE,
    },
    accounts: store.accounts,
    ledger: accounting.ledger,
    catalog: inference.catalog,
    routing,
    inference: {
      gateway: inference.gateway,
      firstEventTimers: new FirstEventTimers(KEEP_ALIVE_MS),
      bodyLimit: config.limits.inferenceBodyBytes,
      deadlineMs: config.limits.inferenceDeadlineMs,
    },
    audio: { spool: fileSpool(config.dataDir), uploadBytes: config.limits.uploadBodyBytes },
    oauth: federation.oauth,
    federationAdmin: federation.admin,
    files: {
      files: store.files,
      accounts: store.accounts,
      fileBytes: config.limits.uploadBodyBytes,
      deadlineMs: config.limits.inferenceDeadlineMs,
    },
    scim: { scim: store.scim, accounts: store.accounts, clock },
  }
}
