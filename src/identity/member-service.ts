/**
 * What callers may do with the people of their organization: management with all of them, an admin reads those of its
 * workspaces and takes direct roles away there, a member reads itself (contract/directory 5 and 6).
 */
import { type Clock, unixMs } from '../base/clock.js'
import { Fault, throwFault } from '../base/fault.js'
import { newUuidV7 } from '../base/ids.js'
import { actorOf, type Principal } from '../base/principal.js'
import { sortInTurns } from '../base/sorting-in-turns.js'
import type { AccountStore } from '../store/account-store.js'
import type {
  DirectoryPage,
  DirectoryStore,
  DirectoryWrite,
  Member,
  RoleReason,
  ScimDocument,
} from '../store/directory-store.js'
import type { ScimActor, ScimRole, ScimStore } from '../store/scim-store.js'
import { type Reach, reachOf, requireAdminOf, roleIn } from './reach.js'

export interface MemberPorts {
  readonly directory: Pick<DirectoryStore, 'members' | 'roles' | 'groups'>
  readonly scim: Pick<ScimStore, 'roleOf' | 'removeDirectRole' | 'group'>
  readonly accounts: Pick<AccountStore, 'workspace'>
  readonly clock: Clock
}

/** A member with its roles, as far as the caller may know of them. */
export interface MemberView extends Member {
  readonly roles: ReadonlyMap<string, ScimRole>
}

type OptionalMembers<T> = { readonly [K in keyof T]?: T[K] | undefined }

/** In the words of the wire. */
type MemberNames = OptionalMembers<{ external_id: string | null; display_name: string | null }>
type NewMember = MemberNames & { readonly user_name: string }
type MemberChanges = MemberNames & OptionalMembers<{ user_name: string; active: boolean }>

/** What the audit is told of the request that asks for a change. */
type RequestOrigin = Pick<ScimActor, 'requestId' | 'address'>

interface MemberListFilter {
  readonly offset: number
  readonly limit: number
  readonly workspace_id: string | null
}

const OF_DIRECTORY = new Fault('conflict', {
  note: 'This member comes from a directory, which has to change it',
})
const SAME_NAME = new Fault('conflict', { note: 'Another member that was added by hand has this user_name' })

export class MemberService {
  readonly #ports: MemberPorts
  readonly #roles: Parameters<typeof reachOf>[1]

