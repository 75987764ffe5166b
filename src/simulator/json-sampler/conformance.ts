import {
  canonicalText,
  countCodePoints,
  isObject,
  isOfType,
  itemRules,
  memberRules,
  ownList,
  ownMember,
  ownNumber,
  requiredNames,
  type SchemaObject,
} from './json-values.js'
import { findUnsupportedKeyword, type SchemaContext } from './schema-context.js'

/** True, false, or null where a pattern or an unsupported keyword leaves it open. */
type Conformance = boolean | null

/** Judges a part of the value, one level deeper. */
type Check = (part: unknown, rule: unknown) => Conformance

/** Deepest nesting of schemas that is followed; references may go in circles. */
const MAX_DEPTH = 200

/** Whether the value is valid under the schema; formats are annotations. Throws when the budget ends. */
export function conformsTo(value: unknown, schema: unknown, context: SchemaContext, depth = 0): Conformance {
  if (typeof schema === 'boolean') return schema
  if (!isObject(schema) || depth > MAX_DEPTH) return null
  context.visit(schema)
  if (value === null && ownMember(schema, 'nullable') === true) return true
  const check: Check = (part, rule) => conformsTo(part, rule, context, depth + 1)
  return allOf(conformanceOfKeywords(value, schema, context, check))
}

/** Of all keywords, the cheapest and the most telling first. */
function* conformanceOfKeywords(value: unknown, schema: SchemaObject, context: SchemaContext, check: Check) {
  const inner = (rule: unknown): Conformance => check(value, rule)
  const type = ownMember(schema, 'type')
  if (type !== undefined) yield [type].flat().some((one) => isOfType(value, one))
  if (Object.hasOwn(schema, 'const')) yield isEqual(value, schema.const, context)
  if (Object.hasOwn(schema, 'enum')) yield ownList(schema, 'enum').some((one) => isEqual(value, one, context))
  if (typeof value === 'number') yield isWithinBounds(value, schema)
  if (typeof value === 'string') yield textConformance(value, schema, context)
  if (Array.isArray(value)) yield* itemConformance(value, schema, context, check)
  if (isObject(value)) yield* memberConformance(value, schema, context, check)
  if (Object.hasOwn(schema, '$ref')) yield inner(context.resolve(schema.$ref))
  for (const rule of ownList(schema, 'allOf')) yield inner(rule)
  if (ownList(schema, 'anyOf').length > 0) yield anyOf(ownList(schema, 'anyOf').map(inner))
  if (ownList(schema, 'oneOf').length > 0) yield oneOf(ownList(schema, 'oneOf').map(inner))
  if (findUnsupportedKeyword(schema) !== null) yield null
}

/** Whether a number is within all bounds of a schema, and a multiple of its step in floating point too. */
export function isWithinBounds(value: number, schema: SchemaObject): boolean {
  const step = ownNumber(schema, 'multipleOf')
  return (
    value >= (ownNumber(schema, 'minimum') ?? value) &&
    value <= (ownNumber(schema, 'maximum') ?? value) &&
    value > (ownNumber(schema, 'exclusiveMinimum') ?? Number.NEGATIVE_INFINITY) &&
    value < (ownNumber(schema, 'exclusiveMaximum') ?? Number.POSITIVE_INFINITY) &&
    (step === null || Number.isInteger(value / step))
  )
}

function textConformance(value: string, schema: SchemaObject, context: SchemaContext): Conformance {
  context.spendOnText(value.length)
  if (!isWithin(countCodePoints(value), schema, 'minLength', 'maxLength')) return false
  return Object.hasOwn(schema, 'pattern') ? null : true
}

function* itemConformance(
  value: readonly unknown[],
  schema: SchemaObject,
  context: SchemaContext,
  check: Check,
) {
  yield isWithin(value.length, schema, 'minItems', 'maxItems')
  context.spendOnEntries(value.length)
  if (ownMember(schema, 'uniqueItems') === true) {
    context.spendOnValue(value)
    yield new Set(value.map(canonicalText)).size === value.length
  }
  for (const [index, item] of value.entries()) {
    for (const rule of itemRules(schema, index)) yield check(item, rule)
  }
}

function* memberConformance(value: SchemaObject, schema: SchemaObject, context: SchemaContext, check: Check) {
  const names = Object.keys(value)
  context.spendOnEntries(names.length)
  yield isWithin(names.length, schema, 'minProperties', 'maxProperties')
  yield requiredNames(schema).every((name) => Object.hasOwn(value, name))
  for (const name of names) {
    if (Object.hasOwn(schema, 'propertyNames')) yield check(name, schema.propertyNames)
    for (const rule of memberRules(schema, name)) yield check(value[name], rule)
  }
}

function isWithin(count: number, schema: SchemaObject, least: string, most: string): boolean {
  return count >= (ownNumber(schema, least) ?? 0) && count <= (ownNumber(schema, most) ?? count)
}

/** Equality of JSON values: the order of members does not matter. */
function isEqual(one: unknown, other: unknown, context: SchemaContext): boolean {
  if (typeof one !== 'object' || typeof other !== 'object') return one === other
  context.spendOnValue(one)
  context.spendOnValue(other)
  return canonicalText(one) === canonicalText(other)
}

function allOf(conformances: Iterable<Conformance>): Conformance {
  let all: Conformance = true
  for (const conformance of conformances) {
    if (conformance === false) return false
    if (conformance === null) all = null
  }
  return all
}

function anyOf(conformances: readonly Conformance[]): Conformance {
  return conformances.includes(true) ? true : conformances.includes(null) ? null : false
}

function oneOf(conformances: readonly Conformance[]): Conformance {
  const possible = conformances.filter((conformance) => conformance !== false)
  if (possible.filter((conformance) => conformance === true).length > 1) return false
  return possible.length > 1 ? null : (possible[0] ?? false)
}
