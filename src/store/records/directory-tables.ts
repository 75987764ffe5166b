/**
 * Connections, members and groups in a space of records: one table, a letter for each kind. Small records stand beside
 * the large ones, so that a role is found, and a member of a group changed, without reading what a directory tells of a
 * person or who else is in the group.
 *
 *     'c' connection                                 ->  connection
 *     'o' organization, connection                   ->  connection's id    lists, oldest first: ids are UUID v7
 *     't' hash of a token                            ->  connection's id
 *     'm' member                                     ->  member
 *     's' member                                     ->  standing
 *     'l' connection or organization, member         ->  member's id        members of a connection, or added by hand
 *     'a' organization, member                       ->  member's id        of every connection
 *     'u' connection or organization, user name      ->  member's id        one for each
 *     'x' connection or organization, id there, member -> member's id       by `externalId`
 *     'g' group                                      ->  group
 *     'G' connection, group                          ->  group's id
 *     'X' connection, id there, group                ->  group's id         by `externalId`
 *     'D' connection, display name, group            ->  group's id
 *     'e' connection, group, member                  ->  [member's id, when it came]
 *     'b' connection, member, group                  ->  group's id
 *     'h' group, member                              ->  held removal
 *     'H' organization, time, group, member          ->  held removal
 *     'w' group                                      ->  removals of the last hour
 *     'q' connection                                 ->  how often each leniency was used
 *     'v' connection                                 ->  when each of its tokens was used last, to the minute
 *     'z' connection, group or member                ->  a removal under way
 *     'n' prefix of a list                           ->  how many entries it has
 *
 * Names and ids of others are of any text and length, so they stand in keys as their SHA-256.
 *
 * Roles follow from connections, standings, groups, edges and held removals ('c', 's', 'g', 'e', 'h'): who writes one of
 * them says whose it is, so that what was found by it is looked for anew.
 */
import { createHash } from 'node:crypto'
import { foldCase } from '../../base/fold-case.js'
import { newUuidV7 } from '../../base/ids.js'
import type { DirectoryConnection, DirectoryGroup, Member, MemberFacts } from '../directory-store.js'
import type { ScimActor, ScimAuditEntry } from '../scim-store.js'
import type { AuditBook } from './audit-book.js'
import type { RecordSpace } from './record-space.js'
import { isId, KEY_END, RecordTable } from './record-table.js'
import type { RoleStamps } from './role-stamps.js'

const ROLE_FACTS = new Set(['c', 's', 'g', 'e', 'h'])

/** Entries of an audit row that name users. */
const USERS_PER_ROW = 100
const NONE = { groupId: null, mappingId: null, workspaceId: null, roleBefore: null, roleAfter: null }

/** What a change is about; `connectionId` where its directory made it, whose trail it then goes to. */
type DirectoryAuditSubject = Pick<ScimAuditEntry, 'organizationId'> & Partial<ScimAuditEntry>

/** A part of a list. */
export interface ListPage {
  readonly offset?: number
  readonly limit: number
  /** Counts from behind the entry whose key ends so. */
  readonly after?: string | undefined
}

/** For the inside of changes and snapshots of the space. */
export class DirectoryTables {
  readonly space: RecordSpace
  readonly #records: RecordTable
  readonly #audit: AuditBook<ScimAuditEntry>
  readonly #stamps: RoleStamps

  constructor(space: RecordSpace, audit: AuditBook<ScimAuditEntry>, stamps: RoleStamps) {
    this.space = space
    this.#stamps = stamps
    this.#records = new RecordTable(space, 'directory')
    this.#audit = audit
  }

  get<T extends object>(key: string | null): Readonly<T> | null {
    return key === null ? null : this.#records.get<T>(Buffer.from(key))
  }

  /** For records that are read again and again. */
  getParsed<T extends object>(key: string | null): Readonly<T> | null {
    return key === null ? null : this.#records.getParsed<T>(key, Buffer.from(key))
  }

  getText(key: string | null): string | null {
    const bytes = key === null ? undefined : this.space.get(this.#records.table, Buffer.from(key))
    return bytes === undefined ? null : textOf(bytes)
  }

  has(key: string | null): boolean {
    return key !== null && this.space.get(this.#records.table, Buffer.from(key)) !== undefined
  }

  /** @param organizationId whose fact it is, for those that roles follow from; the same below */
  put(key: string, record: object, organizationId?: string): void {
    this.#stamp(key, organizationId)
    this.#records.put(Buffer.from(key), record)
  }

  putText(key: string, text: string, organizationId?: string): void {
    this.#stamp(key, organizationId)
    this.#records.table.put(Buffer.from(key), Buffer.from(text))
  }

  remove(key: string, organizationId?: string): void {
    this.#stamp(key, organizationId)
    this.#records.remove(Buffer.from(key))
  }

  #stamp(key: string, organizationId: string | undefined): void {
    const [kind] = key
    if (!ROLE_FACTS.has(kind!)) return
    if (organizationId === undefined) throw new Error(`nobody says whose fact of roles it is: ${kind}`)
    this.#stamps.renew(organizationId)
  }

  /** Values under a prefix, as texts. */
  texts(prefix: string | null, page?: ListPage): string[] {
    return this.#values(prefix, page).map(textOf)
  }

  /** Values under a prefix, as records. */
  list<T extends object>(prefix: string | null, page?: ListPage): T[] {
    return this.#values(prefix, page).map((bytes) => JSON.parse(textOf(bytes)) as T)
  }

  #values(prefix: string | null, page?: ListPage): Buffer[] {
    if (prefix === null) return []
    const { space } = this
    const { table } = this.#records
    if (page === undefined) return space.valuesWithPrefix(table, Buffer.from(prefix))
    const { offset = 0, limit, after } = page
    // Nothing can stand between a key and itself with a zero behind it.
    const from = after === undefined ? {} : { from: Buffer.from(prefix + after + KEY_END) }
    return space.valuesOfPage(table, Buffer.from(prefix), { offset, limit, ...from })
  }

