/** Many writers at once, in one process and in several that are killed: replicas end equal to the database. */
import fc from 'fast-check'
import { t } from 'tap'
import type { ApiKey } from '../../../src/store/account-store.js'
import { BEGAN, hashOf, idOf, keyOf } from '../../support/data/accounts.js'
import { auditOf, policyOf } from '../../support/data/federation.js'
import { contentsOfDatabase, contentsOfReplica } from '../../support/data/replica-contents.js'
import { ReplicaGroup, type ReplicaMachine } from '../../support/data/replicated-stores.js'
import { type ReplicaPeer, startReplicaPeer } from '../../support/peers/replica-peer.js'
import { WITHOUT_POSTGRES } from '../../support/servers/postgres-cluster.js'
import { PostgresDatabases } from '../../support/servers/postgres-databases.js'

const MACHINES = 3
const KEYS = 4

interface Deed {
  readonly machine: number
  readonly key: number
  readonly do: 'raise' | 'add' | 'delete' | 'policy' | 'unpolicy' | 'nothing'
  /** Turns of the loop before it begins. */
  readonly after: number
}

const deed: fc.Arbitrary<Deed> = fc.record({
  machine: fc.nat(MACHINES),
  key: fc.nat(KEYS - 1),
  do: fc.constantFrom('raise', 'raise', 'raise', 'add', 'delete', 'policy', 'unpolicy', 'nothing'),
  after: fc.nat(30),
})

const raised = (key: ApiKey): ApiKey => ({ ...key, limit: (key.limit ?? 0) + 1 })

/** What it has added to the sum of limits, 0 or 1. */
async function perform({ accounts, federation }: ReplicaMachine, each: Deed, n: number): Promise<number> {
  const hash = hashOf(each.key)
  switch (each.do) {
    case 'raise':
      return (await accounts.changeKey(hash, raised)) === null ? 0 : 1
    case 'add':
      await accounts.addKey(keyOf(each.key))
      return 0
    case 'delete':
      await accounts.changeKey(hash, (key) => ({ ...key, deletedAt: BEGAN }))
      return 0
    case 'policy':
      await federation.policies.add(policyOf(each.key), auditOf(n))
      return 0
    case 'unpolicy':
      await federation.policies.remove(policyOf(each.key).id, auditOf(n))
      return 0
    case 'nothing':
      await accounts.changeKey(hash, (key) => key)
      return 0
  }
}

async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve))
}

void t.test('writers of a fleet', { skip: WITHOUT_POSTGRES }, async (within) => {
  const databases = await PostgresDatabases.start(within)

  await within.test(
    'after any interleaving all replicas are equal to the database, and no change is lost',
    async (t) => {
      const group = new ReplicaGroup(await databases.create())
      t.after(() => group.end())
      for (let n = 0; n < MACHINES; n++) await group.add()
      // The last one is another process of the first machine, as far as LMDB can tell.
      await group.add(group.machines[0]!.dataDir)
      let run = 0
      await fc.assert(
        fc.asyncProperty(fc.array(deed, { minLength: 5, maxLength: 60, size: 'max' }), async (deeds) => {
          const first = KEYS * ++run
          const { database } = group.machines[0]!
          const before = await sumOfLimits(group.machines[0]!)
          const gains = await Promise.all(
            deeds.map(async (each, n) => {
              await turns(each.after)
              const machine = group.machines[each.machine]!
              return perform(machine, { ...each, key: first + each.key }, n)
            }),
          )
          const inDatabase = await contentsOfDatabase(database)
          for (const machine of group.machines) {
            await machine.records.catchUp()
            t.strictSame(await contentsOfReplica(machine.dataDir), inDatabase)
          }
          const gain = gains.reduce((sum, each) => sum + each, 0)
          t.equal((await sumOfLimits(group.machines[1]!)) - before, gain)
        }),
        { numRuns: 15 },
      )
    },
  )

  await within.test('of processes that found at once exactly one has founded', async (t) => {
    const group = new ReplicaGroup(await databases.create())
    t.after(() => group.end())
    const folders = [group.newFolder(), group.newFolder(), group.newFolder()]
    const peers = await Promise.all(folders.map((folder) => startReplicaPeer(folder, group.url)))
    t.after(() => Promise.all(peers.map((peer) => peer.end())))
    const won = await Promise.all(peers.map((peer, n) => peer.ask({ do: 'found', n })))
    t.equal(won.filter((each) => each === true).length, 1)
    const { accounts } = await group.add()
    t.strictSame(
      accounts.organizations().map(({ id }) => id),
      [idOf(won.indexOf(true))],
    )
  })

  await within.test('processes that are killed while they change lose and repeat nothing', async (t) => {
    const group = new ReplicaGroup(await databases.create())
    t.after(() => group.end())
    const witness = await group.add()
    await witness.accounts.addKey(keyOf(1, { limit: 0 }))
    const folders = [group.newFolder(), group.newFolder()]
    const TIMES = 25
    let acknowledged = 0
    let asked = 0
    for (let round = 0; round < 4; round++) {
      // Two processes of one machine, and one of another.
      const peers = await Promise.all(
        [folders[0]!, folders[0]!, folders[1]!].map((folder) => startReplicaPeer(folder, group.url)),
      )
      asked += TIMES * peers.length
      const victim = peers[round % peers.length]!
      const seen = await sumOfLimits(witness)
      const work = peers.map((peer) => peer.ask({ do: 'raise', hash: hashOf(1), times: TIMES }))
      await raisedBeyond(witness, seen + 10)
      victim.child.kill('SIGKILL')
      const outcomes = await Promise.allSettled(work)
      acknowledged += TIMES * outcomes.filter(({ status }) => status === 'fulfilled').length
      t.ok(outcomes.filter(({ status }) => status === 'fulfilled').length >= 2, 'the others go on')
      await Promise.all(peers.map((peer) => endIfAlive(peer)))
    }
    await witness.records.catchUp()
    const limit = witness.accounts.key(hashOf(1))!.limit!
    t.ok(limit >= acknowledged && limit <= asked, `${acknowledged} <= ${limit} <= ${asked}`)
    const inDatabase = await contentsOfDatabase(witness.database)
    t.equal(inDatabase.position?.version, 1 + limit, 'every change has its version')
    for (const folder of folders) {
      const machine = await group.add(folder)
      t.strictSame(await contentsOfReplica(machine.dataDir), inDatabase)
    }
  })
})

async function sumOfLimits({ accounts, records }: ReplicaMachine): Promise<number> {
  await records.catchUp()
  // Deleted keys are in no list and keep their limits; every run has keys of its own.
  let sum = 0
  for (let n = 0; n < 200; n++) sum += accounts.key(hashOf(n))?.limit ?? 0
  return sum
}

async function raisedBeyond(machine: ReplicaMachine, limit: number): Promise<void> {
  while ((await sumOfLimits(machine)) < limit) await turns(1)
}

async function endIfAlive(peer: ReplicaPeer): Promise<void> {
  if (peer.child.signalCode === null) await peer.end()
}
