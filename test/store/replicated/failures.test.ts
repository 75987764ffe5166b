/** What becomes of changes and replicas when something fails (src/store/replicated). */
import { rmSync } from 'node:fs'
import { type Test, t } from 'tap'
import { type Clock, systemClock } from '../../../src/base/clock.js'
import { Fault } from '../../../src/base/fault.js'
import type { ApiKey } from '../../../src/store/account-store.js'
import { PostgresChangeLog } from '../../../src/store/postgres/change-log.js'
import type { Database } from '../../../src/store/postgres/database.js'
import { trimRecords } from '../../../src/store/postgres/record-trimming.js'
import { createAccountStore } from '../../../src/store/records/accounts.js'
import { createDirectoryStores } from '../../../src/store/records/directory.js'
import { createFederationStore, FEDERATION_AUDIT } from '../../../src/store/records/federation.js'
import { DIRECTORY_REQUESTS } from '../../../src/store/records/request-log.js'
import { SCIM_AUDIT } from '../../../src/store/records/scim-tables.js'
import type { ChangeLog, RecordChange } from '../../../src/store/replicated/change-log.js'
import { ReplicatedRecords } from '../../../src/store/replicated/records.js'
import { replicaFolder } from '../../../src/store/replicated/replica-folder.js'
import { hashOf, keyOf } from '../../support/data/accounts.js'
import { auditOf, issuerOf } from '../../support/data/federation.js'
import { contentsOfDatabase, contentsOfReplica } from '../../support/data/replica-contents.js'
import { openTestDatabase, ReplicaGroup, type ReplicaMachine } from '../../support/data/replicated-stores.js'
import { tempFolder } from '../../support/data/temp-folder.js'
import { WITHOUT_POSTGRES } from '../../support/servers/postgres-cluster.js'
import { PostgresDatabases } from '../../support/servers/postgres-databases.js'
import { eventually } from '../../support/timing/eventually.js'
import { FakeClock } from '../../support/timing/fake-clock.js'
import { gate } from '../../support/timing/gate.js'

const higher = (key: ApiKey): ApiKey => ({ ...key, limit: (key.limit ?? 0) + 1 })
const UNAVAILABLE = { name: 'Fault', kind: 'unavailable' }
const AWAY = new Fault('unavailable', { detail: 'the answer was lost' })

type WriteFault = (write: () => Promise<boolean>) => Promise<boolean>

/** A log whose writes fail as they are told, one after the other; then they succeed. */
class FailingLog extends PostgresChangeLog implements ChangeLog {
  faults: WriteFault[] = []

  override write(change: RecordChange, from: Parameters<ChangeLog['write']>[1]): Promise<boolean> {
    const write = () => super.write(change, from)
    return (this.faults.shift() ?? ((each) => each()))(write)
  }
}

const lostBefore: WriteFault = async () => {
  throw AWAY
}
const lostAfter: WriteFault = async (write) => {
  await write()
  throw AWAY
}
const overtaken: WriteFault = async () => false

/** One machine whose log fails. */
async function openFailing(t: Test, database: Database, clock: Clock = systemClock) {
  const log = new FailingLog(database, 'failing')
  const folder = tempFolder(t)
  const passed: number[] = []
  const barrier = {
    pass: async (version: number) => {
      passed.push(version)
      return []
    },
  }
  const records = new ReplicatedRecords({ folder, log, barrier, clock })
  const accounts = createAccountStore(records)
  t.after(() => records.close())
  await records.catchUp()
  return { log, records, accounts, passed }
}