  constructor(ports: MemberPorts) {
    this.#ports = ports
    this.#roles = {
      roleOf: (workspaceId, userId) => ports.scim.roleOf(workspaceId, userId),
      workspacesOf: (organizationId, userId) => ports.directory.roles.workspacesOf(organizationId, userId),
    }
  }

  /** Of one workspace in the caller's reach, or of all of them. Fails with `item-not-found` for another one. */
  async list(
    caller: Principal,
    { offset, limit, workspace_id }: MemberListFilter,
  ): Promise<DirectoryPage<MemberView>> {
    const { members } = this.#ports.directory
    const reach = this.#reachOf(caller)
    const asked = workspace_id?.toLowerCase() ?? null
    if (asked === null && reach.workspaces === 'all') {
      const page = members.membersOfOrganization(reach.organizationId, offset, limit)
      return { ...page, entries: page.entries.map((member) => this.#viewOf(member, reach)) }
    }
    const ids = await this.#idsIn(
      asked === null ? adminWorkspaces(reach) : [this.#requireAdmin(reach, asked)],
    )
    const page = ids.slice(offset, offset + limit).map((id) => members.member(id))
    return {
      entries: page.filter((each) => each !== null).map((member) => this.#viewOf(member, reach)),
      total: ids.length,
    }
  }

  /** Null when there is none, or none in the caller's reach. */
  find(caller: Principal, id: string): MemberView | null {
    const reach = this.#reachOf(caller)
    const member = this.#living(reach, id)
    if (member === null) return null
    const view = this.#viewOf(member, reach)
    return reach.workspaces === 'all' || view.roles.size > 0 ? view : null
  }

  /** The caller itself; null when it is no member. Of its roles a key learns the one in its workspace: admins make keys. */
  findSelf(caller: Principal): MemberView | null {
    const reach = this.#reachOf(caller)
    const member = reach.userId === null ? null : this.#living(reach, reach.userId)
    return member && { ...member, roles: reach.workspaces === 'all' ? new Map() : reach.workspaces }
  }

  /** Adds somebody whom no directory delivers. Fails with `conflict` when the name is taken. */
  async add(caller: Principal, wanted: NewMember, call: RequestOrigin): Promise<MemberView> {
    const now = unixMs(this.#ports.clock)
    const added = await this.#ports.directory.members.addMember(
      {
        id: newUuidV7(now),
        organizationId: caller.organizationId,
        connectionId: null,
        version: 1,
        userName: wanted.user_name,
        externalId: wanted.external_id ?? null,
        active: true,
        document: documentOf(wanted.display_name ?? null),
        createdAt: now,
        updatedAt: now,
        deletedAt: null,
      },
      originOf(caller, call),
    )
    return this.#done(caller, added) ?? throwFault('internal')
  }

  /** Null when there is none. Fails with `conflict` when a directory delivers it or the name is taken. */
  async change(
    caller: Principal,
    id: string,
    changes: MemberChanges,
    call: RequestOrigin,
  ): Promise<MemberView | null> {
    if (this.#living(this.#reachOf(caller), id) === null) return null
    const now = unixMs(this.#ports.clock)
    const changed = await this.#ports.directory.members.changeMember<Fault>(
      id,
      (current) => refusalOf(current) ?? applyMemberChanges(current, changes, now),
      originOf(caller, call),
    )
    return this.#done(caller, changed)
  }

  /** Its keys, sessions and roles are at an end. Null when there is none; as `change` otherwise. */
  async remove(caller: Principal, id: string, call: RequestOrigin): Promise<MemberView | null> {
    if (this.#living(this.#reachOf(caller), id) === null) return null
    const now = unixMs(this.#ports.clock)
    const origin = originOf(caller, call)
    return this.#done(
      caller,
      await this.#ports.directory.members.removeMember<Fault>(id, refusalOf, now, origin),
    )
  }

  /** The member with its new direct role; null when there is no such member, or no such workspace. */
  async giveRole(
    caller: Principal,
    { id, workspace_id }: { readonly id: string; readonly workspace_id: string },
    role: ScimRole,
    call: RequestOrigin,
  ): Promise<MemberView | null> {
    const { organizationId } = caller
    const direct = { organizationId, workspaceId: workspace_id.toLowerCase(), memberId: id, role }
    const { roles } = this.#ports.directory
    const isGiven = await roles.putDirectRole(direct, unixMs(this.#ports.clock), originOf(caller, call))
    return isGiven ? this.find(caller, id) : null
  }

  /** True when this call took a direct role away; what groups give stays. */
  async takeRole(
    caller: Principal,
    { id, workspace_id }: { readonly id: string; readonly workspace_id: string },
    call: RequestOrigin,
  ): Promise<boolean> {
    const workspaceId = this.#requireAdmin(this.#reachOf(caller), workspace_id.toLowerCase())
    const role = { organizationId: caller.organizationId, workspaceId, userId: id }
    return this.#ports.scim.removeDirectRole(role, unixMs(this.#ports.clock), originOf(caller, call))
  }

  /** Why a member has a role in a workspace, for itself and for admins there; null when it is out of reach. */
  reasons(
    caller: Principal,
    id: string,
    workspace_id: string,
  ): readonly (RoleReason & { readonly groupName: string | null })[] | null {
    const reach = this.#reachOf(caller)
    const workspaceId = workspace_id.toLowerCase()
    if (this.#living(reach, id) === null || !this.#isOwnWorkspace(reach, workspaceId)) return null
    const isSelf = id === reach.userId && (caller.kind === 'member' || caller.workspaceId === workspaceId)
    if (!isSelf && roleIn(reach, workspaceId) !== 'admin') return null
    const reasons = this.#ports.directory.roles.reasons(workspaceId, id)
    return reasons.map((reason) => ({ ...reason, groupName: this.#groupName(reach, reason.groupId) }))
  }

  #reachOf(caller: Principal): Reach {
    return reachOf(caller, this.#roles)
  }

  #isOwnWorkspace({ organizationId }: Reach, workspaceId: string): boolean {
    return this.#ports.accounts.workspace(workspaceId)?.organizationId === organizationId
  }

  #requireAdmin(reach: Reach, workspaceId: string): string {
    if (!this.#isOwnWorkspace(reach, workspaceId)) throwFault('item-not-found')
    requireAdminOf(reach, workspaceId)
    return workspaceId
  }

  #living({ organizationId }: Reach, id: string): Member | null {
    const member = this.#ports.directory.members.member(id)
    return member?.organizationId === organizationId && member.deletedAt === null ? member : null
  }

  /** Members with a role in any of these, in the order of their ids. */
  async #idsIn(workspaceIds: readonly string[]): Promise<readonly string[]> {
    const { roles } = this.#ports.directory
    if (workspaceIds.length === 1) return [...(await roles.membersOf(workspaceIds[0]!)).keys()]
    const ids = new Set<string>()
    for (const workspaceId of workspaceIds) {
      for (const id of (await roles.membersOf(workspaceId)).keys()) ids.add(id)
    }
    return await sortInTurns([...ids], (a, b) => (a < b ? -1 : 1))
  }

  /** An admin learns of the roles in its own workspaces. */
  #viewOf(member: Member, reach: Reach): MemberView {
    const roles = this.#roles.workspacesOf(member.organizationId, member.id)
    return { ...member, roles: new Map([...roles].filter(([id]) => roleIn(reach, id) === 'admin')) }
  }

  #done(caller: Principal, write: DirectoryWrite<Member, Fault>): MemberView | null {
    if ('refused' in write) throw write.refused
    if ('conflict' in write) throw SAME_NAME
    return 'done' in write ? this.#viewOf(write.done, this.#reachOf(caller)) : null
  }

  #groupName({ organizationId }: Reach, groupId: string | null): string | null {
    if (groupId === null) return null
    const { directory, scim } = this.#ports
    const group = directory.groups.group(groupId)
    // An organization may call a group of its own like one that a connection of another has.
    if (group?.organizationId === organizationId) return group.displayName
    return scim.group(organizationId, groupId)?.displayName ?? null
  }
}

function adminWorkspaces({ workspaces }: Reach): string[] {
  return workspaces === 'all' ? [] : [...workspaces].filter(([, role]) => role === 'admin').map(([id]) => id)
}

function originOf(caller: Principal, { requestId, address }: RequestOrigin): ScimActor {
  return { actor: actorOf(caller), requestId, address }
}

function refusalOf({ connectionId }: Member): { readonly refused: Fault } | null {
  return connectionId === null ? null : { refused: OF_DIRECTORY }
}

function documentOf(displayName: string | null): ScimDocument {
  return displayName === null ? {} : { displayName }
}

function applyMemberChanges(current: Member, changes: MemberChanges, now: number): Member {
  const { user_name, external_id, display_name, active } = changes
  const next = {
    ...current,
    userName: user_name ?? current.userName,
    externalId: external_id === undefined ? current.externalId : external_id,
    active: active ?? current.active,
    document: display_name === undefined ? current.document : documentOf(display_name),
  }
  const isSame =
    next.userName === current.userName &&
    next.externalId === current.externalId &&
    next.active === current.active &&
    next.document.displayName === current.document.displayName
  return isSame ? current : { ...next, updatedAt: now }
}
