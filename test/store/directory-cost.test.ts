/** What changes and lists of a directory cost: counted in keys that are read and written, not in time. */
import { type Test, test } from 'tap'
import { openDirectoryRequests, openScimAudit } from '../../src/store/lmdb/audit-trails.js'
import { LmdbEnvironment } from '../../src/store/lmdb/environment.js'
import type { LmdbByteTable, LmdbTable } from '../../src/store/lmdb/table.js'
import { createAccountStore } from '../../src/store/records/accounts.js'
import { createDirectoryStores } from '../../src/store/records/directory.js'
import { BEGAN, idOf } from '../support/data/accounts.js'
import {
  ACTOR,
  addMembers,
  addTwoOrganizations,
  connectionOf,
  type DirectoryStoresOfTest,
  directoryGroupOf,
  doneOf,
  mappingOf,
  memberOf,
} from '../support/data/directory.js'
import { tempFolder } from '../support/data/temp-folder.js'

interface Work {
  keysRead: number
  /** Values that lists have brought. */
  listed: number
  keysWritten: number
  bytesWritten: number
}

/** An environment that counts what is asked of it. */
class CountingEnvironment extends LmdbEnvironment {
  work: Work = { keysRead: 0, listed: 0, keysWritten: 0, bytesWritten: 0 }

  override byteTable(name: string): LmdbByteTable {
    const table = super.byteTable(name)
    const { put, remove } = table
    // The table itself is what lmdb knows; only its writes pass through here.
    table.put = (key, value) => {
      this.work.keysWritten++
      this.work.bytesWritten += key.length + value.length
      return put.call(table, key, value)
    }
    table.remove = (key) => {
      this.work.keysWritten++
      return remove.call(table, key)
    }
    return table
  }

  override get<K>(table: LmdbTable<K>, key: K): Uint8Array | undefined {
    this.work.keysRead++
    return super.get(table, key)
  }

  override getUnbounded<K>(table: LmdbTable<K>, key: K): Buffer | undefined {
    this.work.keysRead++
    return super.getUnbounded(table, key)
  }

  override valuesWithPrefix(...args: Parameters<LmdbEnvironment['valuesWithPrefix']>): Buffer[] {
    return this.#listed(super.valuesWithPrefix(...args))
  }

  override valuesOfPage(...args: Parameters<LmdbEnvironment['valuesOfPage']>): Buffer[] {
    return this.#listed(super.valuesOfPage(...args))
  }

  #listed(values: Buffer[]): Buffer[] {
    this.work.listed += values.length
    return values
  }
}

interface CountedStore extends DirectoryStoresOfTest {
  /** What is asked of the store while this runs. */
  workOf(run: () => unknown): Promise<Work>
}

async function openCounted(t: Test): Promise<CountedStore> {
  const env = new CountingEnvironment(tempFolder(t))
  const accounts = createAccountStore(env)
  const ports = { audit: openScimAudit(env), requests: openDirectoryRequests(env), accounts }
  const { scim, directory } = createDirectoryStores(env, ports)
  t.after(() => env.close())
  const store = { accounts, scim, directory }
  await addTwoOrganizations(store)
  await directory.connections.addConnection(connectionOf(1), ACTOR)
  return {
    ...store,
    workOf: async (run) => {
      env.work = { keysRead: 0, listed: 0, keysWritten: 0, bytesWritten: 0 }
      await run()
      return { ...env.work }
    },
  }
}

const [SMALL, LARGE] = [directoryGroupOf(1), directoryGroupOf(2)]
const SCOPE = { organizationId: idOf(1), connectionId: connectionOf(1).id }

test('one member of five thousand costs what one of five costs', async (t) => {
  const store = await openCounted(t)
  const { groups } = store.directory
  const ids = Array.from({ length: 5_000 }, (_, n) => memberOf(n).id)
  // Numbers of as many digits, so that bytes can be compared.
  doneOf(await groups.addGroup({ ...SMALL, displayName: 'Group a' }, ids.slice(0, 5), ACTOR))
  doneOf(await groups.addGroup({ ...LARGE, displayName: 'Group b' }, ids, ACTOR))
  const newcomer = memberOf(9_999).id
  for (const op of ['add', 'remove', 'add'] as const) {
    const works: Work[] = []
    for (const { id } of [SMALL, LARGE]) {
      const members = [{ op, members: [newcomer] }]
      const change = () => groups.changeGroup(id, (group) => ({ group, members }), BEGAN, ACTOR)
      works.push(await store.workOf(change))
    }
    const [small, large] = works as [Work, Work]
    t.ok(small.keysWritten > 0)
    t.equal(large.keysRead, small.keysRead, `${op}: keys read`)
    t.equal(large.keysWritten, small.keysWritten, `${op}: keys written`)
    t.equal(large.listed, small.listed, `${op}: values listed`)
    // The count of members has three more digits, once in the group.
    t.ok(
      large.bytesWritten - small.bytesWritten <= 3,
      `${op}: ${large.bytesWritten} and ${small.bytesWritten} bytes`,
    )
  }
})

