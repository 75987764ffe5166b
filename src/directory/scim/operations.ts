/** Bodies of POST, PUT and PATCH as changes of a document. */
import { isObject, type JsonObject } from '../../base/strict-json.js'
import { refusal, ScimError } from './errors.js'
import { applyAt, type Op } from './patch.js'
import { type AttributePath, parsePath } from './paths.js'
import type { Quirks } from './quirks.js'
import { RESOURCE_TYPES, type ResourceName, type ResourceType } from './schema.js'
import { beginReading, type Draft, namedTwice, type Reading, spend } from './values.js'

const PATCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
const MOST_OPERATIONS = 1_000
/** What filters in paths may have in all: each is matched against values that may be long. */
const MOST_FILTER_TEXT = 2_048
/** What is looked at for a filter in a path, as steps: so many characters of its text in so many of the document. */
const FILTER_STEP = 10
const FILTERED_STEP = 400
/** Characters of a document's JSON. */
const LARGEST_DOCUMENT = 65_536

/** The members of a group, which are in no document: takes what is done to them. */
export type OnMembers = (op: Op, path: AttributePath, json: unknown, reading: Reading) => ScimError | null

/** The reading of a body as a resource. */
interface ResourceReading extends Reading {
  readonly type: ResourceType
  readonly onMembers: OnMembers | null
}

/** The resource in a body of POST or PUT; what is read-only or unknown is ignored. */
export function readResource(
  body: unknown,
  name: ResourceName,
  quirks: Quirks,
  onMembers: OnMembers | null = null,
): Draft | ScimError {
  if (!isObject(body)) return notAnObject()
  const type = RESOURCE_TYPES[name]
  checkSchemas(body, type.core.id, quirks)
  const draft: Draft = {}
  const reading = { ...beginReading(quirks), type, onMembers }
  const refused = applyPathless(draft, 'replace', body, null, reading)
  return refused ?? tooLarge(draft) ?? draft
}

/** Applies the operations of a PATCH, in order; `draft` is of no use when one of them is refused. */
export function applyOperations(
  draft: Draft,
  body: unknown,
  name: ResourceName,
  quirks: Quirks,
  onMembers: OnMembers | null = null,
): ScimError | null {
  if (!isObject(body)) return notAnObject()
  checkSchemas(body, PATCH_SCHEMA, quirks)
  const operations = fieldOf(body, 'Operations', quirks)
  if (!Array.isArray(operations)) return refusal('invalidSyntax', 'The body has no list of Operations.')
  if (operations.length > MOST_OPERATIONS) {
    return refusal('tooMany', `The body has more than ${MOST_OPERATIONS} operations.`)
  }
  if (operations.length === 0) quirks.add('empty-operations')
  const reading = { ...beginReading(quirks), type: RESOURCE_TYPES[name], onMembers }
  let filterText = 0
  for (const operation of operations as readonly unknown[]) {
    const read = readOperation(operation, reading)
    if (read instanceof ScimError) return read
    if (read.path !== null && read.path !== 'unknown' && read.path.filter && !isMembers(read.path, reading)) {
      filterText += read.length
      const refused = filterText > MOST_FILTER_TEXT ? tooMuchFilter() : spendOnFilter(draft, read, reading)
      if (refused) return refused
    }
    const refused = carryOut(draft, read, reading)
    if (refused) return refused
  }
  return tooLarge(draft)
}

function notAnObject(): ScimError {
  return refusal('invalidSyntax', 'The body is no JSON object.')
}

function tooMuchFilter(): ScimError {
  return refusal('tooMany', `The filters of all paths are longer than ${MOST_FILTER_TEXT} characters.`)
}

/** Each term of a filter may compare every character of a list. */
function spendOnFilter(draft: Draft, { length }: Operation, reading: Reading): ScimError | null {
  const size = JSON.stringify(draft).length
  return spend(reading, Math.ceil(length / FILTER_STEP) * Math.ceil(size / FILTERED_STEP))
}

function tooLarge(draft: Draft): ScimError | null {
  if (JSON.stringify(draft).length <= LARGEST_DOCUMENT) return null
  return new ScimError(413, null, `The resource is larger than ${LARGEST_DOCUMENT} characters.`)
}

/** Case does not count in names (RFC 7643 2.1); an exact name goes before. */
function fieldOf(object: JsonObject, name: string, quirks: Quirks): unknown {
  if (Object.hasOwn(object, name)) return object[name]
  const other = Object.keys(object).find((key) => key.toLowerCase() === name.toLowerCase())
  if (other === undefined) return undefined
  quirks.add('name-in-another-case')
  return object[other]
}

function checkSchemas(body: JsonObject, expected: string, quirks: Quirks): void {
  const schemas = fieldOf(body, 'schemas', quirks)
  if (!Array.isArray(schemas) || !schemas.includes(expected)) quirks.add('schemas-omitted')
}

