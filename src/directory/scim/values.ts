/** A value of a body as the schema has it (RFC 7643 2.3): types checked, names spelled, nothing unknown kept. */
import { isObject } from '../../base/strict-json.js'
import { booleanOf } from './comparisons.js'
import { refusal, ScimError } from './errors.js'
import { subAttributeOf } from './paths.js'
import type { Quirks } from './quirks.js'
import type { Attribute } from './schema.js'

/** What a document is made of while it is changed; only names of the schema are ever its keys. */
export type Draft = { [name: string]: DraftValue }
export type DraftValue = string | number | boolean | null | Draft | DraftValue[]

/** Values of a list, except members. */
export const MOST_VALUES = 100
/** Some ten milliseconds at the worst; no user has nearly as much. */
const MOST_STEPS = 6_000
const LONGEST_TEXT = 4_096
/** Names are keys of indexes. */
const LONGEST_NAME = 512
/** Certificates and pictures. */
const LONGEST_DATA = 65_536

/** The reading of one body. */
export interface Reading {
  readonly quirks: Quirks
  /** Keys of the body, and values of lists, that may still be looked at, each as often as it is. */
  stepsLeft: number
}

export function beginReading(quirks: Quirks): Reading {
  return { quirks, stepsLeft: MOST_STEPS }
}

/** Asked before the steps are gone: a body holds the event loop no longer than these take. */
export function spend(reading: Reading, steps: number): ScimError | null {
  reading.stepsLeft -= steps
  if (reading.stepsLeft >= 0) return null
  return refusal('tooMany', 'The body has too many attributes and values to go through.')
}

/** Null when the value says that there is none. */
export function readValue(attribute: Attribute, json: unknown, reading: Reading): DraftValue | ScimError {
  return attribute.multiValued ? readList(attribute, json, reading) : readSingle(attribute, json, reading)
}

/** The values of a list; null when there are none. */
export function readList(attribute: Attribute, json: unknown, reading: Reading): Draft[] | null | ScimError {
  if (json === null) return null
  if (!Array.isArray(json)) reading.quirks.add('single-for-list')
  const given: readonly unknown[] = Array.isArray(json) ? json : [json]
  if (given.length > MOST_VALUES) return tooMany(attribute)
  const values: Draft[] = []
  for (const one of given) {
    const value = readElement(attribute, one, reading)
    if (value instanceof ScimError) return value
    if (value !== null) values.push(value)
  }
  return values.length === 0 ? null : values
}

/** One value of a list; null when it says nothing. */
export function readElement(attribute: Attribute, json: unknown, reading: Reading): Draft | null | ScimError {
  if (typeof json !== 'string') return readComplex(attribute, json, reading)
  if (json === '') return null
  reading.quirks.add('values-as-text')
  return readComplex(attribute, { value: json }, reading)
}

export function tooMany({ name }: Attribute): ScimError {
  return refusal('tooMany', `The attribute ${name} has more than ${MOST_VALUES} values.`)
}

function readSingle(attribute: Attribute, json: unknown, reading: Reading): DraftValue | ScimError {
  if (json === null) return null
  if (Array.isArray(json)) {
    if (json.length > 1 || Array.isArray(json[0])) return invalid(attribute)
    reading.quirks.add('list-for-single')
    const only: unknown = json[0] ?? null
    const { type } = attribute
    return readSingle(attribute, type !== 'complex' && isObject(only) ? only.value : only, reading)
  }
  switch (attribute.type) {
    case 'complex':
      return readManagerOrComplex(attribute, json, reading)
    case 'boolean':
      return readBoolean(attribute, json, reading)
    default:
      return readText(attribute, json, reading)
  }
}

function invalid({ name }: Attribute): ScimError {
  return refusal(
    'invalidValue',
    `The attribute ${name} has a value of another type or form than its schema has.`,
  )
}

function readManagerOrComplex(
  attribute: Attribute,
  json: unknown,
  reading: Reading,
): Draft | null | ScimError {
  if (typeof json !== 'string' || !attribute.byName.has('value')) return readComplex(attribute, json, reading)
  if (json === '') return null
  reading.quirks.add('manager-as-text')
  return readComplex(attribute, { value: json }, reading)
}

function readComplex(attribute: Attribute, json: unknown, reading: Reading): Draft | null | ScimError {
  if (json === null) return null
  if (!isObject(json)) return invalid(attribute)
  const refused = spend(reading, Object.keys(json).length)
  if (refused) return refused
  const values: Draft = {}
  for (const [name, given] of Object.entries(json)) {
    const sub = subAttributeOf(attribute, name, reading.quirks)
    if (sub === null || sub.mutability === 'readOnly') continue
    const value = readValue(sub, given, reading)
    if (value instanceof ScimError) return value
    if (Object.hasOwn(values, sub.name)) return namedTwice(sub)
    if (value !== null) values[sub.name] = value
  }
  return Object.keys(values).length === 0 ? null : values
}

export function namedTwice({ name }: Attribute): ScimError {
  return refusal('invalidSyntax', `The attribute ${name} is given twice.`)
}

function readBoolean(attribute: Attribute, json: unknown, reading: Reading): boolean | null | ScimError {
  if (typeof json === 'boolean') return json
  const value = typeof json === 'string' ? booleanOf(json) : null
  if (value === null) return json === '' ? null : invalid(attribute)
  reading.quirks.add('boolean-as-text')
  return value
}

function readText(attribute: Attribute, json: unknown, reading: Reading): string | ScimError {
  if (typeof json === 'number') reading.quirks.add('number-for-text')
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
