/** Puts a worker together: the only place that chooses implementations. */
import { fileURLToPath } from 'node:url'
import { endpoints, type Ports } from '../app.js'
import { type Clock, systemClock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { Config } from '../config.js'
import type { DeriveKey } from '../features/hash/endpoints.js'
import { uniformDelays } from '../features/report/delays.js'
import { cors } from '../http/cors.js'
import { gateway } from '../http/dialects/gateway.js'
import { dispatch } from '../http/dispatch.js'
import { PROMETHEUS_TYPE, prometheusText } from '../stats/prometheus.js'
import { statsBody } from '../stats/stats-body.js'
import { type WorkerSnapshot, WorkerStats } from '../stats/worker-stats.js'
import { openLmdbStore } from '../store/lmdb/open.js'
import type { Store } from '../store/store.js'
import type { Route } from '../transport/exchange.js'
import { CpuPool } from './pool.js'

export interface Composition {
  readonly config: Config
  readonly worker: number
  readonly poolThreads: number
  readonly log: Log
  /** Snapshots of all workers, this one included. */
  readonly collect: () => Promise<readonly WorkerSnapshot[]>
  readonly connections: () => number
}

export interface Composed {
  readonly routes: readonly Route[]
  readonly stats: WorkerStats
  readonly store: Store
  /** From now on health says `draining`. */
  drain(): void
  close(): Promise<void>
}

const THREAD = fileURLToPath(new URL('../../workers/thread.js', import.meta.url))

export function compose(composition: Composition): Composed {
  const { config, worker, poolThreads, log } = composition
  const clock = systemClock
  const store = openLmdbStore({ path: config.dataDir, unixSeconds: clock.unixSeconds })
  const pool = new CpuPool({
    threads: poolThreads,
    maxQueuedCost: config.hashQueueRounds * poolThreads,
    filename: THREAD,
  })
  const stats = new WorkerStats({
    worker,
    startedAt: clock.unixSeconds(),
    pool: () => pool.snapshot(),
    connections: composition.connections,
  })
  let draining = false
  const ports = portsOf(composition, store, pool, stats, clock, () => draining)
  const routes = dispatch(endpoints(ports), {
    log,
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
    drain: () => {
      draining = true
    },
    close: async () => {
      stats.stop()
      await pool.close()
      await store.close()
    },
  }
}

function portsOf(
  composition: Composition,
  store: Store,
  pool: CpuPool,
  stats: WorkerStats,
  clock: Clock,
  draining: () => boolean,
): Ports {
  const { config, worker, collect } = composition
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
  }
}

function derivation(pool: CpuPool, salt: string): DeriveKey {
  return (data, rounds, caller) =>
    pool
      .run('pbkdf2', { data, salt, rounds }, rounds, caller)
      .then(({ value: { hash, elapsedMs }, waitMs }) => ({ hash, elapsedMs, waitMs }))
}
