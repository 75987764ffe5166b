/**
 * The roles that follow from what is known: direct roles, mappings, and who is in their groups. Nothing of it is kept;
 * it is read whenever it is asked for. For the inside of changes and snapshots.
 */
import type { DirectoryGroup, MemberFacts, RoleReason } from '../directory-store.js'
import type { ScimGroup, ScimMapping, ScimRole } from '../scim-store.js'
import { edgeOf, edgesOf, hasEdge, heldOf, heldOfGroup, isHeld } from './directory-edges.js'
import { type DirectoryTables, keyOf } from './directory-tables.js'
import { digestOf, type ScimTables, scimKey, type UserDigest } from './scim-tables.js'

/** Somebody who asks, or is asked about. */
interface User {
  readonly id: string
  readonly digest: UserDigest
  /** Null for an id that is no member's: one that groups name which are delivered whole. */
  readonly facts: MemberFacts | null
}

export class RoleFacts {
  readonly #scim: ScimTables
  readonly #directory: DirectoryTables

  constructor(scim: ScimTables, directory: DirectoryTables) {
    this.#scim = scim
    this.#directory = directory
  }

  roleOf(workspaceId: string, userId: string): ScimRole | null {
    const user = this.#user(userId)
    if (!isActive(user)) return null
    let role = this.#directRole(workspaceId, user)
    for (const mapping of this.#scim.mappingsUnder(scimKey('w', workspaceId))) {
      if (role === 'admin') return role
      if (role !== mapping.role && this.#isMapped(mapping, user)) role = mapping.role
    }
    return role
  }

  reasonsOf(workspaceId: string, userId: string): RoleReason[] {
    const user = this.#user(userId)
    if (!isActive(user)) return []
    const reasons: RoleReason[] = []
    const direct = this.#scim.directRole(workspaceId, user.digest)
    if (direct !== null && isOf(user, direct.organizationId)) {
      const { role, mappingId, createdAt: since, author = null } = direct
      reasons.push({ role, by: 'direct', mappingId, groupId: null, since, author, held: false })
    }
    for (const mapping of this.#scim.mappingsUnder(scimKey('w', workspaceId))) {
      if (!this.#isMapped(mapping, user)) continue
      const { role, id: mappingId, scimGroupId: groupId, author = null } = mapping
      reasons.push({ role, by: 'group', mappingId, groupId, author, ...this.#membership(mapping, user) })
    }
    return reasons.sort((a, b) => Number(b.role === 'admin') - Number(a.role === 'admin'))
  }

  workspacesOf(organizationId: string, userId: string): Map<string, ScimRole> {
    const roles = new Map<string, ScimRole>()
    const user = this.#user(userId)
    if (!isActive(user) || !isOf(user, organizationId)) return roles
    for (const workspaceId of this.#scim.workspacesOf(user.digest)) {
      const direct = this.#scim.directRole(workspaceId, user.digest)
      if (direct?.organizationId === organizationId) roles.set(workspaceId, direct.role)
    }
    for (const mapping of this.#scim.mappingsUnder(scimKey('o', organizationId))) {
      const { workspaceId, role } = mapping
      if (!isStronger(role, roles.get(workspaceId))) continue
      if (this.#isMapped(mapping, user)) roles.set(workspaceId, role)
    }
    return roles
  }

  /** Of members: who has a role by an id that is nobody's is not among them. */
  membersOf(workspaceId: string): Map<string, ScimRole> {
    const roles = new Map<string, ScimRole>()
    const users = new Map<string, MemberFacts | null>()
    const factsOf = (id: string): MemberFacts | null => {
      const known = users.get(id)
      if (known !== undefined) return known
      const facts = this.#directory.facts(id)
      users.set(id, facts)
      return facts
    }
    const give = (id: string | null, role: ScimRole, organizationId: string, connectionId?: string): void => {
      const facts = id === null ? null : factsOf(id)
      if (id === null || !facts?.active || facts.organizationId !== organizationId) return
      if (connectionId !== undefined && facts.connectionId !== connectionId) return
      if (isStronger(role, roles.get(id))) roles.set(id, role)
    }
    for (const { userId, role, organizationId } of this.#scim.directRolesOf(workspaceId)) {
      give(userId, role, organizationId)
    }
    for (const { organizationId, scimGroupId, role } of this.#scim.mappingsUnder(scimKey('w', workspaceId))) {
      const members = this.#scim.group(organizationId, scimGroupId)?.members ?? []
      for (const id of members) give(id, role, organizationId)
      const group = this.#groupOf(organizationId, scimGroupId)
      if (group === null) continue
      for (const [id] of edgesOf(this.#directory, group)) give(id, role, organizationId, group.connectionId)
      for (const { memberId } of heldOfGroup(this.#directory, group.id))
        give(memberId, role, organizationId, group.connectionId)
    }
    return new Map([...roles].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** Who keeps a role of their own when it goes: who is in the group, and not those whose removal is held. */
  membersByMapping({ organizationId, scimGroupId }: ScimMapping): string[] {
    const delivered = this.#scim.group(organizationId, scimGroupId)?.members ?? []
    const group = this.#groupOf(organizationId, scimGroupId)
    if (group === null) return [...delivered]
    const members = edgesOf(this.#directory, group).map(([id]) => id)
    return members.filter((id) => {
      const facts = this.#directory.facts(id)
      return facts !== null && !facts.deleted && facts.connectionId === group.connectionId
    })
  }

  // ── Groups of connections among those that are delivered whole ────────────

  isOfConnection(organizationId: string, id: string): boolean {
    return this.#groupOf(organizationId, id) !== null
  }

  groupOfConnection(organizationId: string, id: string): ScimGroup | null {
    const group = this.#groupOf(organizationId, id)
    if (group === null) return null
    return { ...headOf(group), members: edgesOf(this.#directory, group).map(([memberId]) => memberId) }
  }

  groupsOfConnections(organizationId: string): Omit<ScimGroup, 'members'>[] {
    const connections = this.#directory.texts(keyOf('o', organizationId))
    return connections.flatMap((connection) =>
      this.#directory.texts(keyOf('G', connection)).map((id) => headOf(this.#directory.group(id)!)),
    )
  }

  #groupOf(organizationId: string, id: string): DirectoryGroup | null {
    const group = this.#directory.group(id)
    return group?.organizationId === organizationId ? group : null
  }

  // ── One user ──────────────────────────────────────────────────────────────

  #user(id: string): User {
    return { id, digest: digestOf(id), facts: this.#directory.facts(id) }
  }

  #directRole(workspaceId: string, user: User): ScimRole | null {
    const direct = this.#scim.directRole(workspaceId, user.digest)
    return direct !== null && isOf(user, direct.organizationId) ? direct.role : null
  }

  #isMapped(mapping: ScimMapping, user: User): boolean {
    if (!isOf(user, mapping.organizationId)) return false
    if (this.#scim.isMember(mapping, user.digest)) return true
    const group = placeOf(mapping, user)
    if (group === null) return false
    const isIn = hasEdge(this.#directory, group, user.id) || isHeld(this.#directory, group.id, user.id)
    // Members of a group that was removed may still be there.
    return isIn && this.#directory.has(keyOf('g', group.id))
  }

  /** Since when a group gives its role to a user that is in it; a group that is delivered whole does not tell. */
  #membership(mapping: ScimMapping, user: User): Pick<RoleReason, 'since' | 'held'> {
    const group = placeOf(mapping, user)
    const edge = group && edgeOf(this.#directory, group, user.id)
    const held = group && heldOf(this.#directory, group.id, user.id)
    const addedAt = edge?.[1] ?? held?.addedAt
    const since = addedAt === undefined ? null : Math.max(addedAt, mapping.updatedAt)
    return { since, held: !edge && held !== null }
  }
}

/** Those who are no members are never inactive. */
const isActive = ({ facts }: User): boolean => facts === null || facts.active

/** Whether what an organization gives may count for a user: a member gets nothing from another one's. */
const isOf = ({ facts }: User, organizationId: string): boolean =>
  facts === null || facts.organizationId === organizationId

const isStronger = (role: ScimRole, than: ScimRole | undefined): boolean =>
  than === undefined || (role === 'admin' && than === 'member')

/** Where the group of a mapping would be if it were of the user's connection; those of others give nothing. */
function placeOf(
  { scimGroupId: id }: ScimMapping,
  { facts }: User,
): { id: string; connectionId: string } | null {
  return facts === null || facts.connectionId === null ? null : { id, connectionId: facts.connectionId }
}

function headOf(group: DirectoryGroup): Omit<ScimGroup, 'members'> {
  const { id, organizationId, displayName, externalId, createdAt, updatedAt } = group
  return { id, organizationId, displayName, externalId, createdAt, updatedAt }
}
