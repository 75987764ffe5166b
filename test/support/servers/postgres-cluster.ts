/**
 * A PostgreSQL cluster that a test has for itself: its programs come from the distribution, its folder goes with the
 * test. Tests kill, freeze and fill it.
 */
import { Client } from 'pg'
import { freePort } from '../../../src/drill/fleet/free-port.js'
import { PostgresCluster as Cluster, POSTGRES_PROGRAMS } from '../../../src/drill/fleet/postgres-cluster.js'
import type { Lifetime } from '../data/temp-folder.js'

/** What a test says that is skipped where there is no PostgreSQL; false where there is one. */
export const WITHOUT_POSTGRES = POSTGRES_PROGRAMS === null && 'PostgreSQL is not installed here'

export class PostgresCluster extends Cluster {
  /** As `create`; it ends with the test. */
  static async start(lifetime: Lifetime, settings: readonly string[] = []): Promise<PostgresCluster> {
    const cluster = new PostgresCluster(await freePort(), settings)
    await cluster.initialize()
    lifetime.after(() => cluster.remove())
    return cluster
  }

  /** Runs statements in a database on a connection of their own; resolves with the rows of the last one. */
  async sql<R extends object>(text: string, database = 'postgres'): Promise<R[]> {
    const client = new Client({ connectionString: this.url(database), connectionTimeoutMillis: 5_000 })
    client.on('error', () => {})
    await client.connect()
    try {
      const result = await client.query(text)
      return (Array.isArray(result) ? result.at(-1) : result).rows
    } finally {
      await client.end()
    }
  }
}
