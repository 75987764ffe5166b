/** Groups of a connection as resources. Their members stand apart, so that a change costs what changes. */
import { isDeepStrictEqual } from 'node:util'
import { unixMs } from '../../base/clock.js'
import { newUuidV7 } from '../../base/ids.js'
import { TurnSlices } from '../../base/turn-slices.js'
import type {
  DirectoryGroup,
  DirectoryStore,
  GroupMembership,
  MembershipChange,
  ScimDocument,
} from '../../store/directory-store.js'
import { ScimError } from '../scim/errors.js'
import { type GroupFields, patchGroup, readGroup } from '../scim/groups.js'
import { renderGroup } from '../scim/rendering.js'
import type { ProvisioningPorts } from './users.js'
import {
  ABSENT,
  guarded,
  isOfScope,
  outcomeOf,
  type ResourceKind,
  refusalOf,
  removalCheck,
  type Visit,
} from './visit.js'

/** What a body makes of a group. */
interface GroupChange {
  readonly group: GroupFields
  readonly members: readonly MembershipChange[]
}

/** Members that are read in one go. */
const MEMBERS_PER_READ = 500

const NESTED = new ScimError(400, 'invalidValue', 'A group cannot be a member of a group.')

export function groupsKind({ directory, clock, baseUrl }: ProvisioningPorts): ResourceKind<DirectoryGroup> {
  const { groups } = directory
  const find = ({ scope }: Visit, id: string): DirectoryGroup | null => {
    const group = groups.group(id.toLowerCase())
    return group !== null && isOfScope(group, scope) ? group : null
  }
  /** `read` is asked before the change for what the body names, and in it where the group was changed meanwhile. */
  const change = async (
    visit: Visit,
    id: string,
    read: (current: GroupFields) => GroupChange | ScimError,
  ): Promise<DirectoryGroup | ScimError> => {
    const found = find(visit, id)
    const first = found === null ? null : read(found)
    if (first !== null && !(first instanceof ScimError)) {
      const refused = await checkMembers(directory, visit, first.members)
      if (refused !== null) return refused
    }
    const write = await groups.changeGroup(
      id.toLowerCase(),
      guarded((current) => {
        const refused = refusalOf(visit, current)
        if (refused !== null) return refused
        const isSameVersion = first !== null && current.version === found?.version
        const next = isSameVersion ? first : read(current)
        if (next instanceof ScimError) return next
        // Read anew it is another object, also where nothing is said of the group itself.
        const group = next.group === found ? current : next.group
        return withFields(current, { ...next, group }, unixMs(clock))
      }),
      unixMs(clock),
      visit.actor,
    )
    return outcomeOf(write)
  }
  const replacing = (visit: Visit, body: unknown) => (current: GroupFields) => {
    const read = readGroup(body, visit.quirks)
    if (read instanceof ScimError) return read
    const members: readonly MembershipChange[] = [{ op: 'replace', ...read.members }]
    return { group: isSame(current, read.group) ? current : read.group, members }
  }
  return {
    name: 'Group',
    list: 'members',
    read: (visit, id) => find(visit, id) ?? ABSENT,
    page: (scope, lookup, offset, limit) => groups.groupsOf(scope, lookup, offset, limit),
    create: async (visit, body) => {
      const read = readGroup(body, visit.quirks)
      if (read instanceof ScimError) return read
      const members: MembershipChange = { op: 'replace', ...read.members }
      const refused = await checkMembers(directory, visit, [members])
      if (refused !== null) return refused
      const now = unixMs(clock)
      const { members: named, displays } = read.members
      const counts = { version: 1, memberCount: 0, createdAt: now, updatedAt: now }
      const group = { id: newUuidV7(now), ...visit.scope, ...read.group, ...counts }
      return outcomeOf(await groups.addGroup(group, named, visit.actor, displays))
    },
    replace: (visit, id, body) => change(visit, id, replacing(visit, body)),
    patch: (visit, id, body) => change(visit, id, (current) => patchGroup(current, body, visit.quirks)),
    remove: async (visit, id) =>
      outcomeOf(await groups.removeGroup(id.toLowerCase(), removalCheck(visit), unixMs(clock), visit.actor)),
    render: (group, withList) =>
      withList ? renderWithMembers(groups, group, baseUrl) : renderGroup(group, baseUrl, []),
    hasMember: (group, id) => groups.isMember(group.id, id),
    weigh: ({ memberCount }) => memberCount,
  }
}

/** Counts members that are not there, and refuses groups among them. */
async function checkMembers(
  { members, groups }: Pick<DirectoryStore, 'members' | 'groups'>,
  { scope, quirks }: Visit,
  changes: readonly MembershipChange[],
): Promise<ScimError | null> {
  const slices = new TurnSlices()
  for (const change of changes) {
    if (change.op === 'remove') continue
    for (const id of change.members) {
      if (slices.isOver) await slices.next()
      const facts = members.factsOf(id)
      if (facts !== null && !facts.deleted && isOfScope(facts, scope)) continue
      const group = groups.group(id)
      if (group !== null && isOfScope(group, scope)) return NESTED
      quirks.add('unknown-member')
    }
  }
  return null
}

function withFields(
  current: DirectoryGroup,
  { group, members }: GroupChange,
  now: number,
): { group: DirectoryGroup; members: readonly MembershipChange[] } {
  if (group === current) return { group: current, members }
  const { displayName, externalId, document } = group
  return { group: { ...current, displayName, externalId, document, updatedAt: now }, members }
}

function isSame(a: GroupFields, b: GroupFields): boolean {
  return isDeepStrictEqual(
    [a.displayName, a.externalId, a.document],
    [b.displayName, b.externalId, b.document],
  )
}

async function renderWithMembers(
  groups: Pick<DirectoryStore['groups'], 'membershipsOf'>,
  group: DirectoryGroup,
  baseUrl: string,
): Promise<ScimDocument> {
  const slices = new TurnSlices()
  const members: GroupMembership[] = []
  for (;;) {
    const { entries } = groups.membershipsOf(group.id, members.length, MEMBERS_PER_READ)
    members.push(...entries)
    if (entries.length < MEMBERS_PER_READ) return renderGroup(group, baseUrl, members)
    if (slices.isOver) await slices.next()
  }
}
