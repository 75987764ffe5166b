/** Applying operations to a document (RFC 7644 3.5.2). */
import { isObject } from '../../base/strict-json.js'
import type { ScimValue } from '../../store/directory-store.js'
import { refusal, ScimError } from './errors.js'
import { elementTest } from './filter.js'
import type { FilterNode } from './filter-syntax.js'
import type { AttributePath } from './paths.js'
import { subAttributeOf } from './paths.js'
import type { Attribute } from './schema.js'
import {
  type Draft,
  type DraftValue,
  MOST_VALUES,
  type Reading,
  readElement,
  readList,
  readValue,
  spend,
  tooMany,
} from './values.js'

/** Pairs of values that are compared in the time of a step. */
const COMPARED_IN_STEP = 10

export type Op = 'add' | 'replace' | 'remove'

/** Changes `draft` where the path says. `json` is undefined when the operation has no value. */
export function applyAt(
  draft: Draft,
  path: AttributePath & { readonly attribute: Attribute },
  op: Op,
  json: unknown,
  reading: Reading,
): ScimError | null {
  const { attribute, sub } = path
  if (attribute.mutability === 'readOnly' || sub?.mutability === 'readOnly')
    return unchangeable(sub ?? attribute)
  // Taken and forgotten.
  if (attribute.mutability === 'writeOnly') return null
  if (op !== 'remove' && json === undefined) return refusal('invalidValue', 'An operation lacks its value.')
  if (op === 'add' && json === null) return null
  const refused = attribute.multiValued
    ? applyToList(draft, path, op, json, reading)
    : applyToSingle(draft, path, op, json, reading)
  if (refused === null) prune(draft, attribute)
  return refused
}

function unchangeable({ name }: Attribute): ScimError {
  return refusal('mutability', `The attribute ${name} cannot be changed.`)
}

/** What has no value left is not there. */
function prune(draft: Draft, { name }: Attribute): void {
  let value = draft[name]
  if (Array.isArray(value)) value = draft[name] = value.filter((one) => !isEmpty(one))
  if (value !== undefined && isEmpty(value)) delete draft[name]
}

function isEmpty(value: DraftValue): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0)
}

function applyToSingle(
  draft: Draft,
  { attribute, sub }: AttributePath & { readonly attribute: Attribute },
  op: Op,
  json: unknown,
  reading: Reading,
): ScimError | null {
  const value = op === 'remove' ? null : readValue(sub ?? attribute, json, reading)
  if (value instanceof ScimError) return value
  const present = draft[attribute.name]
  if (sub !== null) {
    draft[attribute.name] = { ...(isDraft(present) ? present : {}), [sub.name]: value }
    if (value === null) delete (draft[attribute.name] as Draft)[sub.name]
  } else if (value !== null || !isObject(json)) {
    // Sub-attributes that the value does not name stay (RFC 7644 3.5.2.3).
    draft[attribute.name] = isDraft(present) && isDraft(value) ? { ...present, ...value } : value
  }
  return null
}

