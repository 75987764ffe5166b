/** Files in PostgreSQL: the suite of all stores of files, and what is only so there. */
import { once } from 'node:events'
import { type Test, t } from 'tap'
import { systemClock } from '../../../src/base/clock.js'
import { NO_LIMITS } from '../../../src/store/disk-reserve.js'
import type { Database } from '../../../src/store/postgres/database.js'
import { createPostgresFileStore, type PostgresFileStore } from '../../../src/store/postgres/files.js'
import { fileSuite, MORE_THAN_A_BLOCK, readAll } from '../../conformance/file-suite.js'
import { FILE } from '../../support/data/new-file.js'
import { startFilePeer } from '../../support/peers/postgres-file-peer.js'
import { WITHOUT_PGBOUNCER } from '../../support/servers/pgbouncer.js'
import { WITHOUT_POSTGRES } from '../../support/servers/postgres-cluster.js'
import { openWorkerDatabase, PostgresDatabases } from '../../support/servers/postgres-databases.js'
import { eventually } from '../../support/timing/eventually.js'

const STORES = [0, 1, 2] as const
const ALL = { newestFirst: true, after: null, before: null, limit: 100 }
const CONTENTS = 'SELECT id FROM sluice.files UNION SELECT file FROM sluice.file_pieces ORDER BY id'
const AGE = `UPDATE sluice.files SET touched_at = touched_at - interval '61 minutes',
  deleted_at = deleted_at - interval '61 minutes' WHERE record IS NULL`

interface Opened {
  readonly url: string
  readonly databases: readonly Database[]
  readonly stores: readonly [PostgresFileStore, PostgresFileStore, PostgresFileStore]
  readonly contents: () => Promise<readonly string[]>
}

async function openThree(
  t: Test,
  databases: PostgresDatabases,
  limits: { readonly files: number; readonly fileBytes: number } = NO_LIMITS,
): Promise<Opened> {
  const url = await databases.create()
  const ways = STORES.map(() => openWorkerDatabase(url))
  const stores = ways.map((database) =>
    createPostgresFileStore(database, { clock: systemClock, limits, sweepMs: 0 }),
  )
  t.after(async () => {
    for (const files of stores) await files.close()
    for (const database of ways) await database.close()
    await databases.drop(url)
  })
  return {
    url,
    databases: ways,
    stores: [stores[0]!, stores[1]!, stores[2]!],
    contents: async () => (await ways[0]!.query<{ id: string }>(CONTENTS)).map(({ id }) => id),
  }
}

for (const { name, pooled, skip } of [
  { name: 'postgres', pooled: false, skip: WITHOUT_POSTGRES },
  { name: 'postgres behind pgbouncer', pooled: true, skip: WITHOUT_POSTGRES || WITHOUT_PGBOUNCER },
]) {
  void t.test(name, { skip }, async (within) => {
    const databases = await PostgresDatabases.start(within, { pooled })
    fileSuite({
      name,
      within,
      open: async (t, limits) => {
        const opened = await openThree(t, databases, limits)
        return {
          ...opened,
          loseUnfinished: async () => {
            await opened.databases[0]!.query(AGE)
            t.equal(await opened.stores[1].sweep().then(({ removed }) => removed), 1)
          },
        }
      },
    })
    if (!pooled) ownTests(within, databases)
  })
}

