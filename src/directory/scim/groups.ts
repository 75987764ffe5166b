/** Groups as bodies of POST, PUT and PATCH say them. Their members are told apart: no document has them. */
import { isDeepStrictEqual } from 'node:util'
import type { DirectoryGroup, MembershipChange, ScimDocument } from '../../store/directory-store.js'
import { refusal, ScimError, type ScimType } from './errors.js'
import type { FilterNode } from './filter-syntax.js'
import { applyOperations, type OnMembers, readResource } from './operations.js'
import { asList, type Op } from './patch.js'
import type { AttributePath } from './paths.js'
import type { Quirks } from './quirks.js'
import { type Draft, readList } from './values.js'

/** What a directory says of a group, without its members. */
export type GroupFields = Pick<DirectoryGroup, 'displayName' | 'externalId' | 'document'>

/** Members by the ids that the directory names, each once, and how it shows them. */
interface GroupMembers {
  readonly members: readonly string[]
  readonly displays?: ReadonlyMap<string, string>
}

/** Ids are as long as ours, or as a directory's own. */
const LONGEST_ID = 256

/** The group of a POST or PUT. A PUT without members clears the group, as it clears all that it omits. */
export function readGroup(
  body: unknown,
  quirks: Quirks,
): { readonly group: GroupFields; readonly members: GroupMembers } | ScimError {
  const changes: MembershipChange[] = []
  const draft = readResource(body, 'Group', quirks, collecting(changes, quirks))
  const group = draft instanceof ScimError ? draft : fieldsOf(draft, 'invalidValue')
  if (group instanceof ScimError) return group
  const { op: _, ...members } = changes[0] ?? { op: 'replace', members: [] }
  return { group, members }
}

/** What a PATCH does to a group; `group` is `current` itself when only members change. */
export function patchGroup(
  current: GroupFields,
  body: unknown,
  quirks: Quirks,
): { readonly group: GroupFields; readonly members: readonly MembershipChange[] } | ScimError {
  const { displayName, externalId, document } = current
  const draft: Draft = { ...(structuredClone(document) as Draft), displayName }
  if (externalId !== null) draft.externalId = externalId
  const members: MembershipChange[] = []
  const refused = applyOperations(draft, body, 'Group', quirks, collecting(members, quirks))
  const next = refused ?? fieldsOf(draft, 'mutability')
  if (next instanceof ScimError) return next
  return { group: isDeepStrictEqual({ displayName, externalId, document }, next) ? current : next, members }
}

function fieldsOf(draft: Draft, whenNameless: ScimType): GroupFields | ScimError {
  const { displayName, externalId, ...document } = draft
  if (typeof displayName !== 'string' || displayName.trim() === '') {
    return refusal(whenNameless, 'A group needs a displayName.')
  }
  return {
    displayName,
    externalId: typeof externalId === 'string' ? externalId : null,
    document: document as ScimDocument,
  }
}

function collecting(changes: MembershipChange[], quirks: Quirks): OnMembers {
  return (op, path, json) => {
    const change = membershipChange(op, path, json, quirks)
    if (change instanceof ScimError) return change
    if (change.op === 'replace' || change.members.length > 0) changes.push(change)
    return null
  }
}

function membershipChange(
  op: Op,
  path: AttributePath,
  json: unknown,
  quirks: Quirks,
): MembershipChange | ScimError {
  if (path.filter !== null) return removalByFilter(op, path, quirks)
  if (path.sub !== null) return unchangeable()
  // RFC 7644 3.5.2.2: without a value all of them go. A list, though, removes those it names, even when it is empty.
  if (op === 'remove' && (json === undefined || json === null)) return { op: 'replace', members: [] }
  if (json === undefined) return refusal('invalidValue', 'An operation lacks its value.')
  const given = readMembers(path, op === 'add' ? asList(json) : json, quirks)
  if (given instanceof ScimError) return given
  if (op !== 'remove') return { op, ...given }
  quirks.add('remove-with-value')
  return { op, members: given.members }
}

function unchangeable(): ScimError {
  return refusal('mutability', 'A member of a group can be added and removed, not changed.')
}

function removalByFilter(
  op: Op,
  { filter, sub }: AttributePath,
  quirks: Quirks,
): MembershipChange | ScimError {
  if (op !== 'remove' || sub !== null) return unchangeable()
  const members = idsIn(filter!, quirks)
  return members === null
    ? refusal('invalidFilter', 'Members are removed by their value: members[value eq "id"].')
    : { op, members: [...new Set(members)] }
}

/** The ids in `value eq "x"`, in several of these after `or`, and beside a `type eq "User"`; null for anything else. */
function idsIn(filter: FilterNode, quirks: Quirks): readonly string[] | null {
  if (filter.kind === 'or') {
    const parts = filter.terms.map((term) => idsIn(term, quirks))
    return parts.every((part) => part !== null) ? parts.flat() : null
  }
  if (filter.kind === 'and') {
    const rest = filter.terms.filter((term) => !isTypeUser(term))
    return rest.length === 1 ? idsIn(rest[0]!, quirks) : null
  }
  if (filter.kind !== 'compare' || filter.op !== 'eq' || filter.name.toLowerCase() !== 'value') return null
  if (filter.name !== 'value') quirks.add('name-in-another-case')
  if (!filter.literal.quoted) quirks.add('unquoted-word')
  return [filter.literal.text]
}

function isTypeUser(term: FilterNode): boolean {
  if (term.kind !== 'compare' || term.op !== 'eq' || term.name.toLowerCase() !== 'type') return false
  return term.literal.text.toLowerCase() === 'user'
}

function readMembers({ attribute }: AttributePath, json: unknown, quirks: Quirks): GroupMembers | ScimError {
  const given = readList(attribute!, json, quirks) ?? []
  if (given instanceof ScimError) return given
  const displays = new Map<string, string>()
  const members = new Set<string>()
  for (const { value, type, $ref, display } of given) {
    if (typeof value !== 'string' || value === '' || value.length > LONGEST_ID) {
      return refusal(
        'invalidValue',
        `A member needs the id of a user as its value, of ${LONGEST_ID} characters at most.`,
      )
    }
    if (/^group$/i.test(String(type)) || /\/Groups\/[^/]*$/i.test(String($ref))) {
      return refusal('invalidValue', 'A group cannot be a member of a group.')
    }
    members.add(value)
    if (typeof display === 'string' && display !== '') displays.set(value, display)
  }
  return displays.size === 0 ? { members: [...members] } : { members: [...members], displays }
}
