/** Items in PostgreSQL, beyond the suite of all stores: exact over machines, and away when the database is. */
import { type Test, t } from 'tap'
import { systemClock } from '../../../src/base/clock.js'
import type { Fault } from '../../../src/base/fault.js'
import { createLog } from '../../../src/base/log.js'
import { seedItems } from '../../../src/process/seed.js'
import { NO_LIMITS } from '../../../src/store/disk-reserve.js'
import type { Database } from '../../../src/store/postgres/database.js'
import { createPostgresItemStore } from '../../../src/store/postgres/items.js'
import type { ItemFields } from '../../../src/store/store.js'
import { openStore } from '../../support/data/open-store.js'
import { WITHOUT_POSTGRES } from '../../support/servers/postgres-cluster.js'
import { openWorkerDatabase, PostgresDatabases } from '../../support/servers/postgres-databases.js'

const PRESENT = { aborted: false }
const thing = (name: string, description = '', price = 0): ItemFields => ({ name, description, price })
const BOOKS = `SELECT bytes, last_id, (SELECT coalesce(sum(octet_length(json)), 0) FROM sluice.items) AS counted
  FROM sluice.item_counter`

t.test('items in PostgreSQL', { skip: WITHOUT_POSTGRES }, async (t) => {
  const databases = await PostgresDatabases.start(t)

  const opened = async (t: Test, itemBytes = NO_LIMITS.itemBytes, url?: string) => {
    const at = url ?? (await databases.create())
    const ways: Database[] = []
    const stores = [0, 1, 2].map(() => {
      const database = openWorkerDatabase(at)
      ways.push(database)
      t.after(() => database.close())
      return createPostgresItemStore(database, () => 1_700_000_000.125, { itemBytes })
    })
    return { stores, ways, items: stores[0]!, database: ways[0]! }
  }

  t.test('bytes are those of an embedded store', async (t) => {
    const { items } = await opened(t)
    const embedded = openStore(t, undefined, () => 1_700_000_000.125).items
    const fields = [
      thing('\ud800 alone', '\udc00\0', 1e-7),
      thing('é😀"\\', '\u2028\n', 5e-324),
      thing('\ufffd', '', 0.1),
      thing('x', 'y', 123_456.789),
    ]
    for (const each of fields) {
      t.same(Buffer.from((await items.create(each)).json), Buffer.from((await embedded.create(each)).json))
    }
    t.same(Buffer.from(await items.list(0, 10)), Buffer.from(embedded.list(0, 10)))
    t.same(
      Buffer.from((await items.replace(2, fields[0]!))!),
      Buffer.from((await embedded.replace(2, fields[0]!))!),
    )
    for (const needle of ['\ud800', '\ufffd', '\0', '😀', '\u2028', 'X']) {
      const [here, there] = [
        await items.search(Buffer.from(needle), 10, PRESENT),
        await embedded.search(Buffer.from(needle), 10, PRESENT),
      ]
      t.equal(Buffer.from(here.items).toString(), Buffer.from(there.items).toString(), needle)
      t.equal(here.scanned, there.scanned)
    }
  })

  t.test('changes that come together are one statement, and reads are', async (t) => {
    const { items, database } = await opened(t)
    await items.create(thing('first'))
    const before = database.statements()
    await Promise.all(Array.from({ length: 400 }, (_, n) => items.create(thing(`n${n}`))))
    t.equal(database.statements() - before, 1)
    const read = await Promise.all(Array.from({ length: 200 }, (_, n) => items.read(n + 1)))
    t.ok(read.every((json) => json !== null))
    t.equal(database.statements() - before, 2)
  })

  t.test('all machines together have the room that items may have, to the byte', async (t) => {
    const { stores, database } = await opened(t, 10_000)
    const outcomes = await Promise.allSettled(
      Array.from({ length: 300 }, (_, n) => stores[n % 3]!.create(thing('x'.repeat(1 + (n % 90))))),
    )
    const made = outcomes.filter(({ status }) => status === 'fulfilled').length
    t.ok(made > 0 && made < 300)
    for (const each of outcomes)
      if (each.status === 'rejected') t.match(each.reason as Fault, { kind: 'unavailable', retryAfter: 30 })
    const [books] = await database.query<{ bytes: number; last_id: number; counted: number }>(BOOKS)
    t.ok(books!.bytes <= 10_000 && books!.bytes === books!.counted, `${books!.bytes} bytes`)
    t.equal(books!.last_id, made, 'a refused item takes no id')
    await t.rejects(stores[1]!.replace(1, thing('y'.repeat(100), 'y'.repeat(1_000))), { name: 'Fault' })
    t.ok(await stores[2]!.replace(1, thing('y')), 'what makes items smaller is taken')
    await Promise.all(Array.from({ length: made }, (_, n) => stores[n % 3]!.remove(n + 1)))
    t.same(await database.query(BOOKS), [{ bytes: 0, last_id: made, counted: 0 }])
  })

  t.test('machines that seed at the same time create each item once', async (t) => {
    const { stores } = await opened(t)
    const lines: string[] = []
    const log = createLog('info', 'test', { write: (line: string) => void lines.push(line) })
    await Promise.all(stores.map((items) => seedItems(items, 2_000, log, systemClock)))
    t.equal(await stores[0]!.lastId(), 2_000)
    const last = JSON.parse(Buffer.from((await stores[1]!.read(2_000))!).toString())
    t.match(last, { name: 'Practice item 2000', id: 2_000 })
    t.ok(lines.length >= 1 && lines.every((line) => /seeded items/.test(line)))
    await seedItems(stores[2]!, 2_000, log, systemClock)
    t.equal(await stores[0]!.lastId(), 2_000, 'a later start adds nothing')
  })

  t.test(
    'a search of more than one slice visits all, in order, and ends where its caller has left',
    async (t) => {
      const { items, database } = await opened(t)
      await database.query(`INSERT INTO sluice.items
      SELECT n, convert_to('{"id":' || n || '}', 'UTF8'), convert_to(CASE WHEN n % 9000 = 1 THEN 'rare' ELSE 'often' END, 'UTF8'), '0'
      FROM generate_series(1, 45000) n`)
      const rare = await items.search(Buffer.from('rare'), 4, PRESENT)
      t.equal(rare.scanned, 45_000)
      t.equal(Buffer.from(rare.items).toString(), '[{"id":1},{"id":9001},{"id":18001},{"id":27001}]')
      const before = database.statements()
      let looks = 0
      const leaving = {
        get aborted() {
          return looks++ > 0
        },
      }
      t.equal((await items.search(Buffer.from('often'), 10, leaving)).scanned, 20_000)
      t.equal(database.statements() - before, 1)
      t.equal(Buffer.from(await items.list(44_998, 10)).toString(), '[{"id":44999},{"id":45000}]')
    },
  )

  t.test('away means unavailable, for all there is, and not for long', async (t) => {
    const own = await PostgresDatabases.start(t)
    const { items, database } = await opened(t, undefined, await own.create())
    await items.create(thing('a'))
    own.cluster.freeze()
    t.after(() => own.cluster.thaw())
    const AWAY = { name: 'Fault', kind: 'unavailable', retryAfter: 1 }
    const all = (): readonly Promise<unknown>[] => [
      Promise.resolve(items.read(1)),
      Promise.resolve(items.list(0, 1)),
      Promise.resolve(items.search(Buffer.from('a'), 1, PRESENT)),
      items.create(thing('b')),
      items.replace(1, thing('b')),
      items.remove(1),
      Promise.resolve(items.lastId()),
    ]
    await Promise.all(all().map((call) => t.rejects(call, AWAY)))
    /** Without probes. */
    const sent = () => ({ ...database.statementsByKind(), other: 0 })
    const before = sent()
    await Promise.all(all().map((call) => t.rejects(call, AWAY)))
    t.strictSame(sent(), before, 'it is not asked again')
    own.cluster.thaw()
  })
})
