/** What a management key may do with groups and mappings: those of its own organization and no others. */
import { type Clock, unixMs } from '../base/clock.js'
import { Fault, invalidInput } from '../base/fault.js'
import { foldCase } from '../base/fold-case.js'
import { newUuidV7 } from '../base/ids.js'
import type { Principal } from '../base/principal.js'
import type { AccountStore } from '../store/account-store.js'
import type { DirectoryGroup, DirectoryPage, DirectoryStore, Member } from '../store/directory-store.js'
import type {
  ScimActor,
  ScimDirectRole,
  ScimGroup,
  ScimGroupHead,
  ScimMapping,
  ScimRole,
  ScimStore,
} from '../store/scim-store.js'
import { type MappingTrial, type RoleChange, tryMapping } from './mapping-trial.js'

export interface ScimPorts {
  readonly scim: ScimStore
  readonly directory: DirectoryStore
  readonly accounts: AccountStore
  readonly clock: Clock
}

/** A new mapping, in the words of the wire (contract/gateway 9). */
interface NewMappingInput {
  readonly scim_group_id: string
  readonly workspace_id: string
  readonly role: ScimRole
}

/** One of them. */
interface MappingTrialInput {
  readonly create?: NewMappingInput | undefined
  readonly change?: { readonly id: string; readonly role: ScimRole } | undefined
  readonly remove?: { readonly id: string; readonly keep_members: boolean } | undefined
}

interface GroupInput {
  readonly display_name: string
  readonly external_id?: string | null | undefined
  readonly members: readonly string[]
}

/** Which groups a list is asked for: all of the organization, unless told otherwise. */
interface GroupFilter {
  /** A part of their names, in whatever case. */
  readonly name_contains: string | null
  /** Those that name this user. */
  readonly user_id: string | null
}

/** Whom a group names; null where it is nobody to whom the group could give a role. */
interface GroupMember {
  readonly userId: string
  readonly userName: string | null
  readonly displayName: string | null
  readonly active: boolean | null
  /** Null of a group that is delivered whole. */
  readonly addedAt: number | null
}

/** What the audit is told of the request that asks for a change. */
type RequestOrigin = Pick<ScimActor, 'requestId' | 'address'>

export class MappingService {
  constructor(private readonly ports: ScimPorts) {}

  /** Null when there is none or it belongs to another organization: callers cannot tell which. */
  findMapping({ organizationId }: Principal, id: string): ScimMapping | null {
    const mapping = this.ports.scim.mapping(id.toLowerCase())
    return mapping?.organizationId === organizationId ? mapping : null
  }

  /** Fails with `conflict` when the group has a mapping to the workspace already. */
  async createMapping(caller: Principal, input: NewMappingInput, call: RequestOrigin): Promise<ScimMapping> {
    const { scim } = this.ports
    const { organizationId } = caller
    const workspaceId = this.#ownWorkspace(caller, input.workspace_id)
    const now = unixMs(this.ports.clock)
    const mapping = {
      id: newUuidV7(now),
      organizationId,
      scimGroupId: input.scim_group_id.toLowerCase(),
      workspaceId,
      role: input.role,
      createdAt: now,
      updatedAt: now,
    }
    if (!(await scim.addMapping(mapping, scimActorOf(caller, call)))) throw new Fault('conflict')
    return mapping
  }

  async changeRole(
    caller: Principal,
    id: string,
    role: ScimRole,
    call: RequestOrigin,
  ): Promise<ScimMapping | null> {
    const mapping = this.findMapping(caller, id)
    const now = unixMs(this.ports.clock)
    return mapping && this.ports.scim.changeRole(mapping.id, role, now, scimActorOf(caller, call))
  }

  /** False when there is nothing to remove. */
  async removeMapping(
    caller: Principal,
    id: string,
    keepMembers: boolean,
    call: RequestOrigin,
  ): Promise<boolean> {
    const mapping = this.findMapping(caller, id)
    if (mapping === null) return false
    const now = unixMs(this.ports.clock)
    return this.ports.scim.removeMapping(mapping.id, keepMembers, now, scimActorOf(caller, call))
  }

  /**
   * Who would gain a role and who would lose one; null when what it would change is not there. Fails with `conflict` as
   * `createMapping`.
   */
  async tryChange(caller: Principal, input: MappingTrialInput): Promise<RoleChange[] | null> {
    const trial = this.#trialOf(caller, input)
    return trial && tryMapping(trial, this.ports)
  }

  /** Null of who is no member of the organization. */
  userName({ organizationId }: Principal, userId: string): string | null {
    const member = this.ports.directory.members.member(userId)
    return member?.organizationId === organizationId ? member.userName : null
  }

