/** What a machine of a fleet is told when it must not start, in one sentence, and what it waits for (contract/fleet 6). */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, t } from 'tap'
import { FaultProxy } from '../../src/drill/fleet/fault-proxy.js'
import { FleetMachine } from '../../src/drill/fleet/machine.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { PostgresCluster, WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'
import { eventually } from '../support/timing/eventually.js'

const COMMAND = [process.execPath, fileURLToPath(new URL('../../src/main.js', import.meta.url))]
/** A process that starts beside many others takes its time. */
const START_MS = 60_000
const KEY = 'sk-for-trials-only-0123456789abcdef'

/** Makes machines of one database; each has a folder of its own unless the folder is told. */
function machinesOf(t: Test, databaseUrl: string) {
  const root = tempFolder(t)
  const keyFile = (name: string, bytes: Uint8Array | string): string => {
    const path = join(root, name)
    writeFileSync(path, bytes)
    return path
  }
  const sealingKey = keyFile('sealing.key', Buffer.alloc(32, 7))
  return {
    keyFile,
    machine: async (
      name: string,
      environment: Readonly<Record<string, string>> = {},
      folder = join(root, `folder-of-${name}-${readdirSync(root).length}`),
    ): Promise<FleetMachine> => {
      mkdirSync(folder, { recursive: true })
      const machine = await FleetMachine.prepare({
        command: COMMAND,
        environment: {
          PATH: process.env.PATH ?? '',
          SLUICE_SEALING_KEY_FILE: sealingKey,
          SLUICE_PUBLIC_URL: 'http://127.0.0.1:8444',
          SLUICE_FLEET_STALENESS_MS: '5000',
          ...environment,
        },
        ...{ name, folder, databaseUrl },
      })
      t.after(() => machine.kill())
      return machine
    },
  }
}

/** How a start ends that must end by itself: with exit code 2 and these words, after nothing was made. */
async function refused(t: Test, machine: FleetMachine, sentence: RegExp): Promise<void> {
  machine.spawn()
  const { code } = await machine.server.closed
  const told = machine.server.stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'))
  t.equal(code, 2, `exit code, of ${told}`)
  t.match(told, [sentence], 'one sentence')
  t.equal(told.length, 1, 'and no other')
  t.notMatch(machine.server.stdout, /listening/)
}