  // ── Lists that know their length ──────────────────────────────────────────

  enlist(prefix: string, id: string): void {
    this.putText(prefix + id, id)
    this.putText(`n${prefix}`, String(this.count(prefix) + 1))
  }

  delist(prefix: string, id: string): void {
    this.remove(prefix + id)
    const left = this.count(prefix) - 1
    if (left > 0) this.putText(`n${prefix}`, String(left))
    else this.remove(`n${prefix}`)
  }

  count(prefix: string | null): number {
    return prefix === null ? 0 : Number(this.getText(`n${prefix}`) ?? 0)
  }

  // ── Connections, members, groups ──────────────────────────────────────────

  connection(id: string): DirectoryConnection | null {
    return this.getParsed(keyOf('c', id))
  }

  hasConnection(id: string): boolean {
    return this.has(keyOf('c', id))
  }

  /** Null for what is the id of no member, now or before. */
  facts(memberId: string): MemberFacts | null {
    const text = this.getText(keyOf('s', memberId))
    return text === null ? null : this.#factsOf(text)
  }

  #factsOf(text: string): MemberFacts {
    const [state, organizationId, connection] = text.split(KEY_END) as [string, string, string]
    const connectionId = connection === '' ? null : connection
    // Those of a connection that was removed are gone with it, also while they are still being taken away.
    const deleted = state === 'deleted' || (connectionId !== null && !this.hasConnection(connectionId))
    return { organizationId, connectionId, deleted, active: state === 'active' && !deleted }
  }

  putMember(member: Member): void {
    const { id, organizationId, connectionId, active, deletedAt } = member
    const state = deletedAt !== null ? 'deleted' : active ? 'active' : 'inactive'
    this.put(keyOf('m', id)!, member)
    this.putText(keyOf('s', id)!, [state, organizationId, connectionId ?? ''].join(KEY_END), organizationId)
  }

  /** Also of those who were deleted. */
  member(id: string): Member | null {
    const member = this.get<Member>(keyOf('m', id))
    if (member === null || member.deletedAt !== null || member.connectionId === null) return member
    return this.hasConnection(member.connectionId) ? member : tombstoneOf(member, this.#removedAt(member))
  }

  /** When the connection of a member was removed, which is still being taken away. */
  #removedAt({ connectionId, updatedAt }: Member): number {
    return this.get<{ readonly at: number }>(keyOf('z', connectionId!))?.at ?? updatedAt
  }

  /** A group whose connection is there. */
  group(id: string): DirectoryGroup | null {
    const group = this.get<DirectoryGroup>(keyOf('g', id))
    return group !== null && this.hasConnection(group.connectionId) ? group : null
  }

  appendAudit(
    action: ScimAuditEntry['action'],
    at: number,
    actor: ScimActor,
    subject: DirectoryAuditSubject,
  ): void {
    this.#audit.append([{ ...NONE, ...subject, ...actor, action, at, id: newUuidV7(at) }])
  }

  /** A row for every hundred users; none without. */
  appendUsers(
    action: ScimAuditEntry['action'],
    at: number,
    actor: ScimActor,
    subject: DirectoryAuditSubject,
    users: readonly string[],
  ): void {
    for (let from = 0; from < users.length; from += USERS_PER_ROW) {
      this.appendAudit(action, at, actor, { ...subject, userIds: users.slice(from, from + USERS_PER_ROW) })
    }
  }
}

/** Nothing of the person is left but the id that keys name. */
export function tombstoneOf(member: Member, at: number): Member {
  return {
    ...member,
    ...{ version: member.version + 1, userName: '', externalId: null, active: false, document: {} },
    ...{ updatedAt: at, deletedAt: at },
  }
}

/** A key, or the prefix of a list; null when one of the ids can be none. */
export function keyOf(kind: string, ...ids: readonly string[]): string | null {
  for (const id of ids) if (!isId(id) || id.includes(KEY_END)) return null
  return kind + ids.join(KEY_END) + KEY_END
}

/** A text of a directory as it stands in keys, where case makes a difference. */
export function exactKey(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** As `exactKey`, where case makes none. */
export function foldedKey(text: string): string {
  return exactKey(foldCase(text))
}

/** No id of ours begins with it. */
const HASHED = '#'

/** What a directory names as a member, as it stands in keys: ids of ours as they are, so that lists are in their order. */
export function memberKey(memberId: string): string {
  const isPlain = isId(memberId) && !memberId.startsWith(HASHED) && !memberId.includes(KEY_END)
  return isPlain ? memberId : HASHED + exactKey(memberId)
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
}
