/**
 * Directory groups and their mappings in LMDB.
 *
 *     records    'm' mapping                          ->  mapping
 *                'o' organization, mapping            ->  mapping's id     lists, oldest first: ids are UUID v7
 *                'w' workspace, mapping               ->  mapping's id     what counts in a workspace
 *                'x' organization, group, workspace   ->  mapping's id     one mapping for each pair
 *                'g' organization, group              ->  group
 *                'u' organization, group, user        ->  nothing          who is in it
 *                'k' workspace, user                  ->  role             kept from a mapping that has gone
 *     audit      organization                         ->  [first, next] numbers of the rows that are kept
 *                organization, number                 ->  row
 *
 * Users have ids of any text, so they stand in keys as their SHA-256.
 */
import { createHash } from 'node:crypto'
import { newUuidV7 } from '../../base/ids.js'
import type {
  ScimAction,
  ScimActor,
  ScimAuditEntry,
  ScimAuditPage,
  ScimGroup,
  ScimMapping,
  ScimRole,
  ScimStore,
} from '../scim-store.js'
import type { LmdbByteTable, LmdbEnvironment } from './environment.js'
import { isId, KEY_END, RecordTable } from './record-table.js'

export const SCIM_TABLE_NAMES = { records: 'scim-records', audit: 'scim-audit' } as const

/** Rows kept per organization. */
const MAX_AUDIT_ROWS = 10_000
const NOTHING = Buffer.alloc(0)

type ScimRecordKind = 'm' | 'o' | 'w' | 'x' | 'g' | 'u' | 'k'

/** First row that is kept, and number of the row to come. */
type ScimAuditExtent = readonly [first: number, next: number]
const EMPTY_SCIM_AUDIT: ScimAuditExtent = [0, 0]

type ScimAuditSubject = Pick<ScimAuditEntry, 'organizationId' | 'groupId'> &
  Partial<Pick<ScimAuditEntry, 'mappingId' | 'workspaceId' | 'roleBefore' | 'roleAfter'>>

/** Each read has a snapshot of its own; each change is a transaction with its audit row. */
export class LmdbScimStore implements ScimStore {
  readonly #env: LmdbEnvironment
  readonly #records: RecordTable
  readonly #index: LmdbByteTable
  readonly #audit: RecordTable

  /** @param env opened with `SCIM_TABLE_NAMES` */
  constructor(env: LmdbEnvironment) {
    this.#env = env
    this.#records = new RecordTable(env, SCIM_TABLE_NAMES.records)
    this.#index = env.byteTable(SCIM_TABLE_NAMES.records)
    this.#audit = new RecordTable(env, SCIM_TABLE_NAMES.audit)
  }

  mapping(id: string): ScimMapping | null {
    return this.#env.inSnapshot(() => this.#mapping(id))
  }

  mappingsOf(organizationId: string): ScimMapping[] {
    return this.#env.inSnapshot(() => this.#mappingsUnder(scimKey('o', organizationId)))
  }

