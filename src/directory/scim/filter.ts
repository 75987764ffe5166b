/** A filter as a predicate over rendered resources, and what of it an index of the store answers. */
import type { DirectoryLookup, ScimDocument, ScimValue } from '../../store/directory-store.js'
import { comparison, type Test } from './comparisons.js'
import { refusal, ScimError } from './errors.js'
import { type FilterNode, parseFilterText } from './filter-syntax.js'
import { resolveName, subAttributeOf } from './paths.js'
import type { Quirks } from './quirks.js'
import { type Attribute, RESOURCE_TYPES, type ResourceName, type ResourceType } from './schema.js'

/** Whether the group in question has this member. */
type IsMember = (memberId: string) => boolean

export interface ScimFilter {
  /** What the store is asked for; everything that matches is among what it finds. */
  readonly lookup: DirectoryLookup
  /** True when everything that the lookup finds matches: page and total are the store's. */
  readonly exact: boolean
  /** Whether the resource needs this list filled in before it is matched. */
  reads(attribute: 'groups' | 'members'): boolean
  /** `resource` is the whole resource, as it is rendered. Filters on the id of a member ask `isMember`, not the list. */
  matches(resource: ScimDocument, isMember?: IsMember): boolean
}

/** The filter of a list, or 400 `invalidFilter`. Names that no schema here has are refused: an empty answer would mislead. */
export function parseFilter(text: string, name: ResourceName, quirks: Quirks): ScimFilter | ScimError {
  const tree = parseFilterText(text)
  if (tree instanceof ScimError) return tree
  const read = new Set<string>()
  const matches = predicateOf(tree, (node) => resourceTest(node, RESOURCE_TYPES[name], quirks, read))
  if (matches instanceof ScimError) return matches
  const terms = tree.kind === 'and' ? tree.terms : [tree]
  const lookups = terms.map((term) => lookupOf(term, name)).filter((lookup) => lookup !== null)
  return {
    lookup: lookups[0] ?? { by: 'all' },
    exact: terms.length === 1 && lookups.length === 1,
    reads: (attribute) => read.has(attribute),
    matches: (resource, isMember = () => false) => matches({ resource, isMember }),
  }
}

const INDEXED: Readonly<Record<ResourceName, readonly Exclude<DirectoryLookup['by'], 'all'>[]>> = {
  User: ['id', 'userName', 'externalId'],
  Group: ['id', 'externalId', 'displayName'],
}

function lookupOf(term: FilterNode, name: ResourceName): DirectoryLookup | null {
  if (term.kind !== 'compare' || term.op !== 'eq' || term.literal.value === null) return null
  const type = RESOURCE_TYPES[name]
  const resolved = resolveName(term.name, type, new Set())
  if (resolved === null || resolved.sub !== null || resolved.schema !== type.core) return null
  const by = INDEXED[name].find((indexed) => indexed === resolved.attribute?.name)
  return by === undefined ? null : { by, value: term.literal.text }
}

/** What a filter of resources is asked of. */
interface Subject {
  readonly resource: ScimDocument
  readonly isMember: IsMember
}

/** A node that names an attribute. */
type Expression = Exclude<FilterNode, { readonly kind: 'and' | 'or' | 'not' }>
type Predicate<A> = (subject: A) => boolean

/** The predicate of a tree, made of those of the nodes that name attributes. */
function predicateOf<A>(
  node: FilterNode,
  leaf: (expression: Expression) => Predicate<A> | ScimError,
): Predicate<A> | ScimError {
  if (node.kind === 'not') {
    const term = predicateOf(node.term, leaf)
    return term instanceof ScimError ? term : (subject) => !term(subject)
  }
  if (node.kind !== 'and' && node.kind !== 'or') return leaf(node)
  const terms: Predicate<A>[] = []
  for (const each of node.terms) {
    const term = predicateOf(each, leaf)
    if (term instanceof ScimError) return term
    terms.push(term)
  }
  return node.kind === 'and'
    ? (subject) => terms.every((term) => term(subject))
    : (subject) => terms.some((term) => term(subject))
}