interface Operation {
  readonly op: Op
  /** Null when the operation has none. */
  readonly path: AttributePath | 'unknown' | null
  /** Of the path's text. */
  readonly length: number
  /** Undefined when the operation has none. */
  readonly value: unknown
}

function readOperation(json: unknown, reading: ResourceReading): Operation | ScimError {
  const { type, quirks } = reading
  if (!isObject(json)) return refusal('invalidSyntax', 'An operation is no object.')
  const refused = spend(reading, Object.keys(json).length)
  if (refused) return refused
  const op = readOp(fieldOf(json, 'op', quirks), quirks)
  if (op === null) return refusal('invalidSyntax', 'An operation is none of add, replace and remove.')
  const text = fieldOf(json, 'path', quirks) ?? ''
  const value = fieldOf(json, 'value', quirks)
  if (typeof text !== 'string') return refusal('invalidPath', 'The path of an operation is no text.')
  if (text.trim() === '') return { op, path: null, length: 0, value }
  const path = parsePath(text, type, quirks)
  return path instanceof ScimError ? path : { op, path, length: text.length, value }
}

const OPS = ['add', 'replace', 'remove'] as const

function readOp(json: unknown, quirks: Quirks): Op | null {
  if (typeof json !== 'string') return null
  const op = OPS.find((known) => known === json.toLowerCase()) ?? null
  if (op !== null && op !== json) quirks.add('capitalized-op')
  return op
}

function carryOut(draft: Draft, { op, path, value }: Operation, reading: ResourceReading): ScimError | null {
  if (path === 'unknown') {
    reading.quirks.add('unknown-path')
    return null
  }
  if (path !== null) return applyPath(draft, path, op, value, reading)
  if (op === 'remove') return refusal('noTarget', 'A removal lacks its path.')
  if (!isObject(value))
    return refusal('invalidValue', 'An operation without path has no object as its value.')
  reading.quirks.add('pathless-patch')
  return applyPathless(draft, op, value, null, reading)
}

function applyPath(
  draft: Draft,
  path: AttributePath,
  op: Op,
  json: unknown,
  reading: ResourceReading,
): ScimError | null {
  const { schema, attribute } = path
  if (isMembers(path, reading)) return reading.onMembers!(op, path, json, reading)
  if (schema === reading.type.core)
    return applyAt(draft, { ...path, attribute: attribute! }, op, json, reading)
  if (attribute === null && (op === 'remove' || (op === 'replace' && json === null))) {
    delete draft[schema.id]
    return null
  }
  const holder = (draft[schema.id] ??= {}) as Draft
  const refused =
    attribute === null
      ? applyExtension(draft, path, op, json, reading)
      : applyAt(holder, { ...path, attribute }, op, json, reading)
  if (Object.keys(holder).length === 0) delete draft[schema.id]
  return refused
}

function isMembers(path: AttributePath, { onMembers }: ResourceReading): boolean {
  return onMembers !== null && path.attribute?.name === 'members'
}

function applyExtension(
  draft: Draft,
  path: AttributePath,
  op: Op,
  json: unknown,
  reading: ResourceReading,
): ScimError | null {
  if (json === null) return null
  if (isObject(json)) return applyPathless(draft, op, json, path.schema.id, reading)
  return refusal('invalidValue', 'The value of an extension is no object.')
}

/** Every key of a value is a path; those that cannot be changed or read are left out. */
function applyPathless(
  draft: Draft,
  op: Op,
  values: JsonObject,
  extension: string | null,
  reading: ResourceReading,
): ScimError | null {
  const seen = new Set<string>()
  const tooMany = spend(reading, Object.keys(values).length)
  if (tooMany) return tooMany
  for (const [key, value] of Object.entries(values)) {
    const path = pathOfKey(key, extension, reading)
    if (path === null) continue
    const { schema, attribute, sub, filter } = path
    const name = `${schema.id}:${attribute?.name}.${sub?.name}`
    if (attribute !== null && filter === null && seen.has(name)) return namedTwice(sub ?? attribute)
    seen.add(name)
    const refused = applyPath(draft, path, op, value, reading)
    if (refused) return refused
  }
  return null
}

function pathOfKey(
  key: string,
  extension: string | null,
  { type, quirks }: ResourceReading,
): AttributePath | null {
  const met: Quirks = new Set()
  const path = parsePath(extension === null ? key : `${extension}:${key}`, type, met)
  if (path === 'unknown' || path instanceof ScimError) return null
  const { attribute, sub, filter } = path
  if (attribute?.mutability === 'readOnly' || sub?.mutability === 'readOnly') return null
  if (attribute === null && extension !== null) return null
  if (met.delete('colon-path') && extension === null) quirks.add('colon-key')
  if (filter !== null) quirks.add('value-path-key')
  else if (sub !== null) quirks.add('dotted-key')
  for (const quirk of met) quirks.add(quirk)
  return path
}