void t.test('failures beneath the records of a fleet', { skip: WITHOUT_POSTGRES }, async (within) => {
  const databases = await PostgresDatabases.start(within)

  const newGroup = async (t: Test): Promise<ReplicaGroup> => {
    const group = new ReplicaGroup(await databases.create())
    t.after(() => group.end())
    return group
  }
  const newDatabase = async (t: Test): Promise<Database> => {
    const database = openTestDatabase(await databases.create())
    t.after(() => database.close())
    return database
  }
  const expectEqual = async (t: Test, { database, dataDir, records }: ReplicaMachine): Promise<void> => {
    await records.catchUp()
    t.strictSame(await contentsOfReplica(dataDir), await contentsOfDatabase(database))
  }

  const histories: [string, WriteFault[]][] = [
    ['whose answer was lost', [lostAfter]],
    ['that was lost on its way', [lostBefore]],
    ['that was lost both ways', [lostBefore, lostAfter]],
    ['that was overtaken until it holds the head', [overtaken, overtaken, overtaken]],
    ['whose answer was lost after it was overtaken', [overtaken, lostAfter]],
  ]
  for (const [name, faults] of histories) {
    await within.test(`a change ${name} is made once`, async (t) => {
      const database = await newDatabase(t)
      const { log, accounts, passed } = await openFailing(t, database)
      await accounts.addKey(keyOf(1))
      log.faults = [...faults]
      const changed = await accounts.changeKey(hashOf(1), higher)
      t.equal(changed?.limit, 1)
      t.equal(accounts.key(hashOf(1))?.limit, 1)
      t.strictSame(passed, [1, 2])
      t.equal((await contentsOfDatabase(database)).position?.version, 2)
      t.equal(log.faults.length, 0, 'every failure has happened')
    })
  }

  await within.test(
    'a statement that arrives after its change was given up takes no effect twice',
    async (t) => {
      const database = await newDatabase(t)
      const { log, accounts, records } = await openFailing(t, database)
      await accounts.addKey(keyOf(1))
      let late: (() => Promise<boolean>) | null = null
      // It stays on its way while the change is sent again.
      log.faults = [
        async (write) => {
          late = write
          throw AWAY
        },
      ]
      t.equal((await accounts.changeKey(hashOf(1), higher))?.limit, 1)
      t.equal(await late!(), false)
      await records.catchUp()
      t.equal(accounts.key(hashOf(1))?.limit, 1)
    },
  )

  await within.test(
    'while the store is away a change is refused in time, and nothing was changed',
    async (t) => {
      const database = await newDatabase(t)
      const clock = new FakeClock()
      const { log, accounts } = await openFailing(t, database, clock)
      log.faults = Array.from({ length: 1_000 }, () => lostBefore)
      log.hold = () => Promise.reject(AWAY)
      let isRefused = false
      const refused = t.rejects(accounts.addKey(keyOf(1)), UNAVAILABLE).then(() => {
        isRefused = true
      })
      await eventually(() => {
        // Time passes while the change waits to be tried again.
        if (clock.pending > 0) clock.advance(10)
        return isRefused
      })
      await refused
      t.ok(clock.monotonicMs() < 2_000, `${clock.monotonicMs()} ms`)
      t.equal((await contentsOfDatabase(database)).position?.version, 0)
    },
  )

  await within.test(
    'a process that stands still with the head in its hand holds others a moment',
    async (t) => {
      const group = await newGroup(t)
      const machine = await group.add()
      await machine.accounts.addKey(keyOf(1))
      const frozen = openTestDatabase(group.url, 'frozen')
      t.after(() => frozen.close())
      let isHolding = false
      let thaw: () => void = () => {}
      const held = new PostgresChangeLog(frozen, 'frozen').hold(async () => {
        isHolding = true
        await new Promise<void>((resolve) => {
          thaw = resolve
        })
      })
      const outcome = held.then(
        () => 'kept',
        (error: Fault) => error.kind,
      )
      await eventually(() => isHolding)
      t.equal((await machine.accounts.changeKey(hashOf(1), higher))?.limit, 1)
      thaw()
      t.equal(await outcome, 'unavailable', 'what it had begun is void')
    },
  )

  await within.test('a replica that was deleted, or is of another database, is loaded anew', async (t) => {
    const group = await newGroup(t)
    const first = await group.add()
    for (let n = 0; n < 30; n++) await first.accounts.addKey(keyOf(n))
    await group.closeAll()
    rmSync(replicaFolder(first.dataDir), { recursive: true })
    await expectEqual(t, await group.add(first.dataDir))
    const other = await newGroup(t)
    const second = await other.add()
    for (let n = 0; n < 40; n++) await second.accounts.addKey(keyOf(100 + n))
    await group.closeAll()
    const moved = await other.add(first.dataDir)
    t.equal(moved.accounts.key(hashOf(1)), null)
    await expectEqual(t, moved)
  })

  await within.test(
    'a database that was restored from a backup is followed, though it is behind',
    async (t) => {
      const group = await newGroup(t)
      const machine = await group.add()
      for (let n = 0; n < 5; n++) await machine.accounts.addKey(keyOf(n))
      const { database } = machine
      // The backup was taken after two changes; then others were made.
      await database.query('DELETE FROM sluice.records WHERE version > 2')
      await database.query('DELETE FROM sluice.changes WHERE version > 2')
      await database.query(
        'UPDATE sluice.change_head SET version = 2, change = (SELECT id FROM sluice.changes WHERE version = 2)',
      )
      await expectEqual(t, machine)
      t.equal(machine.accounts.keys().length, 2)
      const after = await group.add()
      await after.accounts.addKey(keyOf(50))
      await after.accounts.addKey(keyOf(51))
      await expectEqual(t, machine)
    },
  )

  await within.test('a replica that is older than the trimmed log is loaded anew', async (t) => {
    const group = await newGroup(t)
    const machine = await group.add()
    const sleeper = group.open(group.newFolder())
    t.after(() => sleeper.close())
    await machine.federation.issuers.add(issuerOf(1), auditOf(1))
    await sleeper.records.catchUp()
    await machine.federation.issuers.remove(issuerOf(1).id, auditOf(2))
    for (let n = 0; n < 10; n++) await machine.accounts.addKey(keyOf(n))
    await trimRecords(machine.database, { keptMs: 0, mostMs: 1e9, mostChanges: 2 })
    const left = await machine.database.query('SELECT FROM sluice.changes')
    t.equal(left.length, 3)
    t.equal((await machine.database.query('SELECT FROM sluice.records WHERE value IS NULL')).length, 0)
    await expectEqual(t, machine)
    await expectEqual(t, sleeper)
    t.equal(sleeper.federation.issuers.get(issuerOf(1).id), null)
  })

  await within.test('a half-loaded replica is never read, whoever loads it', async (t) => {
    const group = await newGroup(t)
    const machine = await group.add()
    for (let n = 0; n < 5; n++) await machine.accounts.addKey(keyOf(n))
    const log = new PostgresChangeLog(machine.database, 'reader')
    const folder = tempFolder(t)
    const open = (ownLog: ChangeLog) => {
      const barrier = { pass: () => Promise.resolve([]) }
      const records = new ReplicatedRecords({ folder, log: ownLog, barrier, clock: systemClock })
      t.after(() => records.close())
      return { records, accounts: createAccountStore(records) }
    }
    const reader = open(log)
    await reader.records.catchUp()
    // The database changes its history while a loading is under way.
    await machine.database.query(`UPDATE sluice.changes SET id = gen_random_uuid() WHERE version = 5`)
    await machine.database.query(
      'UPDATE sluice.change_head SET change = (SELECT id FROM sluice.changes WHERE version = 5)',
    )
    await machine.database.query(`DELETE FROM sluice.records WHERE space = 'account-keys' AND key = $1`, [
      Buffer.from(hashOf(0), 'hex'),
    ])
    const paused = gate()
    let pieces = 0
    class PausingLog extends PostgresChangeLog {
      override load(take: Parameters<ChangeLog['load']>[0]): ReturnType<ChangeLog['load']> {
        return super.load(async (entries) => {
          for (const entry of entries) {
            await take([entry])
            if (++pieces === 3) await paused.opened
          }
        })
      }
    }
    const loader = open(new PausingLog(machine.database, 'loader'))
    const loading = loader.records.catchUp()
    await eventually(() => pieces === 3)
    for (const { accounts } of [reader, loader]) {
      for (let n = 0; n < 5; n++) t.strictSame(accounts.key(hashOf(n)), keyOf(n))
    }
    paused.open()
    await loading
    for (const { accounts } of [reader, loader]) {
      t.equal(accounts.key(hashOf(0)), null)
      t.strictSame(accounts.key(hashOf(4)), keyOf(4))
    }
  })

  await within.test('a loading does not take back what came to the replica meanwhile', async (t) => {
    const group = await newGroup(t)
    const machine = await group.add()
    await machine.accounts.addKey(keyOf(1))
    const paused = gate()
    let isRead = false
    const seen: (number | undefined)[] = []
    /** Its first look at the log finds no way on from where the replica is. */
    class LostLog extends PostgresChangeLog {
      override since(...args: Parameters<ChangeLog['since']>): ReturnType<ChangeLog['since']> {
        seen.push(records.position()?.version)
        return seen.length === 1 ? Promise.resolve(null) : super.since(...args)
      }
      override async load(take: Parameters<ChangeLog['load']>[0]): ReturnType<ChangeLog['load']> {
        const loaded = await super.load(take)
        isRead = true
        await paused.opened
        return loaded
      }
    }
    const records = new ReplicatedRecords({
      folder: replicaFolder(machine.dataDir),
      log: new LostLog(machine.database, 'lost'),
      barrier: { pass: () => Promise.resolve([]) },
      clock: systemClock,
    })
    t.after(() => records.close())
    const accounts = createAccountStore(records)
    createFederationStore(records, records.auditBook('federation', FEDERATION_AUDIT))
    createDirectoryStores(records, {
      audit: records.auditBook('scim', SCIM_AUDIT),
      requests: records.auditBook('directory-requests', DIRECTORY_REQUESTS),
      accounts,
    })
    const loading = records.catchUp()
    await eventually(() => isRead)
    await machine.accounts.changeKey(hashOf(1), higher)
    paused.open()
    await loading
    t.strictSame(seen, [1, 2])
    t.equal(machine.accounts.key(hashOf(1))?.limit, 1)
  })

  await within.test(
    'a loading that stands still is taken over, and the one that stood still goes with it',
    async (t) => {
      const group = await newGroup(t)
      const machine = await group.add()
      await machine.accounts.addKey(keyOf(1))
      const dataDir = group.newFolder()
      const other = group.open(dataDir)
      t.after(() => other.close())
      const paused = gate()
      let isPaused = false
      class StandingLog extends PostgresChangeLog {
        override load(take: Parameters<ChangeLog['load']>[0]): ReturnType<ChangeLog['load']> {
          return super.load(async (entries) => {
            isPaused = true
            await paused.opened
            await take(entries)
          })
        }
      }
      const barrier = { pass: () => Promise.resolve([]) }
      const log = new StandingLog(machine.database, 'standing')
      const folder = replicaFolder(dataDir)
      const standing = new ReplicatedRecords({ folder, log, barrier, clock: systemClock })
      t.after(() => standing.close())
      createAccountStore(standing)
      const loading = standing.catchUp()
      await eventually(() => isPaused)
      t.equal(standing.position(), null)
      await expectEqual(t, { ...other, dataDir })
      t.strictSame(other.accounts.key(hashOf(1)), keyOf(1))
      paused.open()
      // Its tables are others, so it loads them for itself.
      await loading
      t.equal(standing.position()?.version, 1)
    },
  )
})