t.test('a machine that must not start', { skip: WITHOUT_POSTGRES }, async (t) => {
  const cluster = await PostgresCluster.start(t)

  t.test('whose facts are not those of the fleet', async (t) => {
    const { machine, keyFile } = machinesOf(t, await cluster.database())
    const first = await machine('a', { SLUICE_API_KEY: KEY })
    await first.start()
    const base64 = keyFile('same.txt', `${Buffer.alloc(32, 7).toString('base64')}\n`)
    const another = keyFile('other.key', Buffer.alloc(32, 8))
    const short = keyFile('short.key', Buffer.alloc(31, 7))
    const settings = { SLUICE_API_KEY: KEY }

    await refused(
      t,
      await machine('b', { ...settings, SLUICE_SEALING_KEY_FILE: another }),
      /^sluice: the sealing key \(SLUICE_SEALING_KEY_FILE\) is not the one/,
    )
    await refused(
      t,
      await machine('b', { ...settings, SLUICE_SEALING_KEY_FILE: short }),
      /^sluice: .*short\.key holds no sealing key: 32 bytes, raw or in base64, are needed$/,
    )
    await refused(
      t,
      await machine('b', { ...settings, SLUICE_PUBLIC_URL: 'https://elsewhere.example' }),
      /^sluice: SLUICE_PUBLIC_URL is not what it is on the machine "a"/,
    )
    await refused(t, await machine('b', {}), /^sluice: SLUICE_API_KEY is not what it is on the machine "a"/)
    await refused(
      t,
      await machine('a', settings),
      /^sluice: a machine of the name "a" is running with another data folder/,
    )
    const good = await machine('b', { ...settings, SLUICE_SEALING_KEY_FILE: base64 })
    await good.start()
    t.equal(await good.stop(), 0)
    t.equal(await first.stop(), 0)
  })

  t.test('on a database that is not ours', async (t) => {
    const strange = await cluster.database('strange')
    await cluster.sql('CREATE SCHEMA sluice; CREATE TABLE sluice.machines (id int)', 'strange')
    await refused(t, await machinesOf(t, strange).machine('a'), /holds tables of something else/)
    const tables = await cluster.sql("SELECT FROM pg_tables WHERE schemaname = 'sluice'", 'strange')
    t.equal(tables.length, 1, 'nothing was added')

    const reading = await cluster.database('reading')
    await cluster.sql('ALTER DATABASE reading SET default_transaction_read_only = on')
    await refused(t, await machinesOf(t, reading).machine('a'), /the database only reads/)

    const newer = await cluster.database('newer')
    const { machine } = machinesOf(t, newer)
    const before = await machine('a')
    await before.start()
    await before.stop()
    await cluster.sql("INSERT INTO sluice.migrations VALUES (999, '999_later', 'x')", 'newer')
    await refused(t, await machine('a', {}, before.folder), /schema of a newer release \(999_later\)/)
  })

  t.test('unrelated tables do no harm', async (t) => {
    const shared = await cluster.database('shared')
    await cluster.sql('CREATE TABLE machines (id int); CREATE TABLE public.keys (id int)', 'shared')
    const one = await machinesOf(t, shared).machine('a')
    await one.start()
    t.equal(await one.stop(), 0)
  })

  t.test('the same folder starts again at once; another takes a name whose machine is dead', async (t) => {
    const { machine } = machinesOf(t, await cluster.database('again'))
    const one = await machine('a')
    await one.start()
    await one.kill()
    await one.start()
    t.notMatch(one.server.stdout, /sluice waits/, 'without waiting for anything')
    await one.kill()

    const heir = await machine('a')
    await heir.start()
    t.match(heir.server.stdout, /sluice waits up to 6 s: another machine of the name "a" may be running/)
    const [row] = await cluster.sql<{ epoch: string; state: string }>(
      'SELECT epoch, state FROM sluice.machines',
      'again',
    )
    t.match(row, { epoch: '3', state: 'live' })
    t.equal(await heir.stop(), 0)
    const [left] = await cluster.sql<{ state: string }>('SELECT state FROM sluice.machines', 'again')
    t.match(left, { state: 'left' }, 'who leaves is waited for by nobody')
  })

  t.test('a name with a part of the limits out needs "sluice fleet forget"', async (t) => {
    const { machine } = machinesOf(t, await cluster.database('owing'))
    const one = await machine('a')
    await one.start()
    await one.kill()
    await cluster.sql(
      `INSERT INTO sluice.bank_accounts (name, kind, capacity, leased) VALUES ('k', 'money', 100, 40);
       INSERT INTO sluice.bank_leases (account, machine, epoch, drawn) VALUES ('k', 'a', 1, 40)`,
      'owing',
    )
    await refused(t, await machine('a'), /still holds a part of the limits.*"sluice fleet forget a"/)
    await one.start()
    t.equal(await one.stop(), 0, 'its own folder may start')
  })

  t.test('a database that cannot be reached is waited for', async (t) => {
    const url = new URL(await cluster.database('later'))
    const way = await FaultProxy.listen([cluster.port])
    t.after(() => way.close())
    url.port = String(way.port)
    way.fault = { kind: 'refuse' }
    const one = await machinesOf(t, url.href).machine('a')
    one.spawn()
    await eventually(
      () => /sluice waits for the database \(SLUICE_DATABASE_URL\)/.test(one.server.stdout) || null,
      START_MS,
    )
    way.fault = { kind: 'none' }
    await one.server.untilListening(START_MS)
    t.equal(await one.stop(), 0)

    way.fault = { kind: 'refuse' }
    one.spawn()
    await eventually(() => /sluice waits for the database/.test(one.server.stdout) || null, START_MS)
    t.equal(await one.stop(), 0, 'who ends it meanwhile sees a clean end')
  })

  t.test('a machine ends cleanly although the database is away', async (t) => {
    const url = new URL(await cluster.database('gone'))
    const way = await FaultProxy.listen([cluster.port])
    t.after(() => {
      // What it holds back would keep this process alive.
      way.fault = { kind: 'none' }
      return way.close()
    })
    url.port = String(way.port)
    const one = await machinesOf(t, url.href).machine('a', { SLUICE_DRAIN_DEADLINE_MS: '5000' })
    for (const kind of ['refuse', 'freeze'] as const) {
      await one.start()
      way.fault = { kind }
      t.equal(await one.stop(), 0, kind)
      way.fault = { kind: 'none' }
    }
    await one.start()
    t.equal(await one.stop(), 0, 'and starts again')
  })
})
