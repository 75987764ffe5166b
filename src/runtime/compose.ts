/** Puts a worker together: the only place that chooses implementations. */
import { endpoints, type Ports } from '../app.js'
import { type Clock, systemClock } from '../base/clock.js'
import { createCallLog, type Log } from '../base/log.js'
import { VERSION } from '../base/version.js'
import type { Config } from '../config.js'
import type { DeriveKey } from '../features/hash/endpoints.js'
import { uniformDelays } from '../features/report/delays.js'
import type { GatewayConfig } from '../gateway/configuration.js'
import { cors } from '../http/cors.js'
import { gateway } from '../http/dialects/gateway.js'
import { dispatch } from '../http/dispatch.js'
import { Openings } from '../http/opening.js'
import { authority } from '../identity/authenticate.js'
import type { Bank } from '../limits/token-bank.js'
import { PROMETHEUS_TYPE, prometheusText } from '../stats/prometheus.js'
import { statsBody } from '../stats/stats-body.js'
import { type WorkerSnapshot, WorkerStats } from '../stats/worker-stats.js'
import { openLmdbStore } from '../store/lmdb/open.js'
import type { Store } from '../store/store.js'
import type { Route } from '../transport/exchange.js'
import { composeFederation, type FederationParts } from './federation.js'
import { composeInference, type InferenceParts } from './inference.js'
import { CpuPool } from './pool.js'
import { POOL_THREAD } from './pool-thread.js'

export interface Composition {
  readonly config: Config
  readonly worker: number
  readonly poolThreads: number
  readonly log: Log
  /** Snapshots of all workers, this one included. */
  readonly collect: () => Promise<readonly WorkerSnapshot[]>
  readonly connections: () => number
  /** URL of the address the server listens on. */
  readonly listeningUrl: string
  /** Tokens of the limit by client address, shared by all workers. */
  readonly bank: Bank
}

export interface Composed {
  readonly routes: readonly Route[]
  readonly stats: WorkerStats
  readonly store: Store
  /** Does what has to be done before the first call. */
  start(): Promise<void>
  /** Calls that begin from now on see the new providers, models and permissions. */
  configure(gateway: GatewayConfig): void
  /** From now on health says `draining`. */
  drain(): void
  close(): Promise<void>
}

/** Silence after which a stream says that it is alive, also before its first event. */
const KEEP_ALIVE_MS = 15_000

export function compose(composition: Composition): Composed {
  const { config, worker, poolThreads, log } = composition
  const clock = systemClock
  const store = openLmdbStore({ path: config.dataDir, unixSeconds: clock.unixSeconds })
  const pool = new CpuPool({
    threads: poolThreads,
    maxQueuedCost: config.hashQueueRounds * poolThreads,
    filename: POOL_THREAD,
  })
  const calls = createCallLog(config.logLevel, `worker-${worker}`)
  const inference = composeInference(config, VERSION, pool, clock, log, calls)
  const { upstream } = inference
  const baseUrl = config.publicUrl || composition.listeningUrl
  const { bank } = composition
  const federation = composeFederation({ config, store, pool, clock, log, baseUrl, bank })
  const stats = new WorkerStats({
    worker,
    startedAt: clock.unixSeconds(),
    pool: () => pool.snapshot(),
    upstream: () => ({ sockets: upstream.sockets(), calls: upstream.inFlight() }),
    connections: composition.connections,
  })
  let draining = false
  const parts = { store, pool, stats, clock, inference, federation, draining: () => draining }
  const ports = portsOf(composition, parts)
  const routes = dispatch(endpoints(ports), {
    log,
    authority: authority(store.accounts, clock, inference.permissions, federation.accessTokens),
    bodyLimit: config.bodyLimit,
    deadlineMs: config.callDeadlineMs,
    maxInFlight: config.maxInFlight,
    inFlight: () => stats.inFlight(),
    meter: (operation) => stats.operation(operation),
    cors: config.corsOrigins.length > 0 ? cors(config.corsOrigins) : null,
    fallback: gateway,
  })
  return {
    routes,
    stats,
    store,
    start: () => federation.start(),
    configure: (gateway) => inference.configure(gateway),
    drain: () => {
      draining = true
    },
    close: async () => {
      stats.stop()
      await Promise.all([upstream.close(), federation.close()])
      await pool.close()
      await store.close()
    },
  }
}

/** What the ports are made of. */
interface Parts {
  readonly store: Store
  readonly pool: CpuPool
  readonly stats: WorkerStats
  readonly clock: Clock
  readonly inference: InferenceParts
  readonly federation: FederationParts
  readonly draining: () => boolean
}

function portsOf({ config, worker, collect }: Composition, parts: Parts): Ports {
  const { store, pool, stats, clock, inference, federation, draining } = parts
  return {
    items: store.items,
    derive: derivation(pool, config.hashSalt),
    // Each worker draws a sequence of its own; together they are as repeatable as the balance between them.
    delays: uniformDelays(config.reportSeed === null ? null : config.reportSeed + worker),
    clock,
    service: {
      worker,
      uptimeS: () => stats.uptimeS(),
      draining,
      stats: () => statsBody(stats.snapshot()),
      metrics: config.metrics === 'on' ? async () => prometheusText(await collect()) : null,
      metricsType: PROMETHEUS_TYPE,
    },
    accounts: store.accounts,
    catalog: inference.catalog,
    chat: {
      gateway: inference.gateway,
      openings: new Openings(KEEP_ALIVE_MS),
      bodyLimit: config.limits.inferenceBodyBytes,
      deadlineMs: config.limits.inferenceDeadlineMs,
    },
    oauth: federation.oauth,
    federationAdmin: federation.admin,
  }
}

function derivation(pool: CpuPool, salt: string): DeriveKey {
  return (data, rounds, caller) =>
    pool
      .run('pbkdf2', { data, salt, rounds }, rounds, caller)
      .then(({ value: { hash, elapsedMs }, waitMs }) => ({ hash, elapsedMs, waitMs }))
}
