/** A trial of a mapping against what the change then does, with any people, groups, held removals and direct roles. */
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import tap, { test } from 'tap'
import type { Principal } from '../../src/base/principal.js'
import { MappingService } from '../../src/directory/mapping-service.js'
import type { ScimRole } from '../../src/store/scim-store.js'
import { BEGAN } from '../support/data/accounts.js'
import { ACTOR, connectionOf, directoryGroupOf, doneOf, memberOf } from '../support/data/directory.js'
import { openStore } from '../support/data/open-store.js'
import { FakeClock } from '../support/timing/fake-clock.js'

const RUNS = 120
const store = openStore(tap)
const { accounts, directory, scim } = store
const mappings = new MappingService({ ...store, clock: new FakeClock() })

/** Whose a person is: of the connection of the group, of another one, added by hand, or nobody's. */
const PLACES = ['its', 'its', 'its', 'other', 'hand', 'hand', 'nobody'] as const
const some = fc.array(fc.nat(PLACES.length - 1), { maxLength: PLACES.length })
const role = fc.constantFrom<ScimRole>('admin', 'member')
const change = fc.oneof(
  fc.record({ create: role }),
  fc.record({ change: role }),
  fc.record({ keep: fc.boolean() }),
)
const facts = fc.record({
  isWhole: fc.boolean(),
  members: some,
  removed: some,
  inactive: some,
  deleted: some,
  admins: some,
  plain: some,
  /** By another group, which is delivered whole. */
  others: some,
  otherRole: role,
  mapped: role,
  change,
})
type Facts = typeof facts extends fc.Arbitrary<infer T> ? T : never

interface World {
  readonly organizationId: string
  readonly workspaceId: string
  readonly groupId: string
  readonly users: readonly string[]
}

async function build(given: Facts): Promise<World> {
  const [organizationId, workspaceId] = [randomUUID(), randomUUID()]
  const organization = {
    id: organizationId,
    name: 'o',
    plan: 'free',
    createdAt: BEGAN,
    updatedAt: null,
  } as const
  const workspace = { id: workspaceId, organizationId, name: 'w', createdAt: BEGAN }
  await accounts.addOrganization({ organization, workspaces: [workspace], keys: [] })
  // Whatever goes beyond the first removal is held.
  const [its, other] = [0, 1].map(() =>
    connectionOf(1, { id: randomUUID(), organizationId, tokens: [], heldShare: 0, heldFrom: 1 }),
  )
  for (const each of [its!, other!]) await directory.connections.addConnection(each, ACTOR)
  const users: string[] = []
  for (const [n, place] of PLACES.entries()) {
    const id = randomUUID()
    users.push(id)
    if (place === 'nobody') continue
    const connectionId = place === 'hand' ? null : (place === 'its' ? its! : other!).id
    const active = !given.inactive.includes(n)
    doneOf(
      await directory.members.addMember(memberOf(n, { id, organizationId, connectionId, active }), ACTOR),
    )
  }
  const named = (of: readonly number[]): string[] => [...new Set(of)].map((n) => users[n]!)
  const put = async (id: string, members: readonly string[]): Promise<void> => {
    const times = { createdAt: BEGAN, updatedAt: BEGAN }
    const group = { ...times, id, organizationId, displayName: 'g', externalId: null, members }
    await scim.putGroup(group, ACTOR)
  }
  const groupId = randomUUID()
  if (given.isWhole) await put(groupId, named(given.members))
  else {
    const group = directoryGroupOf(1, { id: groupId, organizationId, connectionId: its!.id })
    doneOf(await directory.groups.addGroup(group, named(given.members), ACTOR))
    const removal = { op: 'remove', members: named(given.removed) } as const
    const write = await directory.groups.changeGroup(
      groupId,
      (now) => ({ group: now, members: [removal] }),
      BEGAN,
      ACTOR,
    )
    doneOf(write)
  }
  for (const [of, direct] of [
    [given.plain, 'member'],
    [given.admins, 'admin'],
  ] as const) {
    for (const memberId of named(of)) {
      await directory.roles.putDirectRole(
        { organizationId, workspaceId, memberId, role: direct },
        BEGAN,
        ACTOR,
      )
    }
  }
  const otherGroup = randomUUID()
  await put(otherGroup, named(given.others))
  const caller = callerOf(organizationId)
  const wish = { scim_group_id: otherGroup, workspace_id: workspaceId, role: given.otherRole }
  await mappings.createMapping(caller, wish, CALL)
  for (const id of named(given.deleted)) await directory.members.removeMember(id, () => null, BEGAN, ACTOR)
  return { organizationId, workspaceId, groupId, users }
}

const CALL = { requestId: 'req_1', address: '' }

function callerOf(organizationId: string): Principal {
  return { kind: 'management', keyHash: 'k', organizationId, workspaceId: null, operator: false }
}

test('a trial tells of everybody what the change then does, and changes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(facts, async (given) => {
      const { organizationId, workspaceId, groupId, users } = await build(given)
      const caller = callerOf(organizationId)
      const wish = { scim_group_id: groupId, workspace_id: workspaceId }
      const asked = given.change
      let id = ''
      if (!('create' in asked))
        id = (await mappings.createMapping(caller, { ...wish, role: given.mapped }, CALL)).id
      const rolesNow = () => users.map((user) => scim.roleOf(workspaceId, user))
      const before = rolesNow()
      const trial =
        'create' in asked
          ? { create: { ...wish, role: asked.create } }
          : 'change' in asked
            ? { change: { id, role: asked.change } }
            : { remove: { id, keep_members: asked.keep } }
      const told = (await mappings.tryChange(caller, trial))!
      const same = (what: string, found: unknown, wanted: unknown): void => {
        const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)]
        if (a !== b) throw new Error(`${what}: ${a} is not ${b}`)
      }
      same('roles after the trial', rolesNow(), before)
      const predicted = users.map((user, n) => {
        const of = told.filter(({ userId }) => userId === user)
        if (of.length > 1) throw new Error('somebody is told twice')
        if (of[0] !== undefined) same('the role before', of[0].roleBefore, before[n])
        return of[0] === undefined ? before[n] : of[0].roleAfter
      })
      if ('create' in asked) await mappings.createMapping(caller, { ...wish, role: asked.create }, CALL)
      else if ('change' in asked) await mappings.changeRole(caller, id, asked.change, CALL)
      else await mappings.removeMapping(caller, id, asked.keep, CALL)
      same('roles after the change', rolesNow(), predicted)
    }),
    { numRuns: RUNS },
  )
})