test('a page costs its entries, wherever it is and however many there are', async (t) => {
  const store = await openCounted(t)
  const { members, groups } = store.directory
  const few = await addMembers(store, 20)
  const pageAt = (offset: number) => () => members.membersOf(SCOPE, { by: 'all' }, offset, 10)
  const before = await store.workOf(pageAt(0))
  await addMembers(store, 2_000, 100)
  for (const offset of [0, 10, 2_000])
    t.strictSame(await store.workOf(pageAt(offset)), before, `from ${offset}`)
  const behind = () => members.membersOf(SCOPE, { by: 'all', after: memberOf(1_500).id }, 0, 10)
  t.strictSame(await store.workOf(behind), before)
  const lookup = await store.workOf(() =>
    members.membersOf(SCOPE, { by: 'userName', value: few[3]!.userName }, 0, 100),
  )
  t.ok(lookup.keysRead < 10 && lookup.listed === 0, `a lookup reads ${lookup.keysRead} keys`)
  doneOf(
    await groups.addGroup(
      LARGE,
      few.concat(Array.from({ length: 2_000 }, (_, n) => memberOf(100 + n))).map(({ id }) => id),
      ACTOR,
    ),
  )
  const some = await store.workOf(() => groups.membershipsOf(LARGE.id, 1_000, 10))
  t.ok(some.listed === 10 && some.keysRead < 10, `${some.listed} members listed`)
})

test('a role costs the mappings of the workspace, not who is in their groups', async (t) => {
  const store = await openCounted(t)
  const people = await addMembers(store, 2)
  const ids = people.map(({ id }) => id)
  const pending = Array.from({ length: 2_000 }, (_, n) => `pending ${n}`)
  doneOf(await store.directory.groups.addGroup(SMALL, ids, ACTOR))
  doneOf(await store.directory.groups.addGroup(LARGE, [...ids, ...pending], ACTOR))
  const works: Work[] = []
  for (const [n, { id }] of [SMALL, LARGE].entries()) {
    const workspaceId = idOf(2 + n)
    await store.scim.addMapping(mappingOf(n, id, { workspaceId }), ACTOR)
    works.push(await store.workOf(() => t.equal(store.scim.roleOf(workspaceId, ids[n]!), 'member')))
  }
  t.strictSame(works[1], works[0])
  t.ok(works[0]!.keysRead < 10 && works[0]!.listed === 1, `${works[0]!.keysRead} keys`)
})

test('what was found is found again by one read, until its own organization changes a fact', async (t) => {
  const store = await openCounted(t)
  const { directory, scim } = store
  const [ann] = await addMembers(store, 1)
  const bob = memberOf(2, { connectionId: null, organizationId: idOf(11) })
  doneOf(await directory.groups.addGroup(SMALL, [ann!.id], ACTOR))
  await scim.addMapping(mappingOf(1, SMALL.id), ACTOR)
  const ask = () => t.equal(scim.roleOf(idOf(2), ann!.id), 'member')
  const standing = () => t.match(directory.members.factsOf(ann!.id), { active: true })
  ask()
  const ONE_READ = { keysRead: 1, listed: 0, keysWritten: 0, bytesWritten: 0 }
  t.strictSame(await store.workOf(ask), ONE_READ)
  t.strictSame(await store.workOf(standing), ONE_READ)
  doneOf(await directory.members.addMember(bob, ACTOR))
  t.strictSame(await store.workOf(ask), ONE_READ, 'another organization has changed')
  await addMembers(store, 1, 3)
  t.ok((await store.workOf(ask)).keysRead > 1, 'its own organization has changed')
  t.strictSame(await store.workOf(ask), ONE_READ)
})
