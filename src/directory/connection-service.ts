/** What management may do with the connections of its organization to identity providers (contract/directory 1). */
import { applyChanges } from '../base/changes.js'
import { type Clock, unixMs } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { newUuidV7 } from '../base/ids.js'
import { actorOf, type Principal } from '../base/principal.js'
import type {
  ConnectionToken,
  DirectoryConnection,
  DirectoryConnections,
  DirectoryRoles,
  HeldRemoval,
} from '../store/directory-store.js'
import type { ScimActor } from '../store/scim-store.js'
import { createConnectionToken } from './connection-token.js'

export interface ConnectionPorts {
  readonly connections: DirectoryConnections
  readonly roles: Pick<DirectoryRoles, 'heldOf' | 'approveHeld'>
  readonly clock: Clock
}

/** What the audit is told of the request that asks for a change. */
type RequestOrigin = Pick<ScimActor, 'requestId' | 'address'>

interface ConnectionInput {
  readonly name?: string | undefined
  readonly held_share?: number | undefined
  readonly held_from?: number | undefined
}

/** A token as it is shown, with when it was used last. */
type UsedToken = ConnectionToken & { readonly lastUsedAt: number | null }

const HELD_SHARE = 0.3
const HELD_FROM = 10
/** Each has people of its own: nobody needs as many. */
const MOST_CONNECTIONS = 50
const MOST_LIVE_TOKENS = 2

export class ConnectionService {
  constructor(private readonly ports: ConnectionPorts) {}

  /** Oldest first. */
  list({ organizationId }: Principal): readonly DirectoryConnection[] {
    return this.ports.connections.connectionsOf(organizationId)
  }

  /** Null when there is none or it belongs to another organization: callers cannot tell which. */
  find({ organizationId }: Principal, id: string): DirectoryConnection | null {
    const connection = this.ports.connections.connection(id.toLowerCase())
    return connection?.organizationId === organizationId ? connection : null
  }

  async create(
    caller: Principal,
    input: ConnectionInput & { readonly name: string },
    call: RequestOrigin,
  ): Promise<DirectoryConnection> {
    if (this.list(caller).length >= MOST_CONNECTIONS)
      throw new Fault('conflict', { note: `An organization has at most ${MOST_CONNECTIONS} connections` })
    const now = unixMs(this.ports.clock)
    const connection: DirectoryConnection = {
      id: newUuidV7(now),
      organizationId: caller.organizationId,
      name: input.name,
      tokens: [],
      heldShare: input.held_share ?? HELD_SHARE,
      heldFrom: input.held_from ?? HELD_FROM,
      createdAt: now,
      updatedAt: now,
    }
    await this.ports.connections.addConnection(connection, directoryActorOf(caller, call))
    return connection
  }

  change(
    caller: Principal,
    id: string,
    input: ConnectionInput,
    call: RequestOrigin,
  ): Promise<DirectoryConnection | null> {
    const { name, held_share: heldShare, held_from: heldFrom } = input
    return this.#change(caller, id, call, (current) => {
      const changed = applyChanges(current, { name, heldShare, heldFrom })
      const same = name === undefined && heldShare === undefined && heldFrom === undefined
      return same ? current : { ...changed, updatedAt: unixMs(this.ports.clock) }
    })
  }

  /** False when there is nothing to remove. */
  async remove(caller: Principal, id: string, call: RequestOrigin): Promise<boolean> {
    const found = this.find(caller, id)
    if (found === null) return false
    const now = unixMs(this.ports.clock)
    return this.ports.connections.removeConnection(found.id, now, directoryActorOf(caller, call))
  }

  // ── Tokens ────────────────────────────────────────────────────────────────

  /** Newest last, with when each was used; null when there is no such connection. */
  async tokensOf(caller: Principal, id: string): Promise<readonly UsedToken[] | null> {
    const found = this.find(caller, id)
    if (found === null) return null
    const uses = await this.ports.connections.tokenUsesOf(found.id)
    return found.tokens.map((token) => ({ ...token, lastUsedAt: uses[token.id] ?? null }))
  }

  /** Its text, and its record. Fails with `conflict` where two are valid; null when there is no such connection. */
  async addToken(
    caller: Principal,
    id: string,
    expiresAt: number | null,
    call: RequestOrigin,
  ): Promise<{ readonly token: string; readonly record: UsedToken } | null> {
    const now = unixMs(this.ports.clock)
    const { token, record } = createConnectionToken(now, expiresAt)
    const changed = await this.#change(caller, id, call, (current) => {
      const live = current.tokens.filter((each) => each.expiresAt === null || now < each.expiresAt)
      if (live.length >= MOST_LIVE_TOKENS) return current
      return { ...current, tokens: [...live, record], updatedAt: now }
    })
    if (changed === null) return null
    if (!changed.tokens.some((each) => each.id === record.id)) throw TOO_MANY_TOKENS
    return { token, record: { ...record, lastUsedAt: null } }
  }

  /** False when there is nothing to revoke. */
  async removeToken(caller: Principal, id: string, tokenId: string, call: RequestOrigin): Promise<boolean> {
    const wanted = tokenId.toLowerCase()
    let removed = false
    await this.#change(caller, id, call, (current) => {
      const tokens = current.tokens.filter((each) => each.id !== wanted)
      removed = tokens.length < current.tokens.length
      return removed ? { ...current, tokens, updatedAt: unixMs(this.ports.clock) } : current
    })
    return removed
  }

  // ── Held removals ─────────────────────────────────────────────────────────

  /** Oldest first; null when there is no such connection. */
  heldOf(caller: Principal, id: string): readonly HeldRemoval[] | null {
    const found = this.find(caller, id)
    if (found === null) return null
    return this.ports.roles
      .heldOf(caller.organizationId)
      .filter(({ connectionId }) => connectionId === found.id)
  }

  /** Lets those of one group take effect, or of all groups: how many. Null when there is no such connection. */
  async approveHeld(
    caller: Principal,
    id: string,
    groupId: string | null,
    call: RequestOrigin,
  ): Promise<number | null> {
    const held = this.heldOf(caller, id)
    if (held === null) return null
    const groups = new Set(held.map((each) => each.groupId))
    const now = unixMs(this.ports.clock)
    let approved = 0
    for (const each of groups) {
      if (groupId !== null && each !== groupId) continue
      approved += await this.ports.roles.approveHeld(each, now, directoryActorOf(caller, call))
    }
    return approved
  }

  async #change(
    caller: Principal,
    id: string,
    call: RequestOrigin,
    change: (current: DirectoryConnection) => DirectoryConnection,
  ): Promise<DirectoryConnection | null> {
    // Whose it is never changes, so it may be asked before the transaction.
    const found = this.find(caller, id)
    if (found === null) return null
    return this.ports.connections.changeConnection(found.id, change, directoryActorOf(caller, call))
  }
}

const TOO_MANY_TOKENS = new Fault('conflict', {
  note: `${MOST_LIVE_TOKENS} tokens are valid already: delete one of them first`,
})

/** Who asks for a change, for the audit. */
function directoryActorOf(caller: Principal, { requestId, address }: RequestOrigin): ScimActor {
  return { actor: actorOf(caller), requestId, address }
}
