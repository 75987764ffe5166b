/** Roles against a model that knows nothing of how facts are kept: after any changes both say the same of everybody. */
import fc from 'fast-check'
import { test } from 'tap'
import type { ScimRole } from '../../src/store/scim-store.js'
import { BEGAN, idOf } from '../support/data/accounts.js'
import {
  ACTOR,
  addTwoOrganizations,
  connectionOf,
  directoryGroupOf,
  mappingOf,
  memberOf,
} from '../support/data/directory.js'
import { openStore } from '../support/data/open-store.js'

const RUNS = 40
const HOUR = 60
/** Connections 1 and 2 belong to the first organization, 3 to the other; null is by hand, in the first. */
const CONNECTIONS = [1, 2, 3, null] as const
const ORGANIZATION_OF = { 1: 1, 2: 1, 3: 11 } as const
const WORKSPACES = [
  { id: 2, organization: 1 },
  { id: 3, organization: 1 },
  { id: 12, organization: 11 },
]
/** Four people of each place, and a name that is nobody's. */
const PEOPLE = CONNECTIONS.flatMap((connection, place) =>
  [0, 1, 2, 3].map((n) => ({ connection, n: place * 10 + n })),
)
const userIds = [...PEOPLE.map(({ n }) => memberOf(n).id), 'free text']
/** Two groups of each connection, and one of each organization that is delivered whole. */
const GROUPS = [1, 2, 3].flatMap((connection) => [0, 1].map((n) => directoryGroupOf(connection * 10 + n).id))
const WHOLE = [1, 11].map((organization) => ({ organization, id: directoryGroupOf(900 + organization).id }))

const user = fc.constantFrom(...userIds)
const role = fc.constantFrom<ScimRole>('admin', 'member')
const workspace = fc.constantFrom(...WORKSPACES)
const step = fc.oneof(
  fc.record({ do: fc.constant('active' as const), person: fc.nat(PEOPLE.length - 1), active: fc.boolean() }),
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('delete' as const), person: fc.nat(PEOPLE.length - 1) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('members' as const),
      group: fc.nat(GROUPS.length - 1),
      op: fc.constantFrom('add', 'add', 'remove', 'replace'),
      own: fc.subarray([0, 1, 2, 3]),
      others: fc.array(user, { maxLength: 1 }),
      minutes: fc.constantFrom(0, 1, 61),
    }),
  },
  fc.record({ do: fc.constant('whole' as const), group: fc.nat(1), users: fc.array(user, { maxLength: 4 }) }),
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('map' as const),
      group: fc.nat(GROUPS.length + 1),
      workspace,
      role,
    }),
  },
  fc.record({ do: fc.constant('unmap' as const), which: fc.nat(20), keep: fc.boolean() }),
  fc.record({ do: fc.constant('direct' as const), user, workspace, role }),
  fc.record({ do: fc.constant('approve' as const), group: fc.nat(GROUPS.length - 1) }),
  fc.record({ do: fc.constant('drop-group' as const), group: fc.nat(GROUPS.length - 1) }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

interface ModelGroup {
  readonly connection: 1 | 2 | 3
  readonly members: Set<string>
  readonly held: Set<string>
  /** Minutes of removals, and how many the group had when the hour began. */
  removals: number[]
  most: number
}

interface ModelMapping {
  readonly id: string
  readonly group: string
  readonly workspace: number
  readonly role: ScimRole
}

/** What is known, in sets, and rules told as they stand in the contract. */
class Model {
  minute = 0
  readonly people = new Map(
    PEOPLE.map(({ connection, n }) => [
      memberOf(n).id,
      {
        connection,
        organization: connection === null ? 1 : ORGANIZATION_OF[connection],
        active: true,
        deleted: false,
      },
    ]),
  )
  readonly groups = new Map<string, ModelGroup>()
  readonly whole = new Map<string, { organization: number; members: Set<string> }>()
  mappings: ModelMapping[] = []
  /** By workspace and user. */
  readonly direct = new Map<string, ScimRole>()

  roleOf(workspaceId: number, id: string): ScimRole | null {
    const { organization } = WORKSPACES.find((place) => place.id === workspaceId)!
    const person = this.people.get(id)
    if (person !== undefined && (!person.active || person.deleted || person.organization !== organization))
      return null
    const roles = this.mappings
      .filter(({ workspace, group }) => workspace === workspaceId && this.isIn(group, id))
      .map((mapping) => mapping.role)
    const own = this.direct.get(`${workspaceId} ${id}`)
    if (own !== undefined) roles.push(own)
    return roles.includes('admin') ? 'admin' : (roles[0] ?? null)
  }

  isIn(groupId: string, id: string): boolean {
    const whole = this.whole.get(groupId)
    if (whole !== undefined) return whole.members.has(id)
    const group = this.groups.get(groupId)
    const person = this.people.get(id)
    if (group === undefined || person === undefined || person.connection !== group.connection) return false
    return group.members.has(id) || group.held.has(id)
  }

  remove(group: ModelGroup, ids: readonly string[]): void {
    const before = group.members.size
    group.removals = group.removals.filter((minute) => minute + HOUR > this.minute)
    group.most = group.removals.length === 0 ? before : Math.max(group.most, before)
    for (const id of ids) {
      group.members.delete(id)
      const person = this.people.get(id)
      if (person === undefined || person.deleted || person.connection !== group.connection) continue
      group.removals.push(this.minute)
      if (group.removals.length > 0.3 * group.most) group.held.add(id)
    }
  }

  setMembers(groupId: string, wanted: ReadonlySet<string>): void {
    const group = this.groups.get(groupId)
    if (group === undefined) return
    // Of those that go at once the first by their ids go freely.
    this.remove(group, [...group.members].filter((id) => !wanted.has(id)).sort())
    for (const id of wanted) {
      if (!group.members.has(id)) group.held.delete(id)
      group.members.add(id)
    }
  }
}

test('roles are what a naive model says, after any changes', { timeout: 240_000 }, async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 40 }), async (steps) => {
      const lifetime: (() => unknown)[] = []
      const store = openStore({ after: (end) => lifetime.push(end) })
      try {
        await addTwoOrganizations(store)
        await runAgainstModel(store, steps)
      } finally {
        for (const end of lifetime.reverse()) await end()
      }
    }),
    { numRuns: RUNS, seed: 21 },
  )
  t.pass(`${RUNS} runs`)
})

