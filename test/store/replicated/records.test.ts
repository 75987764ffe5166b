/** Managed records of a fleet: machines with a replica each over one PostgreSQL (src/store/replicated). */
import { type Test, t } from 'tap'
import type { ApiKey } from '../../../src/store/account-store.js'
import { hashOf, idOf, keyOf, organizationOf, workspaceOf } from '../../support/data/accounts.js'
import { contentsOfDatabase, contentsOfReplica } from '../../support/data/replica-contents.js'
import { ReplicaGroup } from '../../support/data/replicated-stores.js'
import { PostgresCluster, WITHOUT_POSTGRES } from '../../support/servers/postgres-cluster.js'

const higher = (key: ApiKey): ApiKey => ({ ...key, limit: (key.limit ?? 0) + 1 })

void t.test('records of a fleet', { skip: WITHOUT_POSTGRES }, async (within) => {
  const cluster = await PostgresCluster.start(within)

  const newGroup = async (t: Test): Promise<ReplicaGroup> => {
    const group = new ReplicaGroup(await cluster.database())
    await group.migrate()
    t.after(() => group.end())
    return group
  }

  await within.test(
    'a change is read on every machine once it is acknowledged, with one barrier',
    async (t) => {
      const group = await newGroup(t)
      const [a, b, c] = [await group.add(), await group.add(), await group.add()]
      t.equal(await a.accounts.addKey(keyOf(1)), true)
      for (const { accounts } of [a, b, c]) t.strictSame(accounts.key(hashOf(1)), keyOf(1))
      await b.accounts.changeKey(hashOf(1), (key) => ({ ...key, disabled: true }))
      for (const { accounts } of [a, b, c]) t.equal(accounts.key(hashOf(1))?.disabled, true)
      t.strictSame(group.passed, [1, 2])
    },
  )

  await within.test(
    'a change that changes nothing writes nothing, and is answered when all machines have what it found',
    async (t) => {
      const group = await newGroup(t)
      const [a, b] = [await group.add(), await group.add()]
      await a.accounts.addKey(keyOf(1))
      t.equal(await b.accounts.addKey(keyOf(1)), false)
      t.strictSame(await b.accounts.changeKey(hashOf(1), (key) => ({ ...key })), keyOf(1))
      t.equal(await b.accounts.changeKey(hashOf(2), higher), null)
      t.strictSame(group.passed, [1, 1, 1, 1])
      t.equal((await contentsOfDatabase(a.database)).position?.version, 1)
    },
  )

  await within.test(
    'changes on machines and in processes of one machine do not undo each other',
    async (t) => {
      const group = await newGroup(t)
      const a = await group.add()
      const group3 = [a, await group.add(a.dataDir), await group.add(), await group.add()]
      await a.accounts.addKey(keyOf(1))
      const changes = group3.flatMap(({ accounts }) =>
        Array.from({ length: 40 }, async (_, n) => {
          for (let i = 0; i < n % 3; i++) await Promise.resolve()
          await accounts.changeKey(hashOf(1), higher)
        }),
      )
      await Promise.all(changes)
      const inDatabase = await contentsOfDatabase(a.database)
      for (const { accounts, dataDir } of group3) {
        t.equal(accounts.key(hashOf(1))?.limit, 160)
        t.strictSame(await contentsOfReplica(dataDir), inDatabase)
      }
    },
  )

  await within.test('of machines that found at once exactly one has founded, and all see it', async (t) => {
    const group = await newGroup(t)
    const machines = [await group.add(), await group.add(), await group.add()]
    const won = await Promise.all(
      machines.map(({ accounts }, n) =>
        accounts.bootstrap({
          organization: organizationOf(n),
          workspaces: [workspaceOf(n + 10, idOf(n))],
          keys: [keyOf(n, { organizationId: idOf(n) })],
        }),
      ),
    )
    t.equal(won.filter((each) => each).length, 1)
    for (const { accounts } of machines) {
      t.strictSame(accounts.organizations(), [organizationOf(won.indexOf(true))])
      t.equal(accounts.keys().length, 1)
    }
  })

  await within.test('a change that throws fails alone, and leaves nothing of itself', async (t) => {
    const group = await newGroup(t)
    const a = await group.add()
    await a.accounts.addKey(keyOf(1))
    const broken = a.accounts.changeKey(hashOf(1), () => {
      throw new RangeError('a defect')
    })
    const whole = a.accounts.changeKey(hashOf(1), higher)
    await t.rejects(broken, RangeError)
    t.equal((await whole)?.limit, 1)
  })
})
