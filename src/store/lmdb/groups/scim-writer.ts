import { newUuidV7 } from '../../../base/ids.js'
import type {
  ScimAction,
  ScimActor,
  ScimAuditEntry,
  ScimGroup,
  ScimMapping,
  ScimRole,
} from '../../scim-store.js'
import { decodeRecord, encodeRecord } from '../accounts/account-layout.js'
import type { LmdbEnvironment } from '../environment.js'
import {
  EMPTY_SCIM_AUDIT,
  type ScimAuditExtent,
  type ScimTables,
  scimAuditKey,
  scimKey,
  scimUserKey,
} from './scim-layout.js'

/** Rows kept per organization. */
export const SCIM_AUDIT_ROWS = 10_000

const NOTHING = Buffer.alloc(0)

type ScimAuditSubject = Pick<ScimAuditEntry, 'organizationId' | 'groupId'> &
  Partial<Pick<ScimAuditEntry, 'mappingId' | 'workspaceId' | 'roleBefore' | 'roleAfter'>>

/** Changes of groups and mappings, each a transaction with its audit row. */
export class ScimWriter {
  readonly #env: LmdbEnvironment
  readonly #tables: ScimTables
  readonly #rowsKept: number
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(env: LmdbEnvironment, tables: ScimTables, rowsKept: number) {
    this.#env = env
    this.#tables = tables
    this.#rowsKept = rowsKept
  }

  /** Resolves when everything is on disk, or refused. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }

  addMapping(mapping: ScimMapping, actor: ScimActor): Promise<boolean> {
    const { id, organizationId, scimGroupId, workspaceId, role, createdAt } = mapping
    return this.#durably(() => {
      const pair = scimKey('x', organizationId, scimGroupId, workspaceId)!
      if (this.#has(pair)) return false
      for (const key of [pair, scimKey('o', organizationId, id)!, scimKey('w', workspaceId, id)!]) {
        this.#put(key, Buffer.from(id))
      }
      this.#put(scimKey('m', id)!, encodeRecord(mapping))
      this.#appendAudit('mapping.create', createdAt, actor, { ...auditSubjectOf(mapping), roleAfter: role })
      return true
    })
  }

  changeRole(id: string, role: ScimRole, at: number, actor: ScimActor): Promise<ScimMapping | null> {
    return this.#durably(() => {
      const current = this.#mapping(id)
      if (current === null || current.role === role) return current
      const next = Object.freeze({ ...current, role, updatedAt: at })
      this.#put(scimKey('m', id)!, encodeRecord(next))
      const roles = { roleBefore: current.role, roleAfter: role }
      this.#appendAudit('mapping.update', at, actor, { ...auditSubjectOf(current), ...roles })
      return next
    })
  }

  removeMapping(id: string, keepMembers: boolean, at: number, actor: ScimActor): Promise<boolean> {
    return this.#durably(() => {
      const mapping = this.#mapping(id)
      if (mapping === null) return false
      const { organizationId, scimGroupId, workspaceId, role } = mapping
      const group = this.#group(organizationId, scimGroupId)
      for (const user of group?.members ?? []) this.#keepRole(workspaceId, user, keepMembers ? role : null)
      this.#remove(scimKey('x', organizationId, scimGroupId, workspaceId)!)
      this.#remove(scimKey('o', organizationId, id)!)
      this.#remove(scimKey('w', workspaceId, id)!)
      this.#remove(scimKey('m', id)!)
      const roles = { roleBefore: role, roleAfter: keepMembers ? role : null }
      this.#appendAudit('mapping.delete', at, actor, { ...auditSubjectOf(mapping), ...roles })
      return true
    })
  }

  putGroup(group: ScimGroup, actor: ScimActor): Promise<ScimGroup> {
    const { organizationId, id } = group
    return this.#durably(() => {
      const current = this.#group(organizationId, id)
      const next = Object.freeze({ ...group, createdAt: current?.createdAt ?? group.createdAt })
      if (current !== null && isSameGroup(current, next)) return current
      for (const user of current?.members ?? []) this.#remove(scimUserKey('u', user, organizationId, id)!)
      for (const user of next.members) this.#put(scimUserKey('u', user, organizationId, id)!, NOTHING)
      this.#put(scimKey('g', organizationId, id)!, encodeRecord(next))
      this.#appendAudit('group.put', next.updatedAt, actor, { organizationId, groupId: id })
      return next
    })
  }

  removeGroup(organizationId: string, id: string, at: number, actor: ScimActor): Promise<boolean> {
    return this.#durably(() => {
      const group = this.#group(organizationId, id)
      if (group === null) return false
      for (const user of group.members) this.#remove(scimUserKey('u', user, organizationId, id)!)
      this.#remove(scimKey('g', organizationId, id)!)
      this.#appendAudit('group.delete', at, actor, { organizationId, groupId: id })
      return true
    })
  }

  /** A role that was kept and is stronger stays. */
  #keepRole(workspaceId: string, userId: string, role: ScimRole | null): void {
    const key = scimUserKey('k', userId, workspaceId)!
    if (role === null) this.#remove(key)
    else if (role === 'admin' || !this.#has(key)) this.#put(key, encodeRecord({ role }))
  }

  #appendAudit(action: ScimAction, at: number, actor: ScimActor, about: ScimAuditSubject): void {
    const { organizationId } = about
    const none = { mappingId: null, workspaceId: null, roleBefore: null, roleAfter: null }
    const row: ScimAuditEntry = { id: newUuidV7(at), at, action, ...none, ...about, ...actor }
    const { audit } = this.#tables
    const bytes = this.#env.get(audit, scimAuditKey(organizationId))
    let [first, next] = bytes === undefined ? EMPTY_SCIM_AUDIT : (decodeRecord(bytes) as ScimAuditExtent)
    audit.put(scimAuditKey(organizationId, next++), encodeRecord(row))
    while (next - first > this.#rowsKept) audit.remove(scimAuditKey(organizationId, first++))
    audit.put(scimAuditKey(organizationId), encodeRecord([first, next]))
  }

  #mapping(id: string): ScimMapping | null {
    return this.#read<ScimMapping>(scimKey('m', id))
  }

  #group(organizationId: string, id: string): ScimGroup | null {
    return this.#read<ScimGroup>(scimKey('g', organizationId, id))
  }

  #read<T extends object>(key: Buffer | null): T | null {
    const bytes = key === null ? undefined : this.#env.get(this.#tables.records, key)
    return bytes === undefined ? null : decodeRecord<T>(bytes)
  }

  #has(key: Buffer): boolean {
    return this.#env.get(this.#tables.records, key) !== undefined
  }

  #put(key: Buffer, value: Uint8Array): void {
    this.#tables.records.put(key, value)
  }

  #remove(key: Buffer): void {
    this.#tables.records.remove(key)
  }

  #durably<T>(change: () => T): Promise<T> {
    const { committed, durable } = this.#env.write(change)
    // Whoever asked hears of a failure through `durable`; nobody waits for the other.
    committed.catch(() => {})
    this.#underWay.add(durable)
    const settled = (): void => void this.#underWay.delete(durable)
    durable.then(settled, settled)
    return durable
  }
}

function auditSubjectOf({ id, organizationId, scimGroupId, workspaceId }: ScimMapping): ScimAuditSubject {
  return { organizationId, mappingId: id, groupId: scimGroupId, workspaceId }
}

function isSameGroup(a: ScimGroup, b: ScimGroup): boolean {
  const sameMembers =
    a.members.length === b.members.length && a.members.every((user, i) => user === b.members[i])
  return a.displayName === b.displayName && a.externalId === b.externalId && sameMembers
}
