/** What a management key may do with groups and mappings: those of its own organization and no others. */
import type { z } from 'zod'
import type { Clock } from '../base/clock.js'
import { Fault, Issue } from '../base/fault.js'
import { uuidV7 } from '../base/ids.js'
import type { Principal } from '../base/principal.js'
import type { GroupIn, MappingIn } from '../features/scim/schema.js'
import type { Call } from '../http/endpoint.js'
import type { AccountStore } from '../store/account-store.js'
import type { ScimActor, ScimGroup, ScimMapping, ScimRole, ScimStore } from '../store/scim-store.js'

export interface ScimPorts {
  readonly scim: ScimStore
  readonly accounts: AccountStore
  readonly clock: Clock
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
  async create(caller: Principal, wish: z.infer<typeof MappingIn>, call: Call): Promise<ScimMapping> {
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

  async changeRole(caller: Principal, id: string, role: ScimRole, call: Call): Promise<ScimMapping | null> {
    const mapping = this.find(caller, id)
    return mapping && this.ports.scim.changeRole(mapping.id, role, this.now(), actorOf(caller, call))
  }

  /** False when there is nothing to remove. */
  async remove(caller: Principal, id: string, keepMembers: boolean, call: Call): Promise<boolean> {
    const mapping = this.find(caller, id)
    if (mapping === null) return false
    return this.ports.scim.removeMapping(mapping.id, keepMembers, this.now(), actorOf(caller, call))
  }

  findGroup({ organizationId }: Principal, id: string): ScimGroup | null {
    return this.ports.scim.group(organizationId, id.toLowerCase())
  }

  putGroup(caller: Principal, id: string, wish: z.infer<typeof GroupIn>, call: Call): Promise<ScimGroup> {
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

  removeGroup(caller: Principal, id: string, call: Call): Promise<boolean> {
    const { organizationId } = caller
    return this.ports.scim.removeGroup(organizationId, id.toLowerCase(), this.now(), actorOf(caller, call))
  }

  private now(): number {
    return Math.floor(this.ports.clock.unixSeconds() * 1000)
  }
}

function actorOf({ keyHash }: Principal, { requestId, address }: Call): ScimActor {
  return { actor: keyHash, requestId, address }
}