/** Adds to `read` the attributes whose value in the resource is looked at. */
function resourceTest(
  node: Expression,
  type: ResourceType,
  quirks: Quirks,
  read: Set<string>,
): Predicate<Subject> | ScimError {
  const resolved = resolveName(node.name, type, quirks)
  if (resolved === null || resolved.attribute === null || resolved.attribute.returned === 'never')
    return unknown()
  const { schema, attribute, sub } = resolved
  if (attribute.name === 'members') {
    const asked = memberAsked(node, sub)
    if (asked !== null) return ({ isMember }) => isMember(asked)
  }
  read.add(attribute.name)
  const test = testOf(node, attribute, sub, quirks)
  if (test instanceof ScimError) return test
  const { name } = attribute
  return schema === type.core
    ? ({ resource }) => test(resource[name])
    : ({ resource }) => test(partOf(resource[schema.id], name))
}

function unknown(): ScimError {
  return refusal('invalidFilter', 'The filter names an attribute that cannot be filtered by.')
}

/** The id in `members eq "x"`, `members.value eq "x"` or `members[value eq "x"]`, which an index answers. */
function memberAsked(node: FilterNode, sub: Attribute | null): string | null {
  if (node.kind === 'some')
    return node.term.kind === 'compare' && node.term.name.toLowerCase() === 'value'
      ? memberAsked(node.term, null)
      : null
  if (node.kind !== 'compare' || node.op !== 'eq' || node.literal.value === null) return null
  return sub === null || sub.name === 'value' ? node.literal.text : null
}

/** The test of one attribute's value: for a list, whether any of its values satisfies it. */
function testOf(
  node: Expression,
  attribute: Attribute,
  sub: Attribute | null,
  quirks: Quirks,
): Test | ScimError {
  if (node.kind === 'some') {
    if (!attribute.multiValued || sub !== null) return unknown()
    if (node.goesOn) quirks.add('value-path-goes-on')
    const test = elementTest(node.term, attribute, quirks)
    return test instanceof ScimError ? test : (value) => Array.isArray(value) && value.some(test)
  }
  if (node.kind === 'present') {
    return sub === null ? isPresent : (value) => valuesOf(value, sub.name).some(isPresent)
  }
  // A complex attribute is compared by its `value` (RFC 7643 2.4).
  const compared = sub ?? (attribute.type === 'complex' ? attribute.byName.get('value') : attribute)
  if (compared === undefined) return unknown()
  const test = comparison(compared, node.op, node.literal, quirks)
  if (test instanceof ScimError) return test
  const key = compared === attribute ? null : compared.name
  return (value) => {
    const values = key === null ? (Array.isArray(value) ? value : [value]) : valuesOf(value, key)
    return values.length === 0 ? test(undefined) : values.some(test)
  }
}

/** The test of one value of a list; names are those of its sub-attributes. */
export function elementTest(node: FilterNode, list: Attribute, quirks: Quirks): Test | ScimError {
  return predicateOf<ScimValue | undefined>(node, (expression) => {
    const sub = subAttributeOf(list, expression.name, quirks)
    if (sub === null || expression.kind === 'some') return unknown()
    const test = testOf(expression, sub, null, quirks)
    return test instanceof ScimError ? test : (value) => test(partOf(value, sub.name))
  })
}

/** Null, an empty text, an empty list and an object without values are no value (RFC 7643 2.5). */
function isPresent(value: ScimValue | undefined): boolean {
  if (value === undefined || value === null || value === '') return false
  return typeof value !== 'object' || Object.values(value).some(isPresent)
}

/** The values of a sub-attribute: one for each value of a list. */
function valuesOf(value: ScimValue | undefined, name: string): readonly (ScimValue | undefined)[] {
  return Array.isArray(value) ? value.map((one) => partOf(one, name)) : [partOf(value, name)]
}

/** What an object has under a name; undefined of anything else. */
export function partOf(value: ScimValue | undefined, name: string): ScimValue | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as ScimDocument)[name]
    : undefined
}
