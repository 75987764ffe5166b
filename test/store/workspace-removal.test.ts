/** A workspace that is deleted takes nothing with it, and nothing is left in it, whoever was about to add something. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Test, t } from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { Fault } from '../../src/base/fault.js'
import { createPostgresFileStore } from '../../src/store/postgres/files.js'
import { createPostgresMemoryStore } from '../../src/store/postgres/memory.js'
import type { Store } from '../../src/store/store.js'
import { BEGAN, idOf, keyOf, organizationOf, workspaceOf } from '../support/data/accounts.js'
import { ACTOR, mappingOf, memberOf } from '../support/data/directory.js'
import { openStore } from '../support/data/open-store.js'
import { ReplicaGroup, type ReplicaMachine } from '../support/data/replicated-stores.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { PostgresCluster, WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'

type Stores = Pick<Store, 'accounts' | 'scim' | 'directory' | 'providerKeys' | 'files' | 'memory'>

const ORGANIZATION = idOf(1)
const MEMBER = memberOf(1, { connectionId: null })

interface Belonging {
  /** The answer while it is there; null for what goes with the workspace. */
  readonly kept: string | null
  readonly add: (store: Stores, workspaceId: string, n: number) => Promise<unknown>
  readonly isThere: (store: Stores, workspaceId: string, n: number) => boolean | Promise<boolean>
}

const BELONGINGS: Readonly<Record<string, Belonging>> = {
  key: {
    kept: 'has-keys',
    add: ({ accounts }, workspaceId, n) => accounts.addKey(keyOf(n, { workspaceId })),
    isThere: ({ accounts }, _, n) => accounts.key(keyOf(n).hash) !== null,
  },
  mapping: {
    kept: 'has-mappings',
    add: ({ scim }, workspaceId, n) => scim.addMapping(mappingOf(n, idOf(900), { workspaceId }), ACTOR),
    isThere: ({ scim }, _, n) => scim.mapping(mappingOf(n, '').id) !== null,
  },
  'direct role': {
    kept: 'has-direct-roles',
    add: ({ directory }, workspaceId) => {
      const role = { organizationId: ORGANIZATION, workspaceId, memberId: MEMBER.id, role: 'member' } as const
      return directory.roles.putDirectRole(role, BEGAN, ACTOR)
    },
    isThere: ({ scim }, workspaceId) => scim.directRolesOf(workspaceId).length > 0,
  },
  'provider key': {
    kept: 'has-provider-keys',
    add: ({ providerKeys }, workspaceId, n) =>
      providerKeys.add({
        ...{
          id: idOf(500 + n),
          organizationId: ORGANIZATION,
          workspaceId,
          provider: 'openai',
          name: 'theirs',
        },
        ...{
          label: 'sk…',
          sealed: '',
          priority: 'first',
          allowFallback: true,
          models: null,
          disabled: false,
        },
        ...{ createdAt: BEGAN, updatedAt: null },
      }),
    isThere: ({ providerKeys }, workspaceId) =>
      providerKeys.keysOf(ORGANIZATION).some((key) => key.workspaceId === workspaceId),
  },
  file: {
    kept: 'has-files',
    add: ({ files }, workspaceId) => {
      const details = { organizationId: ORGANIZATION, workspaceId, filename: 'a.txt', purpose: null } as const
      return files.createFile({ ...details, origin: 'uploaded' }, Buffer.from('text'))
    },
    isThere: async ({ files }, workspaceId) => {
      const page = { newestFirst: true, after: null, before: null, limit: 1 }
      return (await files.filesOf(workspaceId, page)).files.length > 0
    },
  },
  text: {
    kept: null,
    add: ({ memory }, workspaceId) => memory.change(workspaceId, (texts) => texts.put('note', 'text')),
    isThere: ({ memory }, workspaceId) => memory.read(workspaceId, (texts) => texts.get('note') !== null),
  },
}

async function found({ accounts, directory }: Stores): Promise<void> {
  const workspaces = [workspaceOf(2, ORGANIZATION)]
  await accounts.addOrganization({ organization: organizationOf(1), workspaces, keys: [] })
  await directory.members.addMember(MEMBER, ACTOR)
}

