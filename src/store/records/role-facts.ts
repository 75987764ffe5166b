/**
 * The roles that follow from what is known: direct roles, mappings, and who is in their groups. Nothing of it is kept
 * here; role-answers.ts remembers what calls ask for. For the inside of changes and snapshots.
 */
import type { DirectoryGroup, MemberFacts, RoleReason } from '../directory-store.js'
import type { ScimGroup, ScimGroupHead, ScimMapping, ScimRole } from '../scim-store.js'
import { edgeOf, edgesOf, groupIdsOf, hasEdge, heldOf, heldOfGroup, isHeld } from './directory-edges.js'
import { type DirectoryTables, keyOf, type ListPage, memberKey } from './directory-tables.js'
import { KEY_END } from './record-table.js'
import { digestOf, type ScimTables, scimKey, type UserDigest } from './scim-tables.js'

/** Somebody who asks, or is asked about. */
interface User {
  readonly id: string
  readonly digest: UserDigest
  /** Null for an id that is no member's: one that groups name which are delivered whole. */
  readonly facts: MemberFacts | null
}

/** Members of a group that are read at once. */
const CANDIDATES_AT_ONCE = 200

export class RoleFacts {
  readonly #scim: ScimTables
  readonly #directory: DirectoryTables

  constructor(scim: ScimTables, directory: DirectoryTables) {
    this.#scim = scim
    this.#directory = directory
  }

  /** @param facts of the user, where they were read in this snapshot */
  roleOf(workspaceId: string, userId: string, facts = this.#directory.facts(userId)): ScimRole | null {
    const user = { id: userId, digest: digestOf(userId), facts }
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

  /** Who may have a role in a workspace, some of them twice, in pages; members and others. Each page is a read of its own. */
  *candidatesOf(workspaceId: string): Generator<readonly string[]> {
    const { space } = this.#directory
    const direct = space.inSnapshot(() => this.#scim.directRolesOf(workspaceId))
    yield direct.flatMap(({ userId }) => userId ?? [])
    for (const mapping of space.inSnapshot(() => this.#scim.mappingsUnder(scimKey('w', workspaceId)))) {
      const { organizationId, scimGroupId } = mapping
      yield space.inSnapshot(() => this.#scim.group(organizationId, scimGroupId))?.members ?? []
      const group = space.inSnapshot(() => this.#groupOf(organizationId, scimGroupId))
      if (group === null) continue
      yield* this.#pages((page) => edgesOf(this.#directory, group, page).map(([id]) => id))
      yield* this.#pages((page) => heldOfGroup(this.#directory, group.id, page).map((held) => held.memberId))
    }
  }

  /** All pages of a list whose keys end with members. */
  *#pages(read: (page: ListPage) => string[]): Generator<string[]> {
    for (let after: string | undefined; ; ) {
      const ids = this.#directory.space.inSnapshot(() => read({ limit: CANDIDATES_AT_ONCE, after }))
      yield ids
      if (ids.length < CANDIDATES_AT_ONCE) return
      after = memberKey(ids.at(-1)!) + KEY_END
    }
  }

  isMember(id: string): boolean {
    return this.#directory.facts(id) !== null
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
    const { connectionId: _, memberCount: __, ...head } = headOf(group)
    return { ...head, members: edgesOf(this.#directory, group).map(([memberId]) => memberId) }
  }

  /** Of the connection that delivers the user. */
  groupsOfUser(organizationId: string, userId: string): ScimGroupHead[] {
    const facts = this.#directory.facts(userId)
    if (facts?.organizationId !== organizationId || facts.connectionId === null || facts.deleted) return []
    const ids = groupIdsOf(this.#directory, facts.connectionId, userId)
    return ids.flatMap((id) => this.#directory.group(id) ?? []).map(headOf)
  }

  groupsOfConnections(organizationId: string): ScimGroupHead[] {
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

function headOf(group: DirectoryGroup): ScimGroupHead {
  const { id, organizationId, connectionId, displayName, externalId, memberCount, createdAt, updatedAt } =
    group
  return { id, organizationId, connectionId, displayName, externalId, memberCount, createdAt, updatedAt }
}
