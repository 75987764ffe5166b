/** A key that was disabled serves nowhere from the answer on, whatever state machines are in (contract/fleet 3.1). */
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { type Test, t } from 'tap'
import { Fleet } from '../../src/drill/fleet/fleet.js'
import type { FleetMachine } from '../../src/drill/fleet/machine.js'
import { signalTree } from '../../src/drill/fleet/process-tree.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { startPgbouncer, WITHOUT_PGBOUNCER } from '../support/servers/pgbouncer.js'
import { PostgresCluster, WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'
import { MANAGEMENT_KEY } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'

const COMMAND = [process.execPath, fileURLToPath(new URL('../../src/main.js', import.meta.url))]
/** Beats come every second: a busy machine may be late with some of them. */
const STALENESS_MS = 4_000
/** For what takes seconds on a machine that does nothing else. */
const LONG_MS = 30_000

async function startFleet(
  t: Test,
  cluster: PostgresCluster,
  more: Readonly<Record<string, string>> = {},
  port = cluster.port,
) {
  const url = new URL(await cluster.database())
  url.port = String(port)
  const fleet = await Fleet.prepare({
    command: COMMAND,
    environment: {
      PATH: process.env.PATH ?? '',
      SLUICE_PUBLIC_URL: 'http://127.0.0.1:8444',
      SLUICE_MANAGEMENT_KEY: MANAGEMENT_KEY,
      SLUICE_FLEET_STALENESS_MS: String(STALENESS_MS),
      SLUICE_DATABASE_CONNECTIONS: '3',
      ...more,
    },
    databaseUrl: url.href,
    ...{ size: 2, folder: tempFolder(t), proxied: true },
  })
  t.after(async () => {
    for (const machine of fleet.machines) await machine.kill()
    for (const link of fleet.links) {
      // What it holds back would keep this process alive.
      link.fault = { kind: 'none' }
      await link.close()
    }
  })
  await fleet.start()
  const [a, b] = fleet.machines as [FleetMachine, FleetMachine]
  return { fleet, a, b, wayOfB: fleet.links[1]! }
}

async function manage({ url }: FleetMachine, method: string, path: string, body?: object) {
  const begun = performance.now()
  const reply = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { Authorization: `Bearer ${MANAGEMENT_KEY}`, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const { status } = reply
  return { status, ms: performance.now() - begun, json: (await reply.json()) as Record<string, never> }
}

async function createKey(machine: FleetMachine): Promise<{ readonly key: string; readonly hash: string }> {
  const { status, json } = await manage(machine, 'POST', '/keys', { name: 'to be disabled' })
  if (status !== 201 && status !== 202) throw new Error(`${status}: ${JSON.stringify(json)}`)
  const { key, data } = json as unknown as { key: string; data: { hash: string } }
  return { key, hash: data.hash }
}

const disable = (machine: FleetMachine, hash: string) =>
  manage(machine, 'PATCH', `/keys/${hash}`, { disabled: true })

async function statusOf({ url }: FleetMachine, key: string): Promise<number> {
  const reply = await fetch(`${url}/api/v1/models/user`, { headers: { Authorization: `Bearer ${key}` } })
  await reply.arrayBuffer()
  return reply.status
}

/** A request that lies in the buffers of a machine, and the status that it is answered with some day. */
async function sendEarly({ port }: FleetMachine, key: string): Promise<{ readonly answer: Promise<number> }> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(
    `GET /api/v1/models/user HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
  )
  const answer = once(socket, 'data').then(([head]) => {
    socket.destroy()
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(String(head))?.[1])
  })
  return { answer }
}

t.test('revocation over machines', { skip: WITHOUT_POSTGRES }, async (t) => {
  const cluster = await PostgresCluster.start(t)

  t.test('machines that live confirm at once', async (t) => {
    const patience = 60_000
    const { a, b } = await startFleet(t, cluster, { SLUICE_FLEET_STALENESS_MS: String(patience) })
    const { key, hash } = await createKey(a)
    t.equal(await statusOf(b, key), 200, 'a new key is good everywhere from the answer on')
    const { status, ms } = await disable(a, hash)
    t.equal(status, 200)
    t.ok(ms < patience, 'nobody was waited for until it would have expired')
    t.equal(await statusOf(b, key), 401)
  })

  t.test(
    'a machine that is frozen serves nothing of what it had read, and comes back by itself',
    async (t) => {
      const { a, b } = await startFleet(t, cluster)
      const { key, hash } = await createKey(a)
      t.equal(await statusOf(b, key), 200)
      b.freeze()
      const early = await sendEarly(b, key)
      const { status, ms } = await disable(a, hash)
      t.equal(status, 200)
      t.ok(ms >= STALENESS_MS / 2, 'it was waited for')
      b.thaw()
      t.equal(await early.answer, 503, 'it finds by itself that its time is over')
      await eventually(async () => (await statusOf(b, key)) === 401 || null, LONG_MS)
      t.equal((await createKey(b)).hash.length, 64, 'and does all that it did')
    },
  )

  t.test('a worker that alone is frozen knows of the change when it goes on', async (t) => {
    const { a, b } = await startFleet(t, cluster)
    const { key, hash } = await createKey(a)
    signalTree(b.server.pid, 'SIGSTOP')
    process.kill(b.server.pid, 'SIGCONT')
    const early = await sendEarly(b, key)
    const { status } = await disable(a, hash)
    t.equal(status, 200)
    b.thaw()
    t.ok([401, 503].includes(await early.answer))
  })

  t.test('a machine that is cut off refuses by itself, and the answer waits until it does', async (t) => {
    const { a, b, wayOfB } = await startFleet(t, cluster)
    const { key, hash } = await createKey(a)
    t.equal(await statusOf(b, key), 200)
    wayOfB.fault = { kind: 'freeze' }
    let isAnswered = false
    const answer = disable(a, hash).finally(() => {
      isAnswered = true
    })
    const after: number[] = []
    await eventually(async () => {
      const knew = isAnswered
      const status = await statusOf(b, key)
      if (knew) after.push(status)
      return after.length === 20 || null
    }, LONG_MS)
    t.equal((await answer).status, 200)
    t.same([...new Set(after)], [503], 'not once does it serve after the answer')
    t.equal((await fetch(`${b.url}/api/v1/health`)).status, 200, 'it is healthy all the same')
    const management = await manage(b, 'POST', '/keys', { name: 'x' })
    t.equal(management.status, 503)
    wayOfB.fault = { kind: 'none' }
    await eventually(async () => (await statusOf(b, key)) === 401 || null, LONG_MS)
  })

  t.test('where machines go on without the store, they are named', async (t) => {
    const { a, b, wayOfB } = await startFleet(t, cluster, { SLUICE_FLEET_WHEN_STORE_IS_AWAY: 'serve' })
    const { key, hash } = await createKey(a)
    wayOfB.fault = { kind: 'refuse' }
    const { status, json } = await disable(a, hash)
    t.equal(status, 202)
    t.same(json.unconfirmed_machines, [b.name])
    t.equal(await statusOf(b, key), 200, 'by its keys as last known')
    t.equal(await statusOf(a, key), 401)
    wayOfB.fault = { kind: 'none' }
    await eventually(async () => (await statusOf(b, key)) === 401 || null, LONG_MS)
    const isConfirmed = eventually(async () => {
      const next = await createKey(a)
      return (await disable(a, next.hash)).status === 200 || null
    }, LONG_MS)
    t.ok(await isConfirmed, 'and everybody has confirmed again, when it has joined anew')
  })

  t.test('a database that stands still for longer than machines may serve', async (t) => {
    const { a, b } = await startFleet(t, cluster)
    const { key } = await createKey(a)
    cluster.freeze()
    t.equal(await statusOf(a, key), 200, 'calls go on')
    await eventually(async () => (await statusOf(a, key)) === 503 || null, LONG_MS)
    await eventually(async () => (await statusOf(b, key)) === 503 || null, LONG_MS)
    t.equal((await fetch(`${a.url}/api/v1/health`)).status, 200)
    cluster.thaw()
    await eventually(async () => (await statusOf(a, key)) === 200 || null, LONG_MS)
    await eventually(async () => (await statusOf(b, key)) === 200 || null, LONG_MS)
  })

  t.test('machines that turn the signing keys over at once have the same ones', async (t) => {
    const { a, b } = await startFleet(t, cluster)
    const kidsOf = async ({ url }: FleetMachine): Promise<readonly string[]> => {
      const { keys } = (await (await fetch(`${url}/api/v1/oauth/jwks`)).json()) as {
        keys: { kid: string }[]
      }
      return keys.map(({ kid }) => kid)
    }
    const before = await kidsOf(a)
    t.same(await kidsOf(b), before, 'also after they have begun at once')
    const turns = await Promise.all(
      [a, b, a, b].map((one) => manage(one, 'POST', '/federation/signing-keys/rotate')),
    )
    t.same([...new Set(turns.map(({ status }) => status))], [200])
    const after = await kidsOf(a)
    t.same(await kidsOf(b), after)
    t.ok(
      before.every((kid) => after.includes(kid)),
      'what was signed before can be verified',
    )
  })

  t.test('behind a pooler changes are looked for', { skip: WITHOUT_PGBOUNCER }, async (t) => {
    const port = await startPgbouncer(t, cluster.port)
    const { a, b, wayOfB } = await startFleet(t, cluster, {}, port)
    t.match(a.server.stdout, /sluice is behind a pooler of connections/)
    const { key, hash } = await createKey(a)
    t.equal(await statusOf(b, key), 200)
    t.equal((await disable(a, hash)).status, 200)
    t.equal(await statusOf(b, key), 401)
    const next = await createKey(b)
    wayOfB.fault = { kind: 'freeze' }
    t.equal((await disable(a, next.hash)).status, 200)
    t.equal(await statusOf(b, next.key), 503)
  })
})