async function runAgainstModel(store: ReturnType<typeof openStore>, steps: readonly Step[]): Promise<void> {
  const { directory } = store
  const model = new Model()
  for (const n of [1, 2, 3] as const) {
    const organizationId = idOf(ORGANIZATION_OF[n])
    await directory.connections.addConnection(connectionOf(n, { organizationId, heldFrom: 0 }), ACTOR)
    for (const index of [0, 1]) {
      const group = directoryGroupOf(n * 10 + index, { organizationId, connectionId: connectionOf(n).id })
      await directory.groups.addGroup(group, [], ACTOR)
      model.groups.set(group.id, {
        connection: n,
        members: new Set(),
        held: new Set(),
        removals: [],
        most: 0,
      })
    }
  }
  await Promise.all(
    PEOPLE.map(({ connection, n }) => {
      const connectionId = connection === null ? null : connectionOf(connection).id
      const organizationId = idOf(connection === null ? 1 : ORGANIZATION_OF[connection])
      return directory.members.addMember(memberOf(n, { connectionId, organizationId }), ACTOR)
    }),
  )
  for (const [index, next] of steps.entries()) {
    await takeStep(store, model, next, index)
    await compare(store, model)
  }
}

async function takeStep(
  { directory, scim }: ReturnType<typeof openStore>,
  model: Model,
  next: Step,
  index: number,
): Promise<void> {
  const at = (): number => BEGAN + model.minute * 60_000
  switch (next.do) {
    case 'active': {
      const { id } = memberOf(PEOPLE[next.person]!.n)
      const person = model.people.get(id)!
      if (!person.deleted) person.active = next.active
      await directory.members.changeMember(id, (member) => ({ ...member, active: next.active }), ACTOR)
      return
    }
    case 'delete': {
      const { id } = memberOf(PEOPLE[next.person]!.n)
      const person = model.people.get(id)!
      // An id that is added after its deletion is one that nobody has: it stays.
      if (!person.deleted) {
        person.deleted = true
        for (const group of model.groups.values()) {
          if (group.connection === person.connection) group.members.delete(id)
        }
        for (const place of WORKSPACES) model.direct.delete(`${place.id} ${id}`)
      }
      await directory.members.removeMember(id, () => null, at(), ACTOR)
      return
    }
    case 'members': {
      model.minute += next.minutes
      const id = GROUPS[next.group]!
      const now = model.groups.get(id)?.members ?? new Set<string>()
      // Mostly people of the group's own connection.
      const place = Math.floor(next.group / 2) * 10
      const users = [...next.own.map((n) => memberOf(place + n).id), ...next.others]
      if (next.op === 'add') model.setMembers(id, new Set([...now, ...users]))
      else if (next.op === 'replace') model.setMembers(id, new Set(users))
      else {
        const group = model.groups.get(id)
        if (group !== undefined)
          model.remove(
            group,
            [...new Set(users)].filter((name) => now.has(name)),
          )
      }
      const members = [{ op: next.op as 'add', members: users }]
      await directory.groups.changeGroup(id, (group) => ({ group, members }), at(), ACTOR)
      return
    }
    case 'whole': {
      const { organization, id } = WHOLE[next.group]!
      const members = [...new Set(next.users)]
      model.whole.set(id, { organization, members: new Set(members) })
      const times = { createdAt: BEGAN, updatedAt: at() }
      const names = { displayName: 'whole', externalId: null }
      await scim.putGroup({ ...times, ...names, id, organizationId: idOf(organization), members }, ACTOR)
      return
    }
    case 'map': {
      const scimGroupId = [...GROUPS, ...WHOLE.map(({ id }) => id)][next.group]!
      const { id: place, organization } = next.workspace
      // Groups of another organization give nothing here: what is delivered whole there is not this one's.
      const whole = WHOLE.find(({ id }) => id === scimGroupId)
      if (whole !== undefined && whole.organization !== organization) return
      if (model.mappings.some(({ group, workspace }) => group === scimGroupId && workspace === place)) return
      const mapping = mappingOf(index, scimGroupId, {
        organizationId: idOf(organization),
        workspaceId: idOf(place),
        role: next.role,
      })
      model.mappings.push({ id: mapping.id, group: scimGroupId, workspace: place, role: next.role })
      await scim.addMapping(mapping, ACTOR)
      return
    }
    case 'unmap': {
      const mapping = model.mappings[next.which % Math.max(1, model.mappings.length)]
      if (mapping === undefined) return
      model.mappings = model.mappings.filter((other) => other !== mapping)
      unmapInModel(model, mapping, next.keep)
      await scim.removeMapping(mapping.id, next.keep, at(), ACTOR)
      return
    }
    case 'direct': {
      const { id: place, organization } = next.workspace
      const person = model.people.get(next.user)
      const isOwn = person !== undefined && !person.deleted && person.organization === organization
      if (isOwn) model.direct.set(`${place} ${next.user}`, next.role)
      const asked = { organizationId: idOf(organization), workspaceId: idOf(place), memberId: next.user }
      const given = await directory.roles.putDirectRole({ ...asked, role: next.role }, at(), ACTOR)
      if (given !== isOwn) throw new Error('a direct role was given, or not')
      return
    }
    case 'approve':
      model.groups.get(GROUPS[next.group]!)?.held.clear()
      await directory.roles.approveHeld(GROUPS[next.group]!, at(), ACTOR)
      return
    case 'drop-group':
      model.groups.delete(GROUPS[next.group]!)
      await directory.groups.removeGroup(GROUPS[next.group]!, () => null, at(), ACTOR)
  }
}

