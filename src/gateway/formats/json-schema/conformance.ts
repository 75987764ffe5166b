import { isDeepStrictEqual } from 'node:util'
import {
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
} from './schema-values.js'
import type { SchemaWalk } from './schema-walk.js'

/** Deepest nesting of schemas that is followed; references may go in circles. */
const MAX_DEPTH = 200

/** Rules that `refutes` does not look at. */
const UNSEEN_KEYWORDS = [
  ...['pattern', 'uniqueItems', 'minItems', 'maxItems', 'minProperties', 'maxProperties', 'propertyNames'],
  // What is in there may be unseen as well.
  ...['properties', 'additionalProperties', 'items', 'prefixItems'],
] as const

/** Whether a value that stands in one schema is valid under another beyond doubt: it has no rule that is not looked at. */
export function allowsFixedValue(schema: SchemaObject, value: unknown, context: SchemaWalk): boolean {
  const isSeenThrough = !UNSEEN_KEYWORDS.some((keyword) => Object.hasOwn(schema, keyword))
  return isSeenThrough && !refutes(schema, value, context)
}

/** Whether the schema forbids the value beyond doubt. Throws when the budget ends. */
export function refutes(schema: unknown, value: unknown, context: SchemaWalk, depth = 0): boolean {
  if (typeof schema === 'boolean') return !schema
  if (!isObject(schema) || depth > MAX_DEPTH) return false
  context.visit(schema)
  if (value === null && ownMember(schema, 'nullable') === true) return false
  const ruleRefutes = (rule: unknown, part = value): boolean => refutes(rule, part, context, depth + 1)
  const branches = ownList(schema, 'anyOf')
  return (
    !isListed(value, schema, context) ||
    !isWithinLimits(value, schema, context) ||
    rulesOfParts(value, schema, context).some(([part, rule]) => ruleRefutes(rule, part)) ||
    (Object.hasOwn(schema, '$ref') && ruleRefutes(context.resolve(schema.$ref))) ||
    ownList(schema, 'allOf').some((rule) => ruleRefutes(rule)) ||
    (branches.length > 0 && branches.every((rule) => ruleRefutes(rule)))
  )
}

/** Of the type, and one of the values that the schema lists. */
function isListed(value: unknown, schema: SchemaObject, context: SchemaWalk): boolean {
  const type = ownMember(schema, 'type')
  if (type !== undefined && ![type].flat().some((one) => isOfType(value, one))) return false
  if (Object.hasOwn(schema, 'const') && !isEqual(value, schema.const, context)) return false
  return !Object.hasOwn(schema, 'enum') || ownList(schema, 'enum').some((one) => isEqual(value, one, context))
}

function isEqual(one: unknown, other: unknown, context: SchemaWalk): boolean {
  if (typeof one !== 'object' || typeof other !== 'object') return one === other
  context.spendOnValue(one)
  return isDeepStrictEqual(one, other)
}

function isWithinLimits(value: unknown, schema: SchemaObject, context: SchemaWalk): boolean {
  if (typeof value === 'number') return isWithinBounds(value, schema)
  if (isObject(value)) return requiredNames(schema).every((name) => Object.hasOwn(value, name))
  if (typeof value !== 'string') return true
  context.spendOnText(value.length)
  const length = countCodePoints(value)
  return (
    length >= (ownNumber(schema, 'minLength') ?? 0) && length <= (ownNumber(schema, 'maxLength') ?? length)
  )
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

/** The parts of a value, each with a rule for it. */
function rulesOfParts(
  value: unknown,
  schema: SchemaObject,
  context: SchemaWalk,
): (readonly [part: unknown, rule: unknown])[] {
  if (typeof value !== 'object' || value === null) return []
  const parts = Object.entries(value)
  context.spendOnEntries(parts.length)
  return parts.flatMap(([name, part]) => {
    const rules = Array.isArray(value) ? itemRules(schema, Number(name)) : memberRules(schema, name)
    return rules.map((rule) => [part, rule] as const)
  })
}
