/** Groups as bodies of POST, PUT and PATCH say them. Their members are told apart: no document has them. */
import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../base/strict-json.js'
import type { DirectoryGroup, MembershipChange, ScimDocument } from '../../store/directory-store.js'
import { refusal, ScimError, type ScimType } from './errors.js'
import type { FilterNode } from './filter-syntax.js'
import { applyOperations, type OnMembers, readResource } from './operations.js'
import type { Op } from './patch.js'
import type { AttributePath } from './paths.js'
import type { Quirks } from './quirks.js'
import { type Draft, type Reading, readElement } from './values.js'

/** What a directory says of a group, without its members. */
export type GroupFields = Pick<DirectoryGroup, 'displayName' | 'externalId' | 'document'>

/** Members by the ids that the directory names, each once, and how it shows them. */
interface GroupMembers {
  readonly members: readonly string[]
  readonly displays?: ReadonlyMap<string, string>
}

/** Named in one body: so many ids of ours as one has room for, in the shortest form that is sent. */
const MOST_MEMBERS = 20_000
/** Ids are as long as ours, or as a directory's own. */
const LONGEST_ID = 256

/** The group of a POST or PUT. A PUT without members clears the group, as it clears all that it omits. */
export function readGroup(
  body: unknown,
  quirks: Quirks,
): { readonly group: GroupFields; readonly members: GroupMembers } | ScimError {
  const changes: MembershipChange[] = []
  const draft = readResource(body, 'Group', quirks, collecting(changes))
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
  const refused = applyOperations(draft, body, 'Group', quirks, collecting(members))
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

function collecting(changes: MembershipChange[]): OnMembers {
  let named = 0
  return (op, path, json, reading) => {
    named += Array.isArray(json) ? json.length : 1
    if (named > MOST_MEMBERS)
      return refusal('tooMany', `The body names more than ${MOST_MEMBERS} members of the group.`)
    const change = membershipChange(op, path, json, reading)
    if (change instanceof ScimError) return change
    if (change.op === 'replace' || change.members.length > 0) changes.push(change)
    return null
  }
}

function membershipChange(
  op: Op,
  path: AttributePath,
  json: unknown,
  reading: Reading,
): MembershipChange | ScimError {
  if (path.filter !== null) return removalByFilter(op, path, reading.quirks)
  if (path.sub !== null) return unchangeable()
  // RFC 7644 3.5.2.2: without a value all of them go. A list, though, removes those it names, even when it is empty.
  if (op === 'remove' && (json === undefined || json === null)) return { op: 'replace', members: [] }
  if (json === undefined) return refusal('invalidValue', 'An operation lacks its value.')
  const given = readMembers(path, json, op === 'add', reading)
  if (given instanceof ScimError) return given
  if (op !== 'remove') return { op, ...given }
  reading.quirks.add('remove-with-value')
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

function readMembers(
  { attribute }: AttributePath,
  json: unknown,
  mayBeOne: boolean,
  reading: Reading,
): GroupMembers | ScimError {
  if (!Array.isArray(json) && json !== null && !mayBeOne) reading.quirks.add('single-for-list')
  const given: readonly unknown[] = Array.isArray(json) ? json : [json]
  const displays = new Map<string, string>()
  const members = new Set<string>()
  for (const one of given) {
    const said = saidOf(one, reading.quirks)
    const member = isPlainMember(said) ? said : readElement(attribute!, said, reading)
    if (member instanceof ScimError) return member
    if (member === null) continue
    const { value, type, $ref, display } = member
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

/** A member with its `displayName` as its `display`, and one that is a text as its `value`. */
function saidOf(json: unknown, quirks: Quirks): unknown {
  if (typeof json === 'string' && json !== '') {
    quirks.add('values-as-text')
    return { value: json }
  }
  if (!isObject(json) || !Object.hasOwn(json, 'displayName') || Object.hasOwn(json, 'display')) return json
  quirks.add('member-display-name')
  return { ...json, display: json.displayName }
}

/** What almost all members are: read as it stands, because a body may have thousands of them. */
function isPlainMember(json: unknown): json is Draft {
  if (!isObject(json)) return false
  for (const name in json) {
    const text = json[name]
    if (!PLAIN_NAMES.has(name)) return false
    if (text === null && name !== 'value') continue
    if (typeof text !== 'string' || text.length > LONGEST_ID) return false
    if (!text.isWellFormed() || text.includes('\0')) return false
  }
  return true
}

const PLAIN_NAMES: ReadonlySet<string> = new Set(['value', '$ref', 'display', 'displayName', 'type'])
