/** All managed records, as a replica has them and as PostgreSQL has them, for comparing. */
import { systemClock } from '../../../src/base/clock.js'
import type { ReplicaPosition } from '../../../src/store/membership.js'
import type { Database } from '../../../src/store/postgres/database.js'
import { Replica } from '../../../src/store/replicated/replica.js'
import { replicaFolder } from '../../../src/store/replicated/replica-folder.js'
import { MANAGED_TABLES } from '../../../src/store/transfer/managed-records.js'

interface Contents {
  readonly position: ReplicaPosition | null
  /** Table, key and value of each record, in hexadecimal. */
  readonly records: readonly string[]
}

export async function contentsOfReplica(dataDir: string): Promise<Contents> {
  const replica = new Replica(replicaFolder(dataDir), systemClock)
  const tables = MANAGED_TABLES.map((space) => replica.table(space, () => {}))
  const records = replica.inSnapshot(() =>
    tables.flatMap((table) =>
      [...replica.entriesWithPrefix(table, Buffer.alloc(0))].map(([key, value]) =>
        lineOf(table.name, Buffer.from(key, 'latin1'), value),
      ),
    ),
  )
  const position = replica.position()
  await replica.close()
  return { position, records: records.sort() }
}

export async function contentsOfDatabase(database: Database): Promise<Contents> {
  const rows = await database.query<{ space: string; key: Buffer; value: Buffer }>(
    'SELECT space, key, value FROM sluice.records WHERE value IS NOT NULL',
  )
  const [head] = await database.query<ReplicaPosition>('SELECT version, change FROM sluice.change_head')
  return { position: head!, records: rows.map(({ space, key, value }) => lineOf(space, key, value)).sort() }
}

function lineOf(space: string, key: Buffer, value: Buffer): string {
  return `${space} ${key.toString('hex')} ${value.toString('hex')}`
}