  #trialOf(caller: Principal, { create, change, remove }: MappingTrialInput): MappingTrial | null {
    if (create !== undefined) {
      const { organizationId } = caller
      const workspaceId = this.#ownWorkspace(caller, create.workspace_id)
      const scimGroupId = create.scim_group_id.toLowerCase()
      const mapping = { organizationId, workspaceId, scimGroupId }
      const isThere = this.ports.scim
        .mappingsOf(organizationId)
        .some((each) => each.workspaceId === workspaceId && each.scimGroupId === scimGroupId)
      if (isThere) throw new Fault('conflict')
      return { mapping, mappingId: null, role: create.role, keepMembers: false }
    }
    const mapping = this.findMapping(caller, (change ?? remove)?.id ?? '')
    if (mapping === null) return null
    const keepMembers = remove?.keep_members ?? false
    return { mapping, mappingId: mapping.id, role: change?.role ?? null, keepMembers }
  }

  #ownWorkspace({ organizationId }: Principal, asked: string): string {
    const workspaceId = asked.toLowerCase()
    if (this.ports.accounts.workspace(workspaceId)?.organizationId === organizationId) return workspaceId
    throw invalidInput(['body', 'workspace_id'], 'is no workspace of this organization')
  }

  /** Of one workspace of the organization, or of all; null when the one that was asked for is none of them. */
  listDirectRoles({ organizationId }: Principal, workspaceId: string | null): ScimDirectRole[] | null {
    const { accounts, scim } = this.ports
    const own = accounts.workspacesOf(organizationId).map(({ id }) => id)
    if (workspaceId !== null && !own.includes(workspaceId)) return null
    const asked = workspaceId === null ? own : [workspaceId]
    return asked.flatMap((id) =>
      scim.directRolesOf(id).map((role) => ({ ...role, workspaceId: id, organizationId })),
    )
  }

  /** False when the user has no direct role there; what groups give stays. */
  async removeDirectRole(
    caller: Principal,
    workspaceId: string,
    userId: string,
    call: RequestOrigin,
  ): Promise<boolean> {
    const { organizationId } = caller
    const role = { organizationId, workspaceId: workspaceId.toLowerCase(), userId }
    if (this.ports.accounts.workspace(role.workspaceId)?.organizationId !== organizationId) return false
    return this.ports.scim.removeDirectRole(role, unixMs(this.ports.clock), scimActorOf(caller, call))
  }

  findGroup({ organizationId }: Principal, id: string): ScimGroup | null {
    return this.ports.scim.group(organizationId, id.toLowerCase())
  }

  /** Oldest first. */
  listGroups({ organizationId }: Principal, asked: GroupFilter): readonly ScimGroupHead[] {
    const { scim } = this.ports
    const groups =
      asked.user_id === null
        ? scim.groupsOf(organizationId)
        : scim.groupsOfUser(organizationId, asked.user_id)
    const part = foldCase(asked.name_contains ?? '')
    return part === '' ? groups : groups.filter((group) => foldCase(group.displayName).includes(part))
  }

  /** Null of a group that was not delivered. */
  groupName({ organizationId }: Principal, id: string): string | null {
    const group = this.#groupOfConnection(organizationId, id) ?? this.ports.scim.group(organizationId, id)
    return group?.displayName ?? null
  }

  /** Whom a group names; null when there is no such group. A page of a connection's group costs the page. */
  membersOf(
    { organizationId }: Principal,
    id: string,
    { offset, limit }: { readonly offset: number; readonly limit: number },
  ): DirectoryPage<GroupMember> | null {
    const { directory, scim } = this.ports
    const groupId = id.toLowerCase()
    const group = this.#groupOfConnection(organizationId, groupId)
    if (group !== null) {
      const { entries, total } = directory.groups.membershipsOf(groupId, offset, limit)
      const { connectionId } = group
      const isOf = (member: Member): boolean => member.connectionId === connectionId
      return { entries: entries.map((each) => this.#memberOf(each.memberId, each.addedAt, isOf)), total }
    }
    const members = scim.group(organizationId, groupId)?.members
    if (members === undefined) return null
    const isOf = (member: Member): boolean => member.organizationId === organizationId
    const page = members.slice(offset, offset + limit)
    return { entries: page.map((userId) => this.#memberOf(userId, null, isOf)), total: members.length }
  }

  /** An organization may call a group of its own like one that a connection of another has. */
  #groupOfConnection(organizationId: string, id: string): DirectoryGroup | null {
    const group = this.ports.directory.groups.group(id)
    return group?.organizationId === organizationId ? group : null
  }

  #memberOf(userId: string, addedAt: number | null, isOf: (member: Member) => boolean): GroupMember {
    const member = this.ports.directory.members.member(userId)
    if (member === null || member.deletedAt !== null || !isOf(member))
      return { userId, userName: null, displayName: null, active: null, addedAt }
    const { displayName } = member.document
    return {
      ...{ userId, userName: member.userName, active: member.active, addedAt },
      displayName: typeof displayName === 'string' ? displayName : null,
    }
  }

  /** Fails with `conflict` for a group of a connection: its directory alone changes it. */
  async putGroup(caller: Principal, id: string, input: GroupInput, call: RequestOrigin): Promise<ScimGroup> {
    const now = unixMs(this.ports.clock)
    const group = {
      id: id.toLowerCase(),
      organizationId: caller.organizationId,
      displayName: input.display_name,
      externalId: input.external_id ?? null,
      members: [...new Set(input.members)],
      createdAt: now,
      updatedAt: now,
    }
    const kept = await this.ports.scim.putGroup(group, scimActorOf(caller, call))
    if (kept === null) throw new Fault('conflict', { detail: OF_CONNECTION })
    return kept
  }

  /** False when there is nothing to remove; fails as `putGroup`. */
  async removeGroup(caller: Principal, id: string, call: RequestOrigin): Promise<boolean> {
    const { organizationId } = caller
    const outcome = await this.ports.scim.removeGroup(
      organizationId,
      id.toLowerCase(),
      unixMs(this.ports.clock),
      scimActorOf(caller, call),
    )
    if (outcome === 'of-connection') throw new Fault('conflict', { detail: OF_CONNECTION })
    return outcome === 'removed'
  }
}

const OF_CONNECTION = 'the group belongs to a SCIM connection'

function scimActorOf({ keyHash }: Principal, { requestId, address }: RequestOrigin): ScimActor {
  return { actor: keyHash, requestId, address }
}
