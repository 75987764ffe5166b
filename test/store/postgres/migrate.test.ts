/** A database that is too old is refused before anything is sent that could change it. */
import { test } from 'tap'
import type { Database, Query } from '../../../src/store/postgres/database.js'
import { migrate, readSchemaState, UnusableDatabase } from '../../../src/store/postgres/migrate.js'

/** A database that says of itself what it is told to, and keeps what else it is asked. */
function scripted(version: number) {
  const later: string[] = []
  const query = (async (sql: string) => {
    if (/server_version_num/.test(sql)) return [{ version, reading: false }]
    later.push(sql)
    throw new Error('no further')
  }) as Query
  const database = { query, transaction: (work) => work(query) } as Partial<Database> as Database
  return { database, later }
}

test('a PostgreSQL older than 14 is not touched', async (t) => {
  for (const [version, name] of [
    [130_018, 13],
    [90_624, 9],
  ] as const) {
    const { database, later } = scripted(version)
    const refusal = new UnusableDatabase(`the database is PostgreSQL ${name}; 14 or newer is needed`)
    await t.rejects(migrate(database), refusal)
    await t.rejects(readSchemaState(database), refusal)
    t.same(later, [])
  }
})

test('14 is new enough', async (t) => {
  const { database, later } = scripted(140_000)
  await t.rejects(migrate(database), /no further/)
  t.equal(later.length, 1)
})
