/** What a change of a mapping would do, without doing it: who would gain a role, who would lose one (contract/directory 6). */
import { TurnSlices } from '../base/turn-slices.js'
import type { DirectoryStore, RoleReason } from '../store/directory-store.js'
import type { ScimMapping, ScimRole, ScimStore } from '../store/scim-store.js'

/** A mapping as it would be: with a role, or gone. */
export interface MappingTrial {
  readonly mapping: Pick<ScimMapping, 'organizationId' | 'workspaceId' | 'scimGroupId'>
  /** Null of one that does not exist yet. */
  readonly mappingId: string | null
  /** Null of one that is deleted; `keepMembers` says whether its members keep their role as a direct one. */
  readonly role: ScimRole | null
  readonly keepMembers: boolean
}

export interface RoleChange {
  readonly userId: string
  readonly roleBefore: ScimRole | null
  readonly roleAfter: ScimRole | null
}

/** Facts that a trial reads. */
interface TrialPorts {
  readonly scim: Pick<ScimStore, 'group' | 'roleOf'>
  readonly directory: Pick<DirectoryStore, 'groups' | 'members' | 'roles'>
}

/** Who is in a group: by what the directory says now, and whose removal only waits for approval. */
interface GroupUser {
  readonly userId: string
  readonly held: boolean
}

const PAGE = 250

/** Everybody whose role would be another one, in the order of the group. Other calls run in between. */
export async function tryMapping(trial: MappingTrial, ports: TrialPorts): Promise<RoleChange[]> {
  const changes: RoleChange[] = []
  const slices = new TurnSlices()
  for (const user of usersOf(trial.mapping, ports)) {
    if (slices.isOver) await slices.next()
    const change = changeFor(trial, user, ports)
    if (change.roleBefore !== change.roleAfter) changes.push(change)
  }
  return changes
}

function* usersOf(
  { organizationId, scimGroupId }: MappingTrial['mapping'],
  { scim, directory: { groups, roles } }: TrialPorts,
): Generator<GroupUser> {
  if (groups.group(scimGroupId)?.organizationId !== organizationId) {
    for (const userId of scim.group(organizationId, scimGroupId)?.members ?? []) yield { userId, held: false }
    return
  }
  for (let offset = 0; ; offset += PAGE) {
    const { entries } = groups.membershipsOf(scimGroupId, offset, PAGE)
    for (const { memberId } of entries) yield { userId: memberId, held: false }
    if (entries.length < PAGE) break
  }
  for (const { groupId, memberId } of roles.heldOf(organizationId)) {
    if (groupId === scimGroupId) yield { userId: memberId, held: true }
  }
}

function changeFor(trial: MappingTrial, { userId, held }: GroupUser, ports: TrialPorts): RoleChange {
  const { workspaceId } = trial.mapping
  const roleBefore = ports.scim.roleOf(workspaceId, userId)
  const mayHaveRoles = countsInGroup(trial, userId, ports)
  if (!mayHaveRoles) return { userId, roleBefore, roleAfter: roleBefore }
  const others = ports.directory.roles.reasons(workspaceId, userId).filter((reason) => {
    // Who deletes a mapping and keeps nobody takes direct roles of the group's present members away as well.
    const isDropped = trial.role === null && !trial.keepMembers && !held && reason.by === 'direct'
    return !isDropped && !(reason.by === 'group' && reason.mappingId === trial.mappingId)
  })
  const own = trial.role ?? (trial.keepMembers && !held ? roleByMapping(trial, userId, ports) : null)
  return { userId, roleBefore, roleAfter: strongest(others, own) }
}

/** Somebody of another connection, or who is not active, has no role by this group. */
function countsInGroup(
  { mapping: { organizationId, scimGroupId } }: MappingTrial,
  userId: string,
  { directory: { groups, members } }: TrialPorts,
): boolean {
  const facts = members.factsOf(userId)
  const group = groups.group(scimGroupId)
  const connectionId = group?.organizationId === organizationId ? group.connectionId : null
  if (facts === null) return connectionId === null
  if (!facts.active || facts.deleted || facts.organizationId !== organizationId) return false
  return connectionId === null || facts.connectionId === connectionId
}

function roleByMapping(
  { mapping, mappingId }: MappingTrial,
  userId: string,
  ports: TrialPorts,
): ScimRole | null {
  const reasons = ports.directory.roles.reasons(mapping.workspaceId, userId)
  return reasons.find((reason) => reason.by === 'group' && reason.mappingId === mappingId)?.role ?? null
}

function strongest(reasons: readonly RoleReason[], own: ScimRole | null): ScimRole | null {
  const roles = [...reasons.map(({ role }) => role), own]
  return roles.includes('admin') ? 'admin' : roles.includes('member') ? 'member' : null
}
