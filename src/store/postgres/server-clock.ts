/** The clock of the database, by which machines agree on when something ends. */
import type { Database } from './database.js'

/** Unix time in milliseconds. */
export async function readServerClock(database: Pick<Database, 'query'>): Promise<number> {
  const [row] = await database.query<{ ms: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
  )
  return row!.ms
}
