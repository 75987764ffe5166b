/** A value of a body as the schema has it (RFC 7643 2.3): types checked, names spelled, nothing unknown kept. */
import { isObject, type JsonObject } from '../../base/strict-json.js'
import { booleanOf } from './comparisons.js'
import { refusal, ScimError } from './errors.js'
import { subAttributeOf } from './paths.js'
import type { Quirks } from './quirks.js'
import type { Attribute } from './schema.js'

/** What a document is made of while it is changed; only names of the schema are ever its keys. */
export type Draft = { [name: string]: DraftValue }
export type DraftValue = string | number | boolean | null | Draft | DraftValue[]

/** Values of a list, except members: whose number only the body bounds. */
export const MOST_VALUES = 100
const LONGEST_TEXT = 4_096
/** Names are keys of indexes. */
const LONGEST_NAME = 512
/** Certificates and pictures. */
const LONGEST_DATA = 65_536

/** Null when the value says that there is none. */
export function readValue(attribute: Attribute, json: unknown, quirks: Quirks): DraftValue | ScimError {
  return attribute.multiValued ? readList(attribute, json, quirks) : readSingle(attribute, json, quirks)
}

/** The values of a list; null when there are none. */
export function readList(attribute: Attribute, json: unknown, quirks: Quirks): Draft[] | null | ScimError {
  if (json === null) return null
  if (!Array.isArray(json)) quirks.add('single-for-list')
  const given: readonly unknown[] = Array.isArray(json) ? json : [json]
  if (given.length > MOST_VALUES && attribute.name !== 'members') return tooMany(attribute)
  const values: Draft[] = []
  for (const one of given) {
    const value = readElement(attribute, one, quirks)
    if (value instanceof ScimError) return value
    if (value !== null) values.push(value)
  }
  return values.length === 0 ? null : values
}

/** One value of a list; null when it says nothing. */
export function readElement(attribute: Attribute, json: unknown, quirks: Quirks): Draft | null | ScimError {
  if (typeof json !== 'string') return readComplex(attribute, json, quirks)
  if (json === '') return null
  quirks.add('values-as-text')
  return readComplex(attribute, { value: json }, quirks)
}

export function tooMany({ name }: Attribute): ScimError {
  return refusal('tooMany', `The attribute ${name} has more than ${MOST_VALUES} values.`)
}

function readSingle(attribute: Attribute, json: unknown, quirks: Quirks): DraftValue | ScimError {
  if (json === null) return null
  if (Array.isArray(json)) {
    if (json.length > 1 || Array.isArray(json[0])) return invalid(attribute)
    quirks.add('list-for-single')
    const only: unknown = json[0] ?? null
    const { type } = attribute
    return readSingle(attribute, type !== 'complex' && isObject(only) ? only.value : only, quirks)
  }
  switch (attribute.type) {
    case 'complex':
      return readManagerOrComplex(attribute, json, quirks)
    case 'boolean':
      return readBoolean(attribute, json, quirks)
    default:
      return readText(attribute, json, quirks)
  }
}

function invalid({ name }: Attribute): ScimError {
  return refusal(
    'invalidValue',
    `The attribute ${name} has a value of another type or form than its schema has.`,
  )
}

function readManagerOrComplex(attribute: Attribute, json: unknown, quirks: Quirks): Draft | null | ScimError {
  if (typeof json !== 'string' || !attribute.byName.has('value')) return readComplex(attribute, json, quirks)
  if (json === '') return null
  quirks.add('manager-as-text')
  return readComplex(attribute, { value: json }, quirks)
}

function readComplex(attribute: Attribute, json: unknown, quirks: Quirks): Draft | null | ScimError {
  if (json === null) return null
  if (!isObject(json)) return invalid(attribute)
  const values: Draft = {}
  for (const [name, given] of Object.entries(renamed(attribute, json, quirks))) {
    const sub = subAttributeOf(attribute, name, quirks)
    if (sub === null || sub.mutability === 'readOnly') continue
    const value = readValue(sub, given, quirks)
    if (value instanceof ScimError) return value
    if (Object.hasOwn(values, sub.name)) return namedTwice(sub)
    if (value !== null) values[sub.name] = value
  }
  return Object.keys(values).length === 0 ? null : values
}

export function namedTwice({ name }: Attribute): ScimError {
  return refusal('invalidSyntax', `The attribute ${name} is given twice.`)
}

/** A member with its `displayName` as its `display`. */
function renamed(attribute: Attribute, json: JsonObject, quirks: Quirks): JsonObject {
  if (attribute.name !== 'members' || !Object.hasOwn(json, 'displayName') || Object.hasOwn(json, 'display'))
    return json
  quirks.add('member-display-name')
  return { ...json, display: json.displayName }
}

function readBoolean(attribute: Attribute, json: unknown, quirks: Quirks): boolean | null | ScimError {
  if (typeof json === 'boolean') return json
  const value = typeof json === 'string' ? booleanOf(json) : null
  if (value === null) return json === '' ? null : invalid(attribute)
  quirks.add('boolean-as-text')
  return value
}

function readText(attribute: Attribute, json: unknown, quirks: Quirks): string | ScimError {
  if (typeof json === 'number') quirks.add('number-for-text')
  const text = typeof json === 'number' ? String(json) : json
  if (typeof text !== 'string') return invalid(attribute)
  // Neither has a place in UTF-8 texts and in every store.
  if (!text.isWellFormed() || text.includes('\0')) return invalid(attribute)
  const longest = longestOf(attribute)
  return text.length <= longest
    ? text
    : refusal('invalidValue', `The attribute ${attribute.name} is longer than ${longest} characters.`)
}

function longestOf({ name, type }: Attribute): number {
  if (type === 'binary' || type === 'reference') return LONGEST_DATA
  return name === 'userName' || name === 'externalId' || name === 'displayName' ? LONGEST_NAME : LONGEST_TEXT
}
