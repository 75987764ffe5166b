/** Pages of values under a prefix, in both spaces of records, as a list of all of them has them. */
import fc from 'fast-check'
import { type Test, t } from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { LmdbEnvironment } from '../../src/store/lmdb/environment.js'
import { PostgresChangeLog } from '../../src/store/postgres/change-log.js'
import { migrate } from '../../src/store/postgres/migrate.js'
import type { ByteTable, RecordSpace } from '../../src/store/records/record-space.js'
import { ReplicatedRecords } from '../../src/store/replicated/records.js'
import { openTestDatabase } from '../support/data/replicated-stores.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { PostgresCluster, WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'

/** Keys and prefixes of few letters, among them the highest byte, so that they meet. */
const key = fc.array(fc.constantFrom(0, 1, 0x61, 0xfe, 0xff), { minLength: 1, maxLength: 4 }).map(Buffer.from)
const prefix = fc.array(fc.constantFrom(0, 1, 0x61, 0xfe, 0xff), { maxLength: 2 }).map(Buffer.from)
const written = fc.array(fc.tuple(key, fc.boolean()), { maxLength: 25 })
const page = fc.record({
  prefix,
  offset: fc.nat(8),
  limit: fc.nat(8),
  from: fc.option(key, { nil: undefined }),
})

type Writes = readonly (readonly [key: Buffer, isPut: boolean])[]

/** A value is its key. */
function applyTo(table: ByteTable, kept: Set<string>, writes: Writes): void {
  for (const [bytes, isPut] of writes) {
    if (isPut) table.put(bytes, bytes)
    else table.remove(bytes)
    kept[isPut ? 'add' : 'delete'](bytes.toString('latin1'))
  }
}

async function comparePages<Table extends ByteTable>(space: RecordSpace<Table>, table: Table): Promise<void> {
  const kept = new Set<string>()
  const rounds = fc.tuple(written, written, fc.array(page, { minLength: 10, maxLength: 10 }))
  const compare = (
    pages: readonly { prefix: Buffer; offset: number; limit: number; from?: Buffer | undefined }[],
  ) => {
    for (const { prefix: begin, offset, limit, from } of pages) {
      const first = from === undefined ? begin : Buffer.concat([begin, from])
      const expected = [...kept]
        .filter((text) => text.startsWith(begin.toString('latin1')) && text >= first.toString('latin1'))
        .sort((a, b) => (a < b ? -1 : 1))
        .slice(offset, offset + limit)
      const options = { offset, limit, ...(from !== undefined && { from: first }) }
      const found = space.valuesOfPage(table, begin, options).map((value) => value.toString('latin1'))
      if (JSON.stringify(found) !== JSON.stringify(expected)) {
        throw new Error(`${JSON.stringify([begin, options])}: ${JSON.stringify(found)}`)
      }
    }
  }
  await fc.assert(
    fc.asyncProperty(rounds, async ([before, within, pages]) => {
      await space.writeDurably(() => applyTo(table, kept, before))
      space.inSnapshot(() => compare(pages))
      await space.writeDurably(() => {
        applyTo(table, kept, within)
        compare(pages)
      })
      space.inSnapshot(() => compare(pages))
    }),
    { numRuns: 60, seed: 21 },
  )
}

void t.test('pages of values in LMDB', async (t: Test) => {
  const env = new LmdbEnvironment(tempFolder(t))
  t.after(() => env.close())
  await comparePages(env, env.byteTable('pages'))
  t.pass()
})

void t.test('pages of values in a fleet', { skip: WITHOUT_POSTGRES }, async (t: Test) => {
  const cluster = await PostgresCluster.start(t)
  const database = openTestDatabase(await cluster.database())
  await migrate(database)
  const log = new PostgresChangeLog(database, 'm1')
  const barrier = { pass: async () => [] }
  const records = new ReplicatedRecords({ folder: tempFolder(t), log, barrier, clock: systemClock })
  const table = records.byteTable('pages')
  t.after(async () => {
    await records.close()
    await database.close()
  })
  await records.catchUp()
  await comparePages(records, table)
  t.pass()
})
