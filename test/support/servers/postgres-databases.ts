/** Databases of one cluster with the tables of Sluice, and ways to them as the workers of machines have. */
import { systemClock } from '../../../src/base/clock.js'
import { type Database, openDatabase } from '../../../src/store/postgres/database.js'
import { migrate } from '../../../src/store/postgres/migrate.js'
import type { Lifetime } from '../data/temp-folder.js'
import { startPgbouncer } from './pgbouncer.js'
import { PostgresCluster } from './postgres-cluster.js'

/** As many as a worker has. */
const CONNECTIONS = 4
const TEMPLATE = 'sluice_template'

export class PostgresDatabases {
  readonly cluster: PostgresCluster
  /** Where databases are reached: PostgreSQL's own port, or that of a pooler. */
  readonly #port: number

  private constructor(cluster: PostgresCluster, port: number) {
    this.cluster = cluster
    this.#port = port
  }

  /** Starts a cluster that ends with the test. `pooled`: behind a pgbouncer in transaction mode. */
  static async start(
    lifetime: Lifetime,
    {
      pooled = false,
      settings = [],
    }: { readonly pooled?: boolean; readonly settings?: readonly string[] } = {},
  ): Promise<PostgresDatabases> {
    const cluster = await PostgresCluster.start(lifetime, settings)
    const url = await cluster.database(TEMPLATE)
    const database = openDatabase({ url, connections: 1, clock: systemClock, name: 'template' })
    await migrate(database)
    await database.close()
    const port = pooled ? await startPgbouncer(lifetime, cluster.port) : cluster.port
    return new PostgresDatabases(cluster, port)
  }

  /** A new database with empty tables; its URL. */
  async create(): Promise<string> {
    const name = `sluice_${process.hrtime.bigint()}`
    await this.cluster.sql(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`)
    return `postgres://sluice@127.0.0.1:${this.#port}/${name}`
  }

  /** Takes a database away, whoever is still connected. */
  async drop(url: string): Promise<void> {
    await this.cluster.sql(`DROP DATABASE ${new URL(url).pathname.slice(1)} WITH (FORCE)`)
  }
}

/** A way of its own to a database, as a worker has one. */
export function openWorkerDatabase(url: string): Database {
  return openDatabase({ url, connections: CONNECTIONS, clock: systemClock, name: 'test' })
}
