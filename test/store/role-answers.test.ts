/**
 * Roles and standing that are remembered: after any change, by whatever process of whatever machine, they are those that
 * the facts give.
 */
import fc from 'fast-check'
import { t } from 'tap'
import { trimRecords } from '../../src/store/postgres/record-trimming.js'
import type { ScimRole } from '../../src/store/scim-store.js'
import { BEGAN, idOf } from '../support/data/accounts.js'
import {
  ACTOR,
  addTwoOrganizations,
  connectionOf,
  type DirectoryStoresOfTest,
  directoryGroupOf,
  mappingOf,
  memberOf,
} from '../support/data/directory.js'
import { openStore } from '../support/data/open-store.js'
import { ReplicaGroup } from '../support/data/replicated-stores.js'
import { type Lifetime, makeFolder, removeFolder } from '../support/data/temp-folder.js'
import { PostgresCluster, WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'

const ORGANIZATION = idOf(1)
const WORKSPACES = [idOf(2), idOf(3)]
/** People of two connections and by hand; the last of each comes later. */
const PEOPLE = [1, 1, 1, 1, 1, 2, 2, 2, null, null].map((connection, n) =>
  memberOf(n, { connectionId: connection === null ? null : connectionOf(connection).id }),
)
const LATER = new Set([4, 7, 9])
const USERS = [...PEOPLE.map(({ id }) => id), 'free text']
const GROUPS = [1, 1, 2].map((connection, n) =>
  directoryGroupOf(n, { connectionId: connectionOf(connection).id }),
)
const WHOLE = directoryGroupOf(9).id
const ROLES: readonly ScimRole[] = ['admin', 'member']

/** What a step may choose by; `at` is its time and its number. */
interface Choice {
  readonly a: number
  readonly b: number
  readonly c: number
  readonly at: number
}

const pick = <T>(list: readonly T[], n: number): T => list[n % list.length]!
const some = <T>(list: readonly T[], bits: number): T[] => list.filter((_, i) => (bits >> i) % 2 === 1)
const mappingIds = ({ scim }: DirectoryStoresOfTest): string[] =>
  scim.mappingsOf(ORGANIZATION).map(({ id }) => id)

type Step = (store: DirectoryStoresOfTest, choice: Choice) => Promise<unknown> | undefined

/** Everything that changes what roles follow from, and how often it comes. */
const STEPS: Readonly<Record<string, readonly [weight: number, step: Step]>> = {
  join: [2, ({ directory }, { a }) => directory.members.addMember(pick(PEOPLE, a), ACTOR)],
  activate: [
    3,
    ({ directory }, { a, b }) =>
      directory.members.changeMember(
        pick(PEOPLE, a).id,
        (member) => ({ ...member, active: b % 3 > 0 }),
        ACTOR,
      ),
  ],
  leave: [
    1,
    ({ directory }, { a, at }) => directory.members.removeMember(pick(PEOPLE, a).id, () => null, at, ACTOR),
  ],
  add: [4, (store, choice) => changeMembers(store, 'add', choice)],
  remove: [3, (store, choice) => changeMembers(store, 'remove', choice)],
  replace: [2, (store, choice) => changeMembers(store, 'replace', choice)],
  approve: [
    3,
    ({ directory }, { a, at }) => {
      const groupId = pick(directory.roles.heldOf(ORGANIZATION), a)?.groupId ?? ''
      return directory.roles.approveHeld(groupId, BEGAN + at, ACTOR)
    },
  ],
  found: [3, ({ directory }, { a, b }) => directory.groups.addGroup(pick(GROUPS, a), some(USERS, b), ACTOR)],
  dissolve: [
    3,
    ({ directory }, { a, at }) => directory.groups.removeGroup(pick(GROUPS, a).id, () => null, at, ACTOR),
  ],
  deliver: [
    2,
    ({ scim }, { a, at }) => {
      const names = { id: WHOLE, organizationId: ORGANIZATION, displayName: 'whole', externalId: null }
      return scim.putGroup({ ...names, members: some(USERS, a), createdAt: at, updatedAt: at }, ACTOR)
    },
  ],
  withdraw: [1, ({ scim }, { at }) => scim.removeGroup(ORGANIZATION, WHOLE, at, ACTOR)],
  map: [
    4,
    ({ scim }, { a, b, c, at }) => {
      const more = { workspaceId: pick(WORKSPACES, b), role: pick(ROLES, c) }
      return scim.addMapping(mappingOf(at, pick([...GROUPS.map(({ id }) => id), WHOLE], a), more), ACTOR)
    },
  ],
  remap: [
    2,
    (store, { a, b, at }) =>
      store.scim.changeRole(pick(mappingIds(store), a) ?? '', pick(ROLES, b), at, ACTOR),
  ],
  unmap: [
    1,
    (store, { a, b, at }) =>
      store.scim.removeMapping(pick(mappingIds(store), a) ?? '', b % 2 === 0, at, ACTOR),
  ],
  give: [
    2,
    ({ directory }, { a, b, c, at }) => {
      const [memberId, workspaceId, role] = [pick(PEOPLE, a).id, pick(WORKSPACES, b), pick(ROLES, c)]
      return directory.roles.putDirectRole(
        { organizationId: ORGANIZATION, workspaceId, memberId, role },
        at,
        ACTOR,
      )
    },
  ],
  take: [
    2,
    ({ scim }, { b, at }) => {
      const workspaceId = pick(WORKSPACES, b)
      const userId = pick(scim.directRolesOf(workspaceId), at)?.userId ?? ''
      return scim.removeDirectRole({ organizationId: ORGANIZATION, workspaceId, userId }, at, ACTOR)
    },
  ],
  disconnect: [
    1,
    ({ directory }, { a, at }) =>
      a % 4 === 0 ? directory.connections.removeConnection(connectionOf(2).id, at, ACTOR) : undefined,
  ],
  connect: [1, ({ directory }) => addSecondConnection(directory)],
}

function changeMembers(
  { directory }: DirectoryStoresOfTest,
  op: 'add' | 'remove' | 'replace',
  { a, b, at }: Choice,
) {
  const members = [{ op, members: some(USERS, b) }]
  return directory.groups.changeGroup(pick(GROUPS, a).id, (group) => ({ group, members }), BEGAN + at, ACTOR)
}

async function addSecondConnection({ connections }: DirectoryStoresOfTest['directory']): Promise<void> {
  if (connections.connection(connectionOf(2).id) === null)
    await connections.addConnection(connectionOf(2, { heldFrom: 0 }), ACTOR)
}

type ChosenStep = Omit<Choice, 'at'> & { readonly name: string }

const names = Object.entries(STEPS).map(([name, [weight]]) => ({ weight, arbitrary: fc.constant(name) }))
const number = fc.nat(2 ** USERS.length - 1)
const steps = fc.array(fc.record({ name: fc.oneof(...names), a: number, b: number, c: number }), {
  minLength: 60,
  maxLength: 60,
})

/** Changes go to the handles in turn, and after each of them all of them are asked; `between` some of them. */
async function expectFactsAnswered(
  handles: readonly DirectoryStoresOfTest[],
  chosen: readonly ChosenStep[],
  between: (at: number) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  await prepare(handles[0]!)
  const done: string[] = []
  for (const [at, { name, ...choice }] of chosen.entries()) {
    done.push(name)
    await STEPS[name]![1](pick(handles, at), { ...choice, at })
    await between(at)
    for (const [n, handle] of handles.entries()) expectFacts(handle, `handle ${n} after ${done.join(', ')}`)
  }
}

async function prepare(store: DirectoryStoresOfTest): Promise<void> {
  await addTwoOrganizations(store)
  const { connections, members, groups } = store.directory
  await connections.addConnection(connectionOf(1, { heldFrom: 0 }), ACTOR)
  await addSecondConnection(store.directory)
  for (const [n, member] of PEOPLE.entries()) if (!LATER.has(n)) await members.addMember(member, ACTOR)
  for (const group of GROUPS) await groups.addGroup(group, [], ACTOR)
  for (const [n, { id }] of GROUPS.entries())
    await store.scim.addMapping(mappingOf(1_000 + n, id, { workspaceId: pick(WORKSPACES, n) }), ACTOR)
}

/** What calls ask for against what is read from the facts whenever it is asked for. */
function expectFacts({ scim, directory }: DirectoryStoresOfTest, when: string): void {
  for (const id of USERS) {
    const member = directory.members.member(id)
    const deleted = member?.deletedAt != null
    const active = member?.active === true
    const facts = directory.members.factsOf(id)
    if ((facts === null) !== (member === null)) throw new Error(`${id} is a member, or is not, ${when}`)
    if (facts !== null && (facts.deleted !== deleted || facts.active !== active))
      throw new Error(`the standing of ${id} is ${JSON.stringify(facts)}, ${when}`)
    for (const workspaceId of WORKSPACES) {
      const expected = directory.roles.reasons(workspaceId, id)[0]?.role ?? null
      const found = scim.roleOf(workspaceId, id)
      if (found !== expected) throw new Error(`${found} and not ${expected} for ${id} ${when}`)
    }
  }
}

async function forEachRun(
  numRuns: number,
  run: (lifetime: Lifetime, chosen: readonly ChosenStep[]) => Promise<void>,
): Promise<void> {
  const property = fc.asyncProperty(steps, async (chosen) => {
    const ends: (() => unknown)[] = []
    try {
      await run({ after: (end) => ends.push(end) }, chosen)
    } finally {
      for (const end of ends.reverse()) await end()
    }
  })
  await fc.assert(property, { numRuns, seed: 21, endOnFailure: true })
}

void t.test(
  'processes of a machine answer by the facts, whoever changed them',
  { timeout: 240_000 },
  async (t) => {
    await forEachRun(10, async (lifetime, chosen) => {
      const folder = makeFolder()
      lifetime.after(() => removeFolder(folder))
      await expectFactsAnswered([openStore(lifetime, folder), openStore(lifetime, folder)], chosen)
    })
    t.pass('after every change')
  },
)

void t.test(
  'so do machines of a fleet, also when a replica is loaded anew',
  { timeout: 240_000, skip: WITHOUT_POSTGRES },
  async (t) => {
    const cluster = await PostgresCluster.start(t)
    let loadings = 0
    await forEachRun(2, async (lifetime, chosen) => {
      const group = new ReplicaGroup(await cluster.database())
      lifetime.after(() => group.end())
      await group.migrate()
      const machine = await group.add()
      const handles = [machine, await group.add(machine.dataDir), await group.add()]
      const sleeper = group.open(group.newFolder())
      lifetime.after(() => sleeper.close())
      await expectFactsAnswered(handles, chosen, async (at) => {
        if (at % 6 !== 5) return
        await trimRecords(machine.database, { keptMs: 0, mostMs: 1e9, mostChanges: 1 })
        const before = sleeper.records.position()?.version ?? 0
        await sleeper.records.catchUp()
        if (sleeper.records.position()!.version > before + 1) loadings++
        expectFacts(sleeper, `on a machine that loads all anew, at ${at}`)
      })
    })
    t.ok(loadings > 10, `${loadings} loadings`)
  },
)