function unmapInModel(
  model: Model,
  { group: id, workspace: place, role: given }: ModelMapping,
  keep: boolean,
): void {
  const { organization } = WORKSPACES.find(({ id: workspaceId }) => workspaceId === place)!
  const group = model.groups.get(id)
  const whole = model.whole.get(id)
  const isForeign = group !== undefined && ORGANIZATION_OF[group.connection] !== organization
  if (isForeign) return
  const members = [...(group?.members ?? whole?.members ?? [])].filter((name) => {
    const person = model.people.get(name)
    return (
      group === undefined ||
      (person !== undefined && !person.deleted && person.connection === group.connection)
    )
  })
  for (const name of members) {
    const key = `${place} ${name}`
    if (!keep) model.direct.delete(key)
    else if (given === 'admin' || !model.direct.has(key)) model.direct.set(key, given)
  }
}

async function compare({ directory, scim }: ReturnType<typeof openStore>, model: Model): Promise<void> {
  const same = (what: string, found: unknown, expected: unknown): void => {
    const [a, b] = [JSON.stringify(found), JSON.stringify(expected)]
    if (a !== b) throw new Error(`${what}: ${a} where the model has ${b}`)
  }
  for (const { id: place, organization } of WORKSPACES) {
    const roles = userIds.map((id) => [id, model.roleOf(place, id)] as const)
    for (const [id, expected] of roles) {
      same(`role of ${id} in ${place}`, scim.roleOf(idOf(place), id), expected)
      const reasons = directory.roles.reasons(idOf(place), id)
      same(`reasons of ${id} in ${place}`, reasons[0]?.role ?? null, expected)
      const workspaces = directory.roles.workspacesOf(idOf(organization), id)
      same(`workspaces of ${id}`, workspaces.get(idOf(place)) ?? null, expected)
    }
    const members = roles.filter(([id, has]) => has !== null && model.people.has(id))
    same(`members of ${place}`, [...(await directory.roles.membersOf(idOf(place)))], members.sort())
  }
  for (const [id, { members, held, connection }] of model.groups) {
    same(`count of ${id}`, directory.groups.group(id)?.memberCount, members.size)
    const listed = directory.groups.membershipsOf(id, 0, 100).entries.map(({ memberId }) => memberId)
    same(`members of ${id}`, listed.sort(), [...members].sort())
    const waiting = directory.roles
      .heldOf(idOf(ORGANIZATION_OF[connection]))
      .filter(({ groupId }) => groupId === id)
    const living = [...held].filter((name) => !model.people.get(name)!.deleted)
    same(`held of ${id}`, waiting.map(({ memberId }) => memberId).sort(), living.sort())
  }
}