function isDraft(value: DraftValue | undefined): value is Draft {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

type ListPath = Pick<AttributePath, 'filter' | 'sub'> & { readonly attribute: Attribute }

function applyToList(
  draft: Draft,
  path: ListPath,
  op: Op,
  json: unknown,
  reading: Reading,
): ScimError | null {
  const { attribute, filter, sub } = path
  const present = (draft[attribute.name] ?? []) as Draft[]
  const refused = spend(reading, present.length)
  if (refused) return refused
  const selects = filter === null ? () => true : elementTest(filter, attribute, reading.quirks)
  if (selects instanceof ScimError) return selects
  if (op === 'remove') {
    const left = removedFrom(present, path, selects, json, reading)
    if (left instanceof ScimError) return left
    draft[attribute.name] = left
    return null
  }
  const written =
    filter === null && sub === null
      ? writtenList(present, attribute, op, json, reading)
      : writtenValues(present, path, selects, op, json, reading)
  if (written instanceof ScimError) return written
  const settled = distinct(written)
  if (settled.values.length > MOST_VALUES) return tooMany(attribute)
  draft[attribute.name] = settled.values
  return settlePrimary(settled)
}

function removedFrom(
  present: readonly Draft[],
  { attribute, filter, sub }: ListPath,
  selects: (value: ScimValue) => boolean,
  json: unknown,
  reading: Reading,
): Draft[] | ScimError {
  if (sub !== null)
    return present.map((value) => (selects(value as ScimValue) ? without(value, sub.name) : value))
  if (filter !== null) return present.filter((value) => !selects(value as ScimValue))
  if (json === undefined || json === null) return []
  reading.quirks.add('remove-with-value')
  const given = readList(attribute, json, reading) ?? []
  if (given instanceof ScimError) return given
  const refused = spend(reading, Math.ceil((present.length * given.length) / COMPARED_IN_STEP))
  if (refused) return refused
  const said = given.map((one) => Object.entries(one))
  // A value goes when it has everything that a given one says.
  return present.filter((value) => !said.some((parts) => parts.every(([name, part]) => value[name] === part)))
}

function without(value: Draft, name: string): Draft {
  const { [name]: _, ...rest } = value
  return rest
}

/** A list after a write, and which of its values were written. */
interface Written {
  readonly values: Draft[]
  readonly touched: ReadonlySet<Draft>
}

function writtenList(
  present: readonly Draft[],
  attribute: Attribute,
  op: Op,
  json: unknown,
  reading: Reading,
): Written | ScimError {
  const given = readList(attribute, op === 'add' ? asList(json) : json, reading) ?? []
  if (given instanceof ScimError) return given
  return { values: op === 'add' ? [...present, ...given] : given, touched: new Set(given) }
}

/** A list in which no value stands twice: the later one adds to the earlier. */
function distinct({ values, touched }: Written): Written {
  const found = new Map<string, Draft>()
  const stillTouched = new Set<Draft>()
  for (const value of values) {
    const identity = identityOf(value)
    const earlier = found.get(identity)
    const merged = earlier === undefined ? value : { ...earlier, ...value }
    found.set(identity, merged)
    if (touched.has(value) || (earlier !== undefined && stillTouched.has(earlier))) stillTouched.add(merged)
  }
  return { values: [...found.values()], touched: stillTouched }
}

/** What is added to a list may be one value (RFC 7644 3.5.2.1). */
function asList(json: unknown): unknown {
  return Array.isArray(json) || json === null ? json : [json]
}

/** No two values of a list have the same `value` and `type` (RFC 7643 2.4); addresses are told apart by all they say. */
function identityOf(value: Draft): string {
  return JSON.stringify(
    value.value === undefined ? Object.entries(value).sort() : [value.value, value.type ?? null],
  )
}

/** Writes into the values that the path selects. */
function writtenValues(
  present: readonly Draft[],
  { attribute, filter, sub }: ListPath,
  selects: (value: ScimValue) => boolean,
  op: Op,
  json: unknown,
  reading: Reading,
): Written | ScimError {
  const read = sub === null ? readElement(attribute, json, reading) : readValue(sub, json, reading)
  if (read instanceof ScimError) return read
  const write = (value: Draft): Draft => {
    if (sub !== null) return read === null ? without(value, sub.name) : { ...value, [sub.name]: read }
    return op === 'add' ? { ...value, ...(read as Draft | null) } : ((read ?? {}) as Draft)
  }
  const touched = new Set<Draft>()
  const values = present.map((value) => {
    if (!selects(value as ScimValue)) return value
    const changed = write(value)
    touched.add(changed)
    return changed
  })
  if (touched.size > 0 || read === null) return { values, touched }
  const fresh = filter === null ? {} : valueDescribedBy(filter, attribute, reading)
  if (fresh === null) return refusal('noTarget', 'No value is selected by the filter of the path.')
  if (filter !== null) reading.quirks.add('value-path-creates')
  const added = sub === null ? { ...fresh, ...(read as Draft) } : write(fresh)
  return { values: [...values, added], touched: new Set([added]) }
}

/** The value that satisfies a filter of equalities: `type eq "work"` is `{type: "work"}`. Null for any other filter. */
function valueDescribedBy(filter: FilterNode, list: Attribute, reading: Reading): Draft | null {
  const described: Draft = {}
  for (const term of filter.kind === 'and' ? filter.terms : [filter]) {
    if (term.kind !== 'compare' || term.op !== 'eq' || term.literal.value === null) return null
    const sub = subAttributeOf(list, term.name, reading.quirks)
    const value = sub && readValue(sub, term.literal.value, reading)
    if (!sub || value === null || value instanceof ScimError || Object.hasOwn(described, sub.name))
      return null
    described[sub.name] = value
  }
  return described
}

/** A value that becomes the primary one takes that from all others (RFC 7644 3.5.2). */
function settlePrimary({ values, touched }: Written): ScimError | null {
  const chosen = values.filter((value) => value.primary === true && touched.has(value))
  if (chosen.length > 1) return refusal('invalidValue', 'Only one value of a list can be the primary one.')
  if (chosen.length === 1) {
    for (const value of values) if (value.primary === true && value !== chosen[0]) value.primary = false
  }
  return null
}
