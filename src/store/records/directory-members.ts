/** Members in the table of the directory. */
import type {
  DirectoryMembers,
  DirectoryPage,
  DirectoryWrite,
  Member,
  WriteRefusal,
} from '../directory-store.js'
import type { ScimActor, ScimAuditEntry } from '../scim-store.js'
import {
  buryMember,
  enlistMember,
  type MemberScope,
  placeOf,
  reindexMember,
  userNameKey,
} from './directory-lists.js'
import type { DirectoryRemovals } from './directory-removals.js'
import {
  type DirectoryTables,
  exactKey,
  foldedKey,
  keyOf,
  type ListPage,
  tombstoneOf,
} from './directory-tables.js'
import type { RoleAnswers } from './role-answers.js'

export function createMembers(
  tables: DirectoryTables,
  removals: DirectoryRemovals,
  answers: RoleAnswers,
): DirectoryMembers {
  const { space } = tables
  const page = (prefix: string | null, part: ListPage): DirectoryPage<Member> => {
    const ids = tables.texts(prefix, part)
    const entries = ids.map((id) => tables.member(id)!).filter(({ deletedAt }) => deletedAt === null)
    return { entries, total: tables.count(prefix) }
  }
  const only = (member: Member | null, offset: number, limit: number): DirectoryPage<Member> => {
    const found = member === null ? [] : [member]
    return { entries: found.slice(offset, offset + limit), total: found.length }
  }
  return {
    member: (id) => space.inSnapshot(() => tables.member(id)),
    factsOf: (id) => answers.factsOf(id),
    membersOf: (scope, lookup, offset, limit) =>
      space.inSnapshot(() => {
        const place = placeOf(scope)
        if (!isThere(tables, scope)) return NOBODY
        if (lookup.by === 'all') return page(keyOf('l', place), { offset, limit, after: lookup.after })
        if (lookup.by === 'externalId')
          return page(keyOf('x', place, exactKey(lookup.value)), { offset, limit })
        if (lookup.by === 'displayName') return NOBODY
        const id =
          lookup.by === 'id' ? lookup.value : tables.getText(keyOf('u', place, foldedKey(lookup.value)))
        return only(id === null ? null : livingIn(tables, scope, id), offset, limit)
      }),
    membersOfOrganization: (organizationId, offset, limit) =>
      space.inSnapshot(() => page(keyOf('a', organizationId), { offset, limit })),
    addMember: (member, actor) =>
      removals.change((): DirectoryWrite<Member> => {
        const { id, createdAt } = member
        if (!isThere(tables, member)) return { absent: true }
        if (tables.has(keyOf('m', id)) || tables.has(userNameKey(member))) return { conflict: true }
        const added: Member = Object.freeze({ ...member, version: 1, deletedAt: null })
        tables.putMember(added)
        enlistMember(tables, added)
        audit(tables, 'member.create', createdAt, actor, added)
        return { done: added }
      }),
    changeMember: (id, change, actor) =>
      removals.change(() => {
        const current = living(tables, id)
        if (current === null) return { absent: true }
        const changed = change(current)
        if ('refused' in changed) return changed
        if (changed === current) return { done: current }
        const next = revised(changed, current)
        const holder = tables.getText(userNameKey(next))
        if (holder !== null && holder !== id) return { conflict: true }
        reindexMember(tables, current, next)
        tables.putMember(next)
        audit(tables, actionOf(current, next), next.updatedAt, actor, next)
        return { done: next }
      }),
    removeMember: <R>(
      id: string,
      check: (current: Member) => WriteRefusal<R> | null,
      at: number,
      actor: ScimActor,
    ) =>
      removals.begin<DirectoryWrite<Member, R>>(() => {
        const current = living(tables, id)
        if (current === null) return { outcome: { absent: true }, removal: null }
        const refusal = check(current)
        if (refusal !== null) return { outcome: refusal, removal: null }
        const { connectionId, organizationId } = current
        buryMember(tables, current, at)
        removals.dropRoles(id)
        audit(tables, 'member.delete', at, actor, current)
        const done = tombstoneOf(current, at)
        return {
          outcome: { done },
          removal: connectionId === null ? null : { kind: 'member', id, connectionId, organizationId, at },
        }
      }),
  }
}

const NOBODY: DirectoryPage<never> = Object.freeze({ entries: [], total: 0 })

function isThere(tables: DirectoryTables, { organizationId, connectionId }: MemberScope): boolean {
  return connectionId === null || tables.connection(connectionId)?.organizationId === organizationId
}

function living(tables: DirectoryTables, id: string): Member | null {
  const member = tables.member(id)
  return member?.deletedAt === null ? member : null
}

function livingIn(tables: DirectoryTables, scope: MemberScope, id: string): Member | null {
  const member = living(tables, id)
  const isOfScope =
    member?.organizationId === scope.organizationId && member.connectionId === scope.connectionId
  return isOfScope ? member : null
}

function revised(changed: Member, current: Member): Member {
  const { id, organizationId, connectionId, createdAt, version } = current
  const identity = { id, organizationId, connectionId, createdAt, deletedAt: null }
  return Object.freeze({ ...changed, ...identity, version: version + 1 })
}

function actionOf(before: Member, after: Member): ScimAuditEntry['action'] {
  if (before.active === after.active) return 'member.update'
  return after.active ? 'member.activate' : 'member.deactivate'
}

function audit(
  tables: DirectoryTables,
  action: ScimAuditEntry['action'],
  at: number,
  actor: ScimActor,
  { id, organizationId, connectionId }: Member,
): void {
  tables.appendAudit(action, at, actor, {
    organizationId,
    ...(connectionId !== null && { connectionId }),
    userIds: [id],
  })
}
