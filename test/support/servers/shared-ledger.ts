/** Ledgers in PostgreSQL: a cluster for a test file, a database of its own for each test. */
import { systemClock } from '../../../src/base/clock.js'
import { createLog } from '../../../src/base/log.js'
import { openFleetLedger } from '../../../src/compose/fleet-ledger.js'
import type { LedgerIntake } from '../../../src/compose/ledger.js'
import { type Database, openDatabase } from '../../../src/store/postgres/database.js'
import { migrate } from '../../../src/store/postgres/migrate.js'
import type { Lifetime } from '../data/temp-folder.js'
import { PostgresCluster } from './postgres-cluster.js'

/** Machines that share one database. */
export interface LedgerFleet {
  readonly url: string
  /** For reading. */
  readonly database: Database
  /** The ledger of a machine, by way of `url` where a proxy stands before the database. */
  intake(machine: string, dataDir: string, url?: string): LedgerIntake
  sql<R extends object>(text: string): Promise<R[]>
}

const SILENT = createLog('silent' as 'fatal', 'test')
const TEMPLATE = 'migrated'

export class SharedLedgers {
  readonly cluster: PostgresCluster
  #databases = 0

  private constructor(cluster: PostgresCluster) {
    this.cluster = cluster
  }

  static async start(lifetime: Lifetime): Promise<SharedLedgers> {
    const cluster = await PostgresCluster.start(lifetime)
    const database = connect(await cluster.database(TEMPLATE))
    await migrate(database)
    await database.close()
    return new SharedLedgers(cluster)
  }

  async fleet(lifetime: Lifetime): Promise<LedgerFleet> {
    const name = `ledger_${++this.#databases}`
    await this.cluster.sql(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`)
    const url = this.cluster.url(name)
    const opened = new Map<string, Database>()
    const through = (at: string): Database => {
      const known = opened.get(at) ?? connect(at)
      opened.set(at, known)
      return known
    }
    lifetime.after(async () => {
      for (const database of opened.values()) await database.close()
    })
    return {
      url,
      database: through(url),
      intake: (machine, dataDir, by = url) =>
        openFleetLedger({ database: through(by), machine, epoch: () => 1, dataDir, log: SILENT }),
      sql: (text) => this.cluster.sql(text, name),
    }
  }
}

function connect(url: string): Database {
  return openDatabase({ url, connections: 4, clock: systemClock, name: 'test' })
}