async function expectKeptAndRemoved(t: Test, [one, other]: readonly [Stores, Stores]): Promise<void> {
  await found(one)
  t.equal(await one.accounts.removeWorkspace(idOf(2), BEGAN), 'only-one')
  t.equal(await one.accounts.removeWorkspace(idOf(77), BEGAN), 'absent')
  for (const [at, [name, { kept, add, isThere }]] of Object.entries(BELONGINGS).entries()) {
    const { id } = workspaceOf(10 + at, ORGANIZATION)
    await one.accounts.addWorkspace(workspaceOf(10 + at, ORGANIZATION))
    await add(one, id, 100 + at)
    t.ok(await isThere(other, id, 100 + at), name)
    t.equal(await other.accounts.removeWorkspace(id, BEGAN), kept ?? 'removed', name)
    t.equal(one.accounts.workspace(id) === null, kept === null, name)
    t.equal(await isThere(one, id, 100 + at), kept !== null, name)
  }
  const { id } = workspaceOf(30, ORGANIZATION)
  await one.accounts.addWorkspace(workspaceOf(30, ORGANIZATION))
  t.equal(await one.accounts.removeWorkspace(id, BEGAN), 'removed')
  t.equal(await other.accounts.removeWorkspace(id, BEGAN), 'absent')
  t.equal(await other.accounts.changeWorkspace(id, (current) => ({ ...current, name: 'x' })), null)
  t.notOk(other.accounts.workspacesOf(ORGANIZATION).some((each) => each.id === id))
  for (const [at, [name, { add, isThere }]] of Object.entries(BELONGINGS).entries()) {
    await add(other, id, 200 + at).catch(expectUnavailable)
    t.notOk(await isThere(other, id, 200 + at), `${name} behind the deletion`)
  }
}

/** Each of them at the same moment as a deletion, by the other process. */
async function expectNoOrphans(t: Test, stores: readonly [Stores, Stores], rounds: number): Promise<void> {
  for (const [at, [name, { kept, add, isThere }]] of Object.entries(BELONGINGS).entries()) {
    for (let round = 0; round < rounds; round++) {
      const n = 1_000 + at * 100 + round
      const workspace = workspaceOf(n, ORGANIZATION)
      const [one, other] = round % 2 === 0 ? stores : [stores[1], stores[0]]
      await one.accounts.addWorkspace(workspace)
      const adding = add(one, workspace.id, n).catch(expectUnavailable)
      const outcome = await other.accounts.removeWorkspace(workspace.id, BEGAN)
      await adding
      const isLeft = await isThere(one, workspace.id, n)
      const isRight = outcome === 'removed' ? !isLeft : outcome === kept && isLeft
      t.ok(isRight, `${name}, ${round}: ${outcome}, ${isLeft}`)
    }
  }
}

function expectUnavailable(error: unknown): void {
  if (!(error instanceof Fault) || error.kind !== 'unavailable') throw error
}

const storesOf = (machine: ReplicaMachine): Stores => {
  const { database } = machine
  const limits = { files: 1_000, fileBytes: 1e9 }
  const files = createPostgresFileStore(database, { clock: systemClock, limits, sweepMs: 0 })
  return { ...machine, files, memory: createPostgresMemoryStore(database) }
}

void t.test('a workspace goes when nothing belongs to it, in two processes of a machine', async (t) => {
  const folder = tempFolder(t)
  const stores = [openStore(t, folder), openStore(t, folder)] as const
  await expectKeptAndRemoved(t, stores)
  await expectNoOrphans(t, stores, 6)
})

void t.test('and on two machines of a fleet', { skip: WITHOUT_POSTGRES, timeout: 120_000 }, async (t) => {
  const cluster = await PostgresCluster.start(t)
  const group = new ReplicaGroup(await cluster.database())
  t.after(() => group.end())
  await group.migrate()
  const stores = [storesOf(await group.add()), storesOf(await group.add())] as const
  await expectKeptAndRemoved(t, stores)
  await expectNoOrphans(t, stores, 10)
  await expectFileWaitedFor(t, stores, group.machines[0]!)
})

/** A file whose transaction is open while the deletion begins, which then has looked for files already. */
async function expectFileWaitedFor(
  t: Test,
  [one, other]: readonly [Stores, Stores],
  { database }: ReplicaMachine,
): Promise<void> {
  const workspace = workspaceOf(40, ORGANIZATION)
  await one.accounts.addWorkspace(workspace)
  let removal: Promise<unknown> = Promise.resolve()
  await database.transaction(async (query) => {
    const bytes = Buffer.from('{}')
    const values = ['file_late', bytes, ORGANIZATION, workspace.id, 2, 0, bytes, 1_000, 1_000_000]
    await query('SELECT sluice.store_file($1, $2, $3, $4, $5, $6, $7, $8, $9)', values)
    removal = other.accounts.removeWorkspace(workspace.id, BEGAN)
    const waiting = 'SELECT count(*)::int AS count FROM pg_locks WHERE NOT granted'
    while ((await query<{ count: number }>(waiting))[0]!.count === 0) await nextTurn()
  })
  t.equal(await removal, 'has-files')
  t.not(one.accounts.workspace(workspace.id), null)
}
