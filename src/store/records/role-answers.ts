/**
 * Roles and standing of members, which are asked for on every call with a member's key. To find a role costs some ten
 * reads; here it costs one, which tells whether the facts of the member's organization are still those that it was found
 * by. A member stays in its organization, and only facts of that one give it a role, so there is no other to look at.
 */
import type { MemberFacts } from '../directory-store.js'
import type { ScimRole } from '../scim-store.js'
import type { DirectoryTables } from './directory-tables.js'
import type { RoleFacts } from './role-facts.js'
import type { RoleStamp, RoleStamps } from './role-stamps.js'

/** Members that are remembered; beyond it the oldest goes. About half a KB each. */
const MOST_MEMBERS = 10_000
/** Workspaces of a member. */
const MOST_WORKSPACES = 32

interface KnownMember {
  readonly stamp: RoleStamp
  readonly facts: MemberFacts
  readonly roles: Map<string, ScimRole | null>
}

/** Each read has a snapshot of its own. */
export class RoleAnswers {
  readonly #tables: DirectoryTables
  readonly #stamps: RoleStamps
  readonly #facts: RoleFacts
  readonly #members = new Map<string, KnownMember>()

  constructor(tables: DirectoryTables, stamps: RoleStamps, facts: RoleFacts) {
    this.#tables = tables
    this.#stamps = stamps
    this.#facts = facts
  }

  /** Null for what is the id of no member, now or before. */
  factsOf(memberId: string): MemberFacts | null {
    const known = this.#current(memberId)
    return known !== null ? known.facts : this.#tables.space.inSnapshot(() => this.#read(memberId).facts)
  }

  roleOf(workspaceId: string, userId: string): ScimRole | null {
    const role = this.#current(userId)?.roles.get(workspaceId)
    if (role !== undefined) return role
    return this.#tables.space.inSnapshot(() => {
      const { facts, known } = this.#read(userId)
      const found = this.#facts.roleOf(workspaceId, userId, facts)
      if (known !== null) {
        if (known.roles.size >= MOST_WORKSPACES) known.roles.clear()
        known.roles.set(workspaceId, found)
      }
      return found
    })
  }

  /** What is known of a member, if it still holds. */
  #current(userId: string): KnownMember | null {
    const known = this.#members.get(userId)
    return known !== undefined && this.#stamps.isCurrent(known.stamp) ? known : null
  }

  /** Begins to know a member anew unless what is known holds in this snapshot. Who is no member is not remembered. */
  #read(userId: string): { readonly facts: MemberFacts | null; readonly known: KnownMember | null } {
    const facts = this.#tables.facts(userId)
    const stamp = facts && this.#stamps.stampOf(facts.organizationId)
    if (facts === null || stamp === null) return { facts, known: null }
    const before = this.#members.get(userId)
    if (before?.stamp.bytes.equals(stamp.bytes)) return { facts, known: before }
    const known = { stamp, facts, roles: new Map<string, ScimRole | null>() }
    this.#members.delete(userId)
    if (this.#members.size >= MOST_MEMBERS) {
      const { value: oldest } = this.#members.keys().next()
      if (oldest !== undefined) this.#members.delete(oldest)
    }
    this.#members.set(userId, known)
    return { facts, known }
  }
}