  addMapping(mapping: ScimMapping, actor: ScimActor): Promise<boolean> {
    const { id, createdAt, role } = mapping
    return this.#env.writeDurably(() => {
      const keys = indexKeys(mapping)
      if (this.#records.has(keys.pair)) return false
      for (const key of Object.values(keys)) this.#index.put(key, Buffer.from(id))
      this.#records.put(scimKey('m', id)!, mapping)
      this.#appendAudit('mapping.create', createdAt, actor, { ...auditSubjectOf(mapping), roleAfter: role })
      return true
    })
  }

  changeRole(id: string, role: ScimRole, at: number, actor: ScimActor): Promise<ScimMapping | null> {
    return this.#env.writeDurably(() => {
      const current = this.#mapping(id)
      if (current === null || current.role === role) return current
      const next = Object.freeze({ ...current, role, updatedAt: at })
      this.#records.put(scimKey('m', id)!, next)
      const roles = { roleBefore: current.role, roleAfter: role }
      this.#appendAudit('mapping.update', at, actor, { ...auditSubjectOf(current), ...roles })
      return next
    })
  }

  removeMapping(id: string, keepMembers: boolean, at: number, actor: ScimActor): Promise<boolean> {
    return this.#env.writeDurably(() => {
      const mapping = this.#mapping(id)
      if (mapping === null) return false
      const { organizationId, scimGroupId, workspaceId, role } = mapping
      const roleAfter = keepMembers ? role : null
      const group = this.#group(organizationId, scimGroupId)
      for (const user of group?.members ?? []) this.#keepRole(workspaceId, user, roleAfter)
      for (const key of Object.values(indexKeys(mapping))) this.#records.remove(key)
      this.#records.remove(scimKey('m', id)!)
      const roles = { roleBefore: role, roleAfter }
      this.#appendAudit('mapping.delete', at, actor, { ...auditSubjectOf(mapping), ...roles })
      return true
    })
  }

  group(organizationId: string, id: string): ScimGroup | null {
    return this.#env.inSnapshot(() => this.#group(organizationId, id))
  }

  groupsOf(organizationId: string): ScimGroup[] {
    const prefix = scimKey('g', organizationId)
    if (prefix === null) return []
    const groups = this.#env.inSnapshot(() => this.#records.list<ScimGroup>(prefix))
    return groups.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
  }

  putGroup(group: ScimGroup, actor: ScimActor): Promise<ScimGroup> {
    const { organizationId, id } = group
    return this.#env.writeDurably(() => {
      const current = this.#group(organizationId, id)
      const next = Object.freeze({ ...group, createdAt: current?.createdAt ?? group.createdAt })
      if (current !== null && isSameGroup(current, next)) return current
      for (const key of memberKeys(current)) this.#records.remove(key)
      for (const key of memberKeys(next)) this.#index.put(key, NOTHING)
      this.#records.put(scimKey('g', organizationId, id)!, next)
      this.#appendAudit('group.put', next.updatedAt, actor, { organizationId, groupId: id })
      return next
    })
  }

  removeGroup(organizationId: string, id: string, at: number, actor: ScimActor): Promise<boolean> {
    return this.#env.writeDurably(() => {
      const group = this.#group(organizationId, id)
      if (group === null) return false
      for (const key of memberKeys(group)) this.#records.remove(key)
      this.#records.remove(scimKey('g', organizationId, id)!)
      this.#appendAudit('group.delete', at, actor, { organizationId, groupId: id })
      return true
    })
  }

  roleOf(workspaceId: string, userId: string): ScimRole | null {
    return this.#env.inSnapshot(() => {
      const kept = this.#records.get<{ role: ScimRole }>(scimUserKey('k', userId, workspaceId))
      const roles = this.#mappingsUnder(scimKey('w', workspaceId))
        .filter(({ organizationId, scimGroupId }) => this.#isMember(organizationId, scimGroupId, userId))
        .map(({ role }) => role)
      return strongestRole(kept === null ? roles : [...roles, kept.role])
    })
  }

  auditPage(organizationId: string, offset: number, limit: number): ScimAuditPage {
    return this.#env.inSnapshot(() => {
      const [first, next] = this.#auditExtent(organizationId)
      const rows: ScimAuditEntry[] = []
      for (let number = next - 1 - offset; number >= first && rows.length < limit; number--) {
        rows.push(this.#audit.get<ScimAuditEntry>(scimAuditKey(organizationId, number))!)
      }
      return { rows, total: next - first }
    })
  }

  #mapping(id: string): ScimMapping | null {
    return this.#records.get<ScimMapping>(scimKey('m', id))
  }

  /** The mappings that an index leads to. */
  #mappingsUnder(prefix: Buffer | null): ScimMapping[] {
    if (prefix === null) return []
    return this.#env.valuesWithPrefix(this.#index, prefix).map((id) => this.#mapping(id.toString())!)
  }

  #group(organizationId: string, id: string): ScimGroup | null {
    return this.#records.get<ScimGroup>(scimKey('g', organizationId, id))
  }

  #isMember(organizationId: string, groupId: string, userId: string): boolean {
    const key = scimUserKey('u', userId, organizationId, groupId)
    return key !== null && this.#records.has(key)
  }

  /** A role that was kept and is stronger stays. */
  #keepRole(workspaceId: string, userId: string, role: ScimRole | null): void {
    const key = scimUserKey('k', userId, workspaceId)!
    if (role === null) this.#records.remove(key)
    else if (role === 'admin' || !this.#records.has(key)) this.#records.put(key, { role })
  }

  #appendAudit(action: ScimAction, at: number, actor: ScimActor, subject: ScimAuditSubject): void {
    const { organizationId } = subject
    const none = { mappingId: null, workspaceId: null, roleBefore: null, roleAfter: null }
    const row: ScimAuditEntry = { id: newUuidV7(at), at, action, ...none, ...subject, ...actor }
    let [first, next] = this.#auditExtent(organizationId)
    this.#audit.put(scimAuditKey(organizationId, next++), row)
    while (next - first > MAX_AUDIT_ROWS) this.#audit.remove(scimAuditKey(organizationId, first++))
    this.#audit.put(scimAuditKey(organizationId), [first, next])
  }

  #auditExtent(organizationId: string): ScimAuditExtent {
    return this.#audit.get<ScimAuditExtent>(scimAuditKey(organizationId)) ?? EMPTY_SCIM_AUDIT
  }
}

/** Null when one of the ids can be none. */
function scimKey(kind: ScimRecordKind, ...ids: readonly string[]): Buffer | null {
  if (ids.some((id) => !isId(id) || id.includes(KEY_END))) return null
  return Buffer.from(kind + ids.map((id) => id + KEY_END).join(''))
}

/** As `scimKey`, with a user behind the ids. */
function scimUserKey(kind: 'u' | 'k', userId: string, ...ids: readonly string[]): Buffer | null {
  const prefix = scimKey(kind, ...ids)
  return prefix && Buffer.concat([prefix, createHash('sha256').update(userId).digest()])
}

function scimAuditKey(organizationId: string, number?: number): Buffer {
  const key = Buffer.from(organizationId + KEY_END)
  if (number === undefined) return key
  const at = Buffer.alloc(6)
  at.writeUIntBE(number, 0, 6)
  return Buffer.concat([key, at])
}

/** Where the id of a mapping stands beside its record. */
function indexKeys({ id, organizationId, scimGroupId, workspaceId }: ScimMapping) {
  return {
    pair: scimKey('x', organizationId, scimGroupId, workspaceId)!,
    organization: scimKey('o', organizationId, id)!,
    workspace: scimKey('w', workspaceId, id)!,
  }
}

function memberKeys(group: ScimGroup | null): Buffer[] {
  if (group === null) return []
  return group.members.map((user) => scimUserKey('u', user, group.organizationId, group.id)!)
}

function strongestRole(roles: readonly ScimRole[]): ScimRole | null {
  return roles.includes('admin') ? 'admin' : (roles[0] ?? null)
}

function auditSubjectOf({ id, organizationId, scimGroupId, workspaceId }: ScimMapping): ScimAuditSubject {
  return { organizationId, mappingId: id, groupId: scimGroupId, workspaceId }
}

function isSameGroup(a: ScimGroup, b: ScimGroup): boolean {
  const sameMembers =
    a.members.length === b.members.length && a.members.every((user, i) => user === b.members[i])
  return a.displayName === b.displayName && a.externalId === b.externalId && sameMembers
}
