/** What a management key may do with groups and mappings: those of its own organization and no others. */
import type { Clock } from '../base/clock.js'
import { Fault, ValidationIssue } from '../base/fault.js'
import { newUuidV7 } from '../base/ids.js'
import type { Principal } from '../base/principal.js'
import type { AccountStore } from '../store/account-store.js'
import type { ScimActor, ScimGroup, ScimMapping, ScimRole, ScimStore } from '../store/scim-store.js'

export interface ScimPorts {
  readonly scim: ScimStore
  readonly accounts: AccountStore
  readonly clock: Clock
}

/** A new mapping, in the words of the wire (contract/gateway 9). */
interface NewMappingInput {
  readonly scim_group_id: string
  readonly workspace_id: string
  readonly role: ScimRole
}

interface GroupInput {
  readonly display_name: string
  readonly external_id?: string | null | undefined
  readonly members: readonly string[]
}

/** What the audit is told of the request that asks for a change. */
interface RequestOrigin {
  readonly requestId: string
  readonly address: string
}

const NO_WORKSPACE_NOTE = 'is no workspace of this organization'

export class MappingService {
  constructor(private readonly ports: ScimPorts) {}

  /** Null when there is none or it is somebody else's: callers cannot tell which. */
  findMapping({ organizationId }: Principal, id: string): ScimMapping | null {
    const mapping = this.ports.scim.mapping(id.toLowerCase())
    return mapping?.organizationId === organizationId ? mapping : null
  }

  /** Fails with `conflict` when the group has a mapping to the workspace already. */
  async createMapping(caller: Principal, wish: NewMappingInput, call: RequestOrigin): Promise<ScimMapping> {
    const { scim, accounts } = this.ports
    const { organizationId } = caller
    const workspaceId = wish.workspace_id.toLowerCase()
    if (accounts.workspace(workspaceId)?.organizationId !== organizationId) {
      throw new Fault('invalid-input', {
        issues: [new ValidationIssue(['body', 'workspace_id'], 'other', undefined, NO_WORKSPACE_NOTE)],
      })
    }
    const now = this.now()
    const scimGroupId = wish.scim_group_id.toLowerCase()
    const times = { createdAt: now, updatedAt: now }
    const mapping = {
      id: newUuidV7(now),
      organizationId,
      scimGroupId,
      workspaceId,
      role: wish.role,
      ...times,
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
    return mapping && this.ports.scim.changeRole(mapping.id, role, this.now(), scimActorOf(caller, call))
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
    return this.ports.scim.removeMapping(mapping.id, keepMembers, this.now(), scimActorOf(caller, call))
  }

  findGroup({ organizationId }: Principal, id: string): ScimGroup | null {
    return this.ports.scim.group(organizationId, id.toLowerCase())
  }

  putGroup(caller: Principal, id: string, wish: GroupInput, call: RequestOrigin): Promise<ScimGroup> {
    const now = this.now()
    const group = {
      id: id.toLowerCase(),
      organizationId: caller.organizationId,
      displayName: wish.display_name,
      externalId: wish.external_id ?? null,
      members: [...new Set(wish.members)],
      createdAt: now,
      updatedAt: now,
    }
    return this.ports.scim.putGroup(group, scimActorOf(caller, call))
  }

  removeGroup(caller: Principal, id: string, call: RequestOrigin): Promise<boolean> {
    const { organizationId } = caller
    return this.ports.scim.removeGroup(
      organizationId,
      id.toLowerCase(),
      this.now(),
      scimActorOf(caller, call),
    )
  }

  private now(): number {
    return Math.floor(this.ports.clock.unixSeconds() * 1000)
  }
}

function scimActorOf({ keyHash }: Principal, { requestId, address }: RequestOrigin): ScimActor {
  return { actor: keyHash, requestId, address }
}
