/** What a management key may do with groups and mappings: those of its own organization and no others. */
import type { Clock } from '../base/clock.js'
import { Fault, Issue } from '../base/fault.js'
import { uuidV7 } from '../base/ids.js'
import type { Principal } from '../base/principal.js'
import type { AccountStore } from '../store/account-store.js'
import type { ScimActor, ScimGroup, ScimMapping, ScimRole, ScimStore } from '../store/scim-store.js'

export interface ScimPorts {
  readonly scim: ScimStore
  readonly accounts: AccountStore
  readonly clock: Clock
}

/** A new mapping, in the words of the wire (contract/gateway 9). */
interface MappingWish {
  readonly scim_group_id: string
  readonly workspace_id: string
  readonly role: ScimRole
}

interface GroupWish {
  readonly display_name: string
  readonly external_id?: string | null | undefined
  readonly members: readonly string[]
}

/** What the audit is told of the request that asks for a change. */
interface Request {
  readonly requestId: string
  readonly address: string
}

const FOREIGN = 'is no workspace of this organization'

export class OwnMappings {
  constructor(private readonly ports: ScimPorts) {}

  /** Null when there is none or it is somebody else's: callers cannot tell which. */
  find({ organizationId }: Principal, id: string): ScimMapping | null {
    const mapping = this.ports.scim.mapping(id.toLowerCase())
    return mapping?.organizationId === organizationId ? mapping : null
  }

  /** Fails with `conflict` when the group has a mapping to the workspace already. */
  async create(caller: Principal, wish: MappingWish, call: Request): Promise<ScimMapping> {
    const { scim, accounts } = this.ports
    const { organizationId } = caller
    const workspaceId = wish.workspace_id.toLowerCase()
    if (accounts.workspace(workspaceId)?.organizationId !== organizationId) {
      throw new Fault('invalid-input', {
        issues: [new Issue(['body', 'workspace_id'], 'other', undefined, FOREIGN)],
      })
    }
    const now = this.now()
    const scimGroupId = wish.scim_group_id.toLowerCase()
    const times = { createdAt: now, updatedAt: now }
    const mapping = { id: uuidV7(now), organizationId, scimGroupId, workspaceId, role: wish.role, ...times }
    if (!(await scim.addMapping(mapping, actorOf(caller, call)))) throw new Fault('conflict')
    return mapping
  }

  async changeRole(
    caller: Principal,
    id: string,
    role: ScimRole,
    call: Request,
  ): Promise<ScimMapping | null> {
    const mapping = this.find(caller, id)
    return mapping && this.ports.scim.changeRole(mapping.id, role, this.now(), actorOf(caller, call))
  }

  /** False when there is nothing to remove. */
  async remove(caller: Principal, id: string, keepMembers: boolean, call: Request): Promise<boolean> {
    const mapping = this.find(caller, id)
    if (mapping === null) return false
    return this.ports.scim.removeMapping(mapping.id, keepMembers, this.now(), actorOf(caller, call))
  }

  findGroup({ organizationId }: Principal, id: string): ScimGroup | null {
    return this.ports.scim.group(organizationId, id.toLowerCase())
  }

  putGroup(caller: Principal, id: string, wish: GroupWish, call: Request): Promise<ScimGroup> {
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
    return this.ports.scim.putGroup(group, actorOf(caller, call))
  }

  removeGroup(caller: Principal, id: string, call: Request): Promise<boolean> {
    const { organizationId } = caller
    return this.ports.scim.removeGroup(organizationId, id.toLowerCase(), this.now(), actorOf(caller, call))
  }

  private now(): number {
    return Math.floor(this.ports.clock.unixSeconds() * 1000)
  }
}

function actorOf({ keyHash }: Principal, { requestId, address }: Request): ScimActor {
  return { actor: keyHash, requestId, address }
}
