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
  ScimGroup,
  ScimMapping,
  ScimRole,
  ScimStore,
} from '../scim-store.js'
import type { LmdbEnvironment } from './environment.js'
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

/**
 * Each read has a snapshot of its own; each change is a transaction with its audit row.
 *
 * @param env opened with `SCIM_TABLE_NAMES`
 */
export function createLmdbScimStore(env: LmdbEnvironment): ScimStore {
  const records = new RecordTable(env, SCIM_TABLE_NAMES.records)
  const index = env.byteTable(SCIM_TABLE_NAMES.records)
  const audit = new RecordTable(env, SCIM_TABLE_NAMES.audit)

  const findMapping = (id: string): ScimMapping | null => records.get(scimKey('m', id))
  const findGroup = (organizationId: string, id: string): ScimGroup | null =>
    records.get(scimKey('g', organizationId, id))
  const mappingsUnder = (prefix: Buffer | null): ScimMapping[] =>
    records.listIndexed<ScimMapping>(index, prefix, (id) => scimKey('m', id.toString()))

  const isMember = ({ organizationId, scimGroupId }: ScimMapping, userId: string): boolean => {
    const key = scimUserKey('u', userId, organizationId, scimGroupId)
    return key !== null && records.has(key)
  }

  /** A role that was kept and is stronger stays. */
  const keepRole = (workspaceId: string, userId: string, role: ScimRole | null): void => {
    const key = scimUserKey('k', userId, workspaceId)!
    if (role === null) records.remove(key)
    else if (role === 'admin' || !records.has(key)) records.put(key, { role })
  }

  const auditExtent = (organizationId: string): ScimAuditExtent =>
    audit.get<ScimAuditExtent>(scimAuditKey(organizationId)) ?? EMPTY_SCIM_AUDIT

  const appendAudit = (action: ScimAction, at: number, actor: ScimActor, subject: ScimAuditSubject): void => {
    const { organizationId } = subject
    const none = { mappingId: null, workspaceId: null, roleBefore: null, roleAfter: null }
    const row: ScimAuditEntry = { id: newUuidV7(at), at, action, ...none, ...subject, ...actor }
    let [first, next] = auditExtent(organizationId)
    audit.put(scimAuditKey(organizationId, next++), row)
    while (next - first > MAX_AUDIT_ROWS) audit.remove(scimAuditKey(organizationId, first++))
    audit.put(scimAuditKey(organizationId), [first, next])
  }

  return {
    mapping: (id) => env.inSnapshot(() => findMapping(id)),
    mappingsOf: (organizationId) => env.inSnapshot(() => mappingsUnder(scimKey('o', organizationId))),
    addMapping: (mapping, actor) =>
      env.writeDurably(() => {
        const { id, createdAt, role } = mapping
        const keys = indexKeys(mapping)
        if (records.has(keys.pair)) return false
        for (const key of Object.values(keys)) index.put(key, Buffer.from(id))
        records.put(scimKey('m', id)!, mapping)
        appendAudit('mapping.create', createdAt, actor, { ...auditSubjectOf(mapping), roleAfter: role })
        return true
      }),
    changeRole: (id, role, at, actor) =>
      env.writeDurably(() => {
        const current = findMapping(id)
        if (current === null || current.role === role) return current
        const next = Object.freeze({ ...current, role, updatedAt: at })
        records.put(scimKey('m', id)!, next)
        const roles = { roleBefore: current.role, roleAfter: role }
        appendAudit('mapping.update', at, actor, { ...auditSubjectOf(current), ...roles })
        return next
      }),
    removeMapping: (id, keepMembers, at, actor) =>
      env.writeDurably(() => {
        const mapping = findMapping(id)
        if (mapping === null) return false
        const { organizationId, scimGroupId, workspaceId, role } = mapping
        const roleAfter = keepMembers ? role : null
        const group = findGroup(organizationId, scimGroupId)
        for (const user of group?.members ?? []) keepRole(workspaceId, user, roleAfter)
        for (const key of Object.values(indexKeys(mapping))) records.remove(key)
        records.remove(scimKey('m', id)!)
        const roles = { roleBefore: role, roleAfter }
        appendAudit('mapping.delete', at, actor, { ...auditSubjectOf(mapping), ...roles })
        return true
      }),
    group: (organizationId, id) => env.inSnapshot(() => findGroup(organizationId, id)),
    groupsOf: (organizationId) => {
      const prefix = scimKey('g', organizationId)
      if (prefix === null) return []
      const groups = env.inSnapshot(() => records.list<ScimGroup>(prefix))
      return groups.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
    },
    putGroup: (group, actor) =>
      env.writeDurably(() => {
        const { organizationId, id } = group
        const current = findGroup(organizationId, id)
        const next = Object.freeze({ ...group, createdAt: current?.createdAt ?? group.createdAt })
        if (current !== null && isSameGroup(current, next)) return current
        for (const key of memberKeys(current)) records.remove(key)
        for (const key of memberKeys(next)) index.put(key, NOTHING)
        records.put(scimKey('g', organizationId, id)!, next)
        appendAudit('group.put', next.updatedAt, actor, { organizationId, groupId: id })
        return next
      }),
    removeGroup: (organizationId, id, at, actor) =>
      env.writeDurably(() => {
        const group = findGroup(organizationId, id)
        if (group === null) return false
        for (const key of memberKeys(group)) records.remove(key)
        records.remove(scimKey('g', organizationId, id)!)
        appendAudit('group.delete', at, actor, { organizationId, groupId: id })
        return true
      }),
    roleOf: (workspaceId, userId) =>
      env.inSnapshot(() => {
        const kept = records.get<{ role: ScimRole }>(scimUserKey('k', userId, workspaceId))
        const roles = mappingsUnder(scimKey('w', workspaceId))
          .filter((mapping) => isMember(mapping, userId))
          .map(({ role }) => role)
        return strongestRole(kept === null ? roles : [...roles, kept.role])
      }),
    auditPage: (organizationId, offset, limit) =>
      env.inSnapshot(() => {
        const [first, next] = auditExtent(organizationId)
        const rows: ScimAuditEntry[] = []
        for (let number = next - 1 - offset; number >= first && rows.length < limit; number--) {
          rows.push(audit.get<ScimAuditEntry>(scimAuditKey(organizationId, number))!)
        }
        return { rows, total: next - first }
      }),
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