function ownTests(within: Test, databases: PostgresDatabases): void {
  void within.test('an upload on its way holds no connection and no snapshot', async (t) => {
    const { url, stores } = await openThree(t, databases)
    const writing = stores[0].beginFile(FILE.organizationId)
    for (let n = 0; n < 8; n++) await writing.write(Buffer.alloc(MORE_THAN_A_BLOCK))
    const held = await databases.cluster.sql(
      `SELECT state FROM pg_stat_activity WHERE datname = '${new URL(url).pathname.slice(1)}'
       AND (state <> 'idle' OR backend_xid IS NOT NULL OR backend_xmin IS NOT NULL)`,
    )
    // One piece may be on its way; a transaction that waits for its client would be 'idle in transaction'.
    t.notOk(held.some((each) => /transaction/.test((each as { state: string }).state)))
    await writing.abandon()
  })

  void within.test(
    'an upload whose process is killed is no file, and goes when it is old enough',
    async (t) => {
      const { url, stores, contents, databases: ways } = await openThree(t, databases)
      const dying = await startFilePeer(url)
      for (let n = 0; n < 5; n++) await dying.ask({ do: 'write', bytes: MORE_THAN_A_BLOCK })
      dying.child.kill('SIGKILL')
      await once(dying.child, 'exit')
      t.equal((await contents()).length, 1)
      t.same((await stores[0].filesOf(FILE.workspaceId, ALL)).files, [])
      t.equal((await stores[0].sweep()).removed, 0, 'it might live')
      await ways[0]!.query(AGE)
      const removed = await Promise.all(stores.map((files) => files.sweep().then((swept) => swept.removed)))
      t.equal(
        removed.reduce((sum, each) => sum + each, 0),
        1,
        'told once',
      )
      t.same(await contents(), [])
      await stores[0].requireRoom(FILE.organizationId)
      t.same(await ways[0]!.query('SELECT * FROM sluice.file_usage'), [], 'it was never counted')
    },
  )

  void within.test(
    'a process that is killed while it commits leaves a whole file, counted, or none',
    async (t) => {
      const { url, stores, databases: ways } = await openThree(t, databases)
      for (let round = 0; round < 4; round++) {
        const dying = await startFilePeer(url)
        await dying.ask({ do: 'write', bytes: MORE_THAN_A_BLOCK })
        await dying.ask({ do: 'begin-commit' })
        dying.child.kill('SIGKILL')
        await once(dying.child, 'exit')
      }
      const busy = `SELECT FROM pg_stat_activity
      WHERE datname = '${new URL(url).pathname.slice(1)}' AND state <> 'idle'`
      await eventually(async () => (await databases.cluster.sql(busy)).length === 0 || null)
      const { files } = await stores[1].filesOf(FILE.workspaceId, ALL)
      for (const file of files) t.ok(await stores[1].isIntact(file))
      const [usage] = await ways[0]!.query<{ files: number; bytes: number }>(
        'SELECT files, bytes FROM sluice.file_usage',
      )
      t.same(usage ?? { files: 0, bytes: 0 }, {
        files: files.length,
        bytes: files.length * MORE_THAN_A_BLOCK,
      })
    },
  )

  void within.test('what a deleted file has left is removed when nobody can be reading it', async (t) => {
    const { stores, contents, databases: ways } = await openThree(t, databases)
    const { id } = await stores[0].createFile(FILE, Buffer.alloc(20_000_000))
    await stores[1].removeFile(id)
    t.same(await stores[2].sweep(), { removed: 0, setAside: 0, putBack: 0, asideFolder: '' })
    t.same(await contents(), [id], 'not before')
    await ways[0]!.query(AGE)
    const swept = await Promise.all(stores.map((files) => files.sweep()))
    t.same(new Set(swept.map(({ removed }) => removed)), new Set([0]), 'it was no upload')
    t.same(await contents(), [])
  })

  void within.test('unfinished uploads of an organization may be as much as it may store', async (t) => {
    const { stores, contents } = await openThree(t, databases, { files: 10, fileBytes: MORE_THAN_A_BLOCK })
    const [files] = stores
    const one = files.beginFile(FILE.organizationId)
    await one.write(Buffer.alloc(MORE_THAN_A_BLOCK))
    const two = files.beginFile(FILE.organizationId)
    await t.rejects(async () => two.write(Buffer.alloc(MORE_THAN_A_BLOCK)), {
      name: 'Fault',
      kind: 'forbidden',
    })
    await two.abandon()
    await files.createFile({ ...FILE, organizationId: 'other' }, Buffer.alloc(MORE_THAN_A_BLOCK))
    await one.abandon()
    const again = await files.createFile(FILE, Buffer.alloc(MORE_THAN_A_BLOCK))
    await files.removeFile(again.id)
    await files.createFile(FILE, Buffer.alloc(MORE_THAN_A_BLOCK))
    t.equal((await contents()).length, 3, 'what was given up is gone')
  })

  void within.test('an upload that lives is not swept, however old it is', async (t) => {
    const { stores, databases: ways } = await openThree(t, databases)
    const writing = stores[0].beginFile(FILE.organizationId)
    await writing.write(Buffer.alloc(MORE_THAN_A_BLOCK))
    await ways[0]!.query(`UPDATE sluice.files SET touched_at = touched_at - interval '59 minutes'`)
    t.equal((await stores[1].sweep()).removed, 0)
    await writing.write(Buffer.alloc(MORE_THAN_A_BLOCK))
    await ways[0]!.query(`UPDATE sluice.files SET touched_at = touched_at - interval '59 minutes'`)
    t.equal((await stores[1].sweep()).removed, 0)
    const record = await writing.commit(FILE)
    t.ok(await stores[1].isIntact(record))
  })

  void within.test(
    'a content with a piece missing, or cut off, is not intact, and reading it fails',
    async (t) => {
      const { stores, databases: ways } = await openThree(t, databases)
      for (const harm of [
        'DELETE FROM sluice.file_pieces WHERE number = 1',
        'UPDATE sluice.file_pieces SET bytes = substring(bytes FROM 1 FOR 1000) WHERE number = 1',
      ]) {
        const record = await stores[0].createFile(FILE, Buffer.alloc(MORE_THAN_A_BLOCK))
        await ways[0]!.query(harm)
        t.notOk(await stores[1].isIntact(record))
        await t.rejects(stores[1].openContent(record, 0, record.sizeBytes).then(readAll), {
          name: 'Fault',
          kind: 'internal',
        })
      }
    },
  )

  void within.test('random bytes are stored as they are, out of line', async (t) => {
    const { databases: ways } = await openThree(t, databases)
    t.same(
      await ways[0]!.query(`SELECT attstorage FROM pg_attribute
        WHERE attrelid = 'sluice.file_pieces'::regclass AND attname = 'bytes'`),
      [{ attstorage: 'e' }],
    )
  })
}
