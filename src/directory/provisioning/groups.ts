/** Groups of a connection as resources. Their members stand apart, so that a change costs what changes. */
import { isDeepStrictEqual } from 'node:util'
import { unixMs } from '../../base/clock.js'
import { Fault } from '../../base/fault.js'
import { newUuidV7 } from '../../base/ids.js'
import { TurnSlices } from '../../base/turn-slices.js'
import type {
  DirectoryGroup,
  DirectoryStore,
  MembershipChange,
  ScimDocument,
  ScimValue,
} from '../../store/directory-store.js'
import { ScimError } from '../scim/errors.js'
import { type GroupFields, patchGroup, readGroup } from '../scim/groups.js'
import { renderGroup } from '../scim/rendering.js'
import { isForOne, membersInTurns, portionsOf } from './member-portions.js'
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

/** A group that others change all the time is given up. */
const MOST_TRIES = 20
const MOVED = new ScimError(412, null, 'The resource was changed in between.')

const NESTED = new ScimError(400, 'invalidValue', 'A group cannot be a member of a group.')

export function groupsKind({ directory, clock, baseUrl }: ProvisioningPorts): ResourceKind<DirectoryGroup> {
  const { groups } = directory
  const find = ({ scope }: Visit, id: string): DirectoryGroup | null => {
    const group = groups.group(id.toLowerCase())
    return group !== null && isOfScope(group, scope) ? group : null
  }
  /** Again where the group was changed by others in between; at last it is told that the store is busy. */
  const changeInPortions = async (
    visit: Visit,
    id: string,
    read: (current: GroupFields) => GroupChange | ScimError,
  ): Promise<DirectoryGroup | ScimError> => {
    let isBegun = false
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const found = find(visit, id)
      if (found === null) return ABSENT
      const next = (isBegun ? null : refusalOf(visit, found)) ?? read(found)
      if (next instanceof ScimError) return next
      const portions = await portionsOf(groups, found, next.members)
      let present = found
      let outcome: DirectoryGroup | ScimError = found
      do {
        const portion = portions.shift()
        const isLast = portions.length === 0
        const write = await groups.changeGroup(
          found.id,
          guarded((current) => {
            if (current.version !== present.version) return MOVED
            const group = isLast && next.group !== found ? next.group : current
            return withFields(
              current,
              { group, members: portion === undefined ? [] : [portion] },
              unixMs(clock),
            )
          }),
          unixMs(clock),
          visit.actor,
        )
        outcome = outcomeOf(write)
        if (outcome instanceof ScimError) break
        isBegun = true
        present = outcome
      } while (portions.length > 0)
      if (outcome !== MOVED) return outcome
    }
    throw new Fault('unavailable', { retryAfter: 1, detail: 'others keep changing the group' })
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
      if (!isForOne(found, first.members)) return changeInPortions(visit, id, read)
    }
    const write = await groups.changeGroup(
      id.toLowerCase(),
      guarded((current) => {
        const refused = refusalOf(visit, current)
        if (refused !== null) return refused
        const isSameVersion = first !== null && current.version === found?.version
        const next = isSameVersion ? first : read(current)
        if (next instanceof ScimError) return next
        if (!isForOne(current, next.members)) return MOVED
        // Read anew it is another object, also where nothing is said of the group itself.
        const group = next.group === found ? current : next.group
        return withFields(current, { ...next, group }, unixMs(clock))
      }),
      unixMs(clock),
      visit.actor,
    )
    const outcome = outcomeOf(write)
    return outcome === MOVED ? changeInPortions(visit, id, read) : outcome
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
      if (isForOne(null, [members]))
        return outcomeOf(await groups.addGroup(group, named, visit.actor, displays))
      const made = outcomeOf(await groups.addGroup(group, [], visit.actor))
      if (made instanceof ScimError) return made
      const fill = (current: GroupFields): GroupChange => ({ group: current, members: [members] })
      try {
        return await changeInPortions({ ...visit, allows: () => true }, made.id, fill)
      } catch (error) {
        // Who creates it again would have two.
        await groups.removeGroup(made.id, () => null, unixMs(clock), visit.actor).catch(() => {})
        throw error
      }
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
  const rendered: ScimValue[] = []
  for await (const page of membersInTurns(groups, group.id)) {
    const { members = [] } = renderGroup(group, baseUrl, page)
    rendered.push(...(members as readonly ScimValue[]))
  }
  const { meta, ...rest } = renderGroup(group, baseUrl, [])
  return { ...rest, ...(rendered.length > 0 && { members: rendered }), meta: meta! }
}
