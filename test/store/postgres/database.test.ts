import { setImmediate as turn } from 'node:timers/promises'
import { t } from 'tap'
import { systemClock } from '../../../src/base/clock.js'
import { type Database, openDatabase } from '../../../src/store/postgres/database.js'
import { migrate, readMigrations, readSchemaState } from '../../../src/store/postgres/migrate.js'
import { PostgresCluster, WITHOUT_POSTGRES } from '../../support/servers/postgres-cluster.js'
import { eventually } from '../../support/timing/eventually.js'

t.test('PostgreSQL', { skip: WITHOUT_POSTGRES }, async (t) => {
  const cluster = await PostgresCluster.start(t)

  const opened = async (name?: string): Promise<{ database: Database; changes: boolean[] }> => {
    const changes: boolean[] = []
    const database = openDatabase({
      url: name ?? (await cluster.database()),
      connections: 4,
      clock: systemClock,
      name: 'test',
      onChange: (isAway) => changes.push(isAway),
    })
    t.after(() => database.close())
    return { database, changes }
  }

  t.test('whole numbers come as numbers, and what no number holds is an error', async (t) => {
    const { database } = await opened()
    t.same(
      await database.query('SELECT 9007199254740991::bigint AS a, sum(x) AS b FROM unnest($1::bigint[]) x', [
        [1, 2],
      ]),
      [{ a: 9007199254740991, b: 3 }],
    )
    await t.rejects(database.query('SELECT 9007199254740993::bigint AS a'), RangeError)
    t.same(await database.query('SELECT 1 AS a'), [{ a: 1 }], 'the connection is as good as before')
  })

  t.test('a transaction whose work rejects has changed nothing', async (t) => {
    const { database } = await opened()
    await database.query('CREATE TABLE a (b int)')
    await t.rejects(
      database.transaction(async (query) => {
        await query('INSERT INTO a VALUES (1)')
        throw new Error('no')
      }),
      /no/,
    )
    t.same(await database.query('SELECT * FROM a'), [])
  })

  t.test('transactions that are in each other’s way are done again', async (t) => {
    const { database } = await opened()
    await database.query('CREATE TABLE a (b int)')
    await database.query('INSERT INTO a VALUES (0)')
    const add = () =>
      database.transaction(
        async (query) => {
          const [row] = await query<{ b: number }>('SELECT b FROM a')
          await query('UPDATE a SET b = $1', [row!.b + 1])
        },
        { isolation: 'repeatable read' },
      )
    await Promise.all([add(), add(), add()])
    t.same(await database.query('SELECT b FROM a'), [{ b: 3 }])
  })

  t.test(
    'a database that stands still is late once, then away at once, and comes back by itself',
    async (t) => {
      const own = await PostgresCluster.start(t)
      const { database, changes } = await opened(await own.database())
      await database.query('SELECT 1')
      own.freeze()
      await t.rejects(database.query('SELECT 1', [], { deadlineMs: 200 }), /unavailable/)
      t.ok(database.isAway)
      let isRefused = false
      const refused = t.rejects(database.query('SELECT 1'), /unavailable/).then(() => {
        isRefused = true
      })
      await turn()
      t.ok(isRefused, 'nobody waits for it')
      await refused
      own.thaw()
      await eventually(() => !database.isAway)
      t.same(await database.query('SELECT 1 AS a'), [{ a: 1 }])
      t.same(changes, [true, false])
    },
  )

  t.test('a database that was killed is back when it has started', async (t) => {
    const own = await PostgresCluster.start(t)
    const { database } = await opened(await own.database())
    await database.query('SELECT 1')
    await own.kill()
    await t.rejects(database.query('SELECT 1'), /unavailable/)
    await t.rejects(database.query('SELECT 1'), /unavailable/)
    await own.start()
    await eventually(async () => (await database.query('SELECT 1')).length)
  })

  t.test('a database that dies under a statement ends that statement, and not the process', async (t) => {
    const own = await PostgresCluster.start(t)
    const { database } = await opened(await own.database())
    const slow = database.query('SELECT pg_sleep(60)', [], { deadlineMs: 60_000 })
    const refused = t.rejects(slow, /unavailable/)
    await eventually(
      async () => (await own.sql("SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'")).length,
    )
    await own.kill()
    await refused
  })

  t.test('a statement that is slow ends by itself, and turns nobody else away', async (t) => {
    // PostgreSQL ends it a quarter of a second before the call gives up: on a busy machine that is not always first.
    const { database, changes } = await eventually(async () => {
      const tried = await opened()
      const error = await tried.database.query('SELECT pg_sleep(30)').catch((each) => each)
      return error.cause?.code === '57014' ? tried : null
    }, 30_000)
    t.notOk(database.isAway)
    const late = t.rejects(database.query('SELECT pg_sleep(30)', [], { deadlineMs: 1_500 }), /unavailable/)
    t.same(await database.query('SELECT 1 AS a'), [{ a: 1 }])
    await late
    t.same(changes, [], 'others were answered while it was late')
  })

  t.test(
    'connections that are all busy turn away who waits too long for one, and nobody after',
    async (t) => {
      const { database, changes } = await opened()
      const busy = Array.from({ length: 4 }, () =>
        database.transaction(async (query) => {
          // Longer than anybody waits for a connection, each statement within its deadline.
          for (let i = 0; i < 12; i++) await query('SELECT pg_sleep(0.2)')
        }),
      )
      await t.rejects(database.query('SELECT 1'), /unavailable/)
      await Promise.all(busy)
      t.same(await database.query('SELECT 1 AS a'), [{ a: 1 }])
      t.same(changes, [])
    },
  )

  t.test(
    'a transaction that keeps an error to itself has not happened, and is not said to have',
    async (t) => {
      const { database } = await opened()
      await database.query('CREATE TABLE a (b int PRIMARY KEY)')
      const adding = database.transaction(async (query) => {
        await query('INSERT INTO a VALUES (1)')
        await query('INSERT INTO a VALUES (1)').catch(() => {})
      })
      await t.rejects(adding, /nothing was changed/)
      t.same(await database.query('SELECT * FROM a'), [])
    },
  )

  t.test('what a transaction has left running changes nothing behind it', async (t) => {
    const { database } = await opened()
    await database.query('CREATE TABLE a (b int)')
    let late: Promise<unknown> | null = null
    const failing = database.transaction(async (query) => {
      late = query('SELECT pg_sleep(0.1)').then(() => query('INSERT INTO a VALUES (1)'))
      late.catch(() => {})
      throw new Error('no')
    })
    await t.rejects(failing, /no/)
    await t.rejects(late!, /after its transaction/)
    t.same(await database.query('SELECT * FROM a'), [])
  })

  t.test('connections to what only reads since a failover are not used again', async (t) => {
    const url = await cluster.database('demoted')
    const { database } = await opened(url)
    await database.query('CREATE TABLE a (b int)')
    await cluster.sql('ALTER DATABASE demoted SET default_transaction_read_only = on')
    // The setting is that of a session: one that was made before goes on to write.
    const other = (await opened(url)).database
    await t.rejects(other.query('INSERT INTO a VALUES (1)'), /unavailable/)
    await cluster.sql('ALTER DATABASE demoted RESET default_transaction_read_only')
    await other.query('INSERT INTO a VALUES (1)')
    t.notOk(other.isAway)
  })

  t.test('migrations are applied once, whoever comes first', async (t) => {
    const url = await cluster.database()
    const [a, b] = [await opened(url), await opened(url)]
    const [first] = migrations('CREATE TABLE sluice.a (b int)')
    const applied = await Promise.all([migrate(a.database, [first!]), migrate(b.database, [first!])])
    t.same(applied.flat(), ['001_one'])
    t.same(await readSchemaState(a.database, migrations('CREATE TABLE sluice.a (b int)', 'SELECT 1')), {
      applied: ['001_one'],
      pending: ['002_two'],
      hasWayBack: false,
    })
  })

  t.test('a schema that this release does not know is left alone', async (t) => {
    const { database } = await opened()
    const both = migrations('SELECT 1', 'SELECT 1')
    await migrate(database, both)
    await t.rejects(migrate(database, both.slice(0, 1)), /newer release \(002_two\)/)
    await t.rejects(
      migrate(database, migrations('SELECT 2', 'SELECT 1')),
      /with another 001_one than this one; use that release/,
    )
    t.same(await migrate(database, both), [])
  })

  t.test('a newer schema is used where it says that it serves this release', async (t) => {
    const { database } = await opened()
    const [one, two] = migrations('SELECT 1', 'SELECT 1')
    await migrate(database, [one!, { ...two!, serves: 1 }])
    t.same(await migrate(database, [one!]), [])
    t.same(await readSchemaState(database, [one!]), {
      applied: ['001_one', '002_two'],
      pending: [],
      hasWayBack: true,
    })
    await t.rejects(migrate(database, [{ ...one!, checksum: 'x' }]), /another 001_one/)

    const later = { ...two!, number: 3, name: '003_three', serves: 2 }
    await migrate(database, [one!, { ...two!, serves: 1 }, later])
    await t.rejects(migrate(database, [one!]), /newer release \(003_three\)/)
    t.same(await migrate(database, [one!, two!]), [])
    await t.rejects(
      migrate(database, [one!, two!, { ...later, number: 4, name: '004_four' }]),
      /newer release \(003_three\)/,
      'a number that it should know',
    )
  })

  t.test('a migration that goes before one that is there is not made behind it', async (t) => {
    const { database } = await opened()
    const [one, two] = migrations('SELECT 1', 'SELECT 1')
    await migrate(database, [{ ...two!, serves: 1 }])
    await t.rejects(migrate(database, [one!, two!]), /has 002_two without 001_one, which goes before it/)
  })

  t.test('the first line of a migration says which release it serves', async (t) => {
    const folder = t.testdir({
      '001_one.sql': 'SELECT 1;',
      '002_two.sql': '-- serves 001\nSELECT 2;',
      '003_three.sql': 'SELECT 3;\n-- serves 001\n',
    })
    t.same(
      readMigrations(folder).map(({ name, serves }) => [name, serves]),
      [
        ['001_one', null],
        ['002_two', 1],
        ['003_three', null],
      ],
    )
  })

  t.test('a migration that fails leaves nothing', async (t) => {
    const { database } = await opened()
    await t.rejects(migrate(database, migrations('CREATE TABLE sluice.a (b int)', 'nonsense')))
    t.same(await database.query(`SELECT 1 FROM pg_namespace WHERE nspname = 'sluice'`), [])
  })

  t.test('tables of something else are told, and left alone', async (t) => {
    const { database } = await opened()
    await database.query('CREATE SCHEMA sluice')
    await database.query('CREATE TABLE sluice.migrations (id int)')
    await t.rejects(migrate(database, migrations('SELECT 1')), /something else/)
    await database.query('DROP TABLE sluice.migrations')
    await database.query('CREATE TABLE sluice.water (id int)')
    await t.rejects(migrate(database, migrations('SELECT 1')), /something else/)
  })

  t.test('a database that only reads is told', async (t) => {
    const url = await cluster.database('reading')
    await cluster.sql('ALTER DATABASE reading SET default_transaction_read_only = on')
    const { database } = await opened(url)
    await t.rejects(migrate(database, migrations('SELECT 1')), /only reads/)
  })
})

function migrations(...statements: readonly string[]) {
  const names = ['one', 'two']
  return statements.map((sql, at) => ({
    number: at + 1,
    name: `00${at + 1}_${names[at]}`,
    sql,
    checksum: `checksum of ${sql}`,
    serves: null as number | null,
  }))
}
