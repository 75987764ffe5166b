/** Two releases side by side on one PostgreSQL: the next one only adds to the schema (contract/fleet 3.5). */
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, t } from 'tap'
import { FleetMachine } from '../../src/drill/fleet/machine.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { PostgresCluster, WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'
import { MANAGEMENT_KEY } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'

const BUILT = fileURLToPath(new URL('../../', import.meta.url))
const MAIN = 'src/main.js'
const MIGRATIONS = 'src/store/postgres/migrations'
/** Number of the newest migration of this release. */
const NEWEST = readdirSync(join(BUILT, MIGRATIONS)).sort().at(-1)!.slice(0, 3)

/** What a next release might add: nothing that this one knows stops meaning what it meant. */
const ADDS = `-- serves ${NEWEST}
ALTER TABLE sluice.machines ADD COLUMN colour text NOT NULL DEFAULT 'grey';
CREATE TABLE sluice.next (machine text PRIMARY KEY);
CREATE VIEW sluice.coloured AS SELECT name, colour FROM sluice.machines;
`

/** What the release after it may take away. */
const REMOVES = `-- serves 900
DROP VIEW sluice.coloured;
`

/** A build of a later release: this one with more migrations. Its entry. */
function buildLater(t: Test, migrations: Readonly<Record<string, string>>): string {
  const folder = tempFolder(t)
  const dist = join(folder, 'dist')
  for (const part of ['src', 'workers', 'chunks'])
    cpSync(join(BUILT, part), join(dist, part), { recursive: true })
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  for (const [file, sql] of Object.entries(migrations)) writeFileSync(join(dist, MIGRATIONS, file), sql)
  return join(dist, MAIN)
}

/** Machines of a test on one database, which end with it. */
async function fleetOf(t: Test, databaseUrl: string) {
  const folder = tempFolder(t)
  const sealingKey = join(folder, 'sealing.key')
  writeFileSync(sealingKey, Buffer.alloc(32, 7))
  const environment = {
    PATH: process.env.PATH ?? '',
    SLUICE_SEALING_KEY_FILE: sealingKey,
    SLUICE_PUBLIC_URL: 'http://127.0.0.1:8444',
    SLUICE_MANAGEMENT_KEY: MANAGEMENT_KEY,
  }
  return async (name: string, main: string): Promise<FleetMachine> => {
    const own = join(folder, name)
    mkdirSync(own, { recursive: true })
    const command = [process.execPath, main]
    const machine = await FleetMachine.prepare({ command, environment, name, folder: own, databaseUrl })
    t.after(() => machine.stop())
    return machine
  }
}

interface ToldMachine {
  readonly name: string
  readonly state: string
  readonly beat_age_s: number
}

async function machinesOf({ url }: FleetMachine): Promise<readonly ToldMachine[]> {
  const reply = await fetch(`${url}/api/v1/fleet`, { headers: { Authorization: `Bearer ${MANAGEMENT_KEY}` } })
  if (reply.status !== 200) throw new Error(`${reply.status}: ${await reply.text()}`)
  return ((await reply.json()) as { data: { machines: ToldMachine[] } }).data.machines
}

const statesOf = async (machine: FleetMachine): Promise<Record<string, string>> =>
  Object.fromEntries((await machinesOf(machine)).map(({ name, state }) => [name, state]))

t.test('two releases', { skip: WITHOUT_POSTGRES }, async (t) => {
  const cluster = await PostgresCluster.start(t)
  const own = join(BUILT, MAIN)
  const next = buildLater(t, { '900_next.sql': ADDS })
  const afterNext = buildLater(t, { '900_next.sql': ADDS, '901_last.sql': REMOVES })

  t.test(
    'serve side by side; the old one starts again until a release comes that does not serve it',
    async (t) => {
      const url = await cluster.database()
      const database = new URL(url).pathname.slice(1)
      const machine = await fleetOf(t, url)
      const old = await machine('old', own)
      await old.start()
      const newer = await machine('newer', next)
      await newer.start()
      t.strictSame(await statesOf(old), { newer: 'live', old: 'live' }, 'the old one sees both')
      t.strictSame(await statesOf(newer), { newer: 'live', old: 'live' }, 'so does the new one')
      const beats = async () =>
        cluster.sql<{ beat: string }>('SELECT beat FROM sluice.machines ORDER BY name', database)
      const before = await beats()
      await eventually(
        async () => (await beats()).every(({ beat }, at) => Number(beat) > Number(before[at]!.beat)) || null,
      )

      const [applied] = await cluster.sql<{ count: string }>(
        "SELECT count(*) FROM sluice.migrations WHERE name = '900_next'",
        database,
      )
      t.equal(applied!.count, '1')
      await old.kill()
      await old.start()
      t.strictSame(
        await statesOf(newer),
        { newer: 'live', old: 'live' },
        'what its supervisor starts again serves',
      )

      const last = await machine('last', afterNext)
      await last.start()
      t.strictSame(await statesOf(last), { last: 'live', newer: 'live', old: 'live' }, 'those that run go on')
      const late = await machine('late', own)
      late.spawn()
      const { code } = await late.server.closed
      t.equal(code, 2)
      t.match(
        late.server.stderr,
        'the database has the schema of a newer release (901_last), which this one does not know',
      )
      t.strictSame(
        await statesOf(newer),
        { last: 'live', newer: 'live', old: 'live' },
        'nothing was written for it',
      )

      t.equal(await old.stop(), 0)
      t.strictSame(await statesOf(newer), { last: 'live', newer: 'live', old: 'left' })
    },
  )
})
