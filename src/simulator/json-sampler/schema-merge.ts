import { type Spend, sameJson } from './json-equality.js'
import { isObject, type Obj, own, ownList, ownNumber, ownObject, type Schema, setOwn } from './json-values.js'
import { stepsOfEntries } from './schema-weight.js'

/** Keywords whose stricter value is the greater, and those where it is the smaller. */
const GREATER = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties', 'minContains']
const SMALLER = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties', 'maxContains']

/**
 * One flat schema that asks for what both ask for, or null when nothing can satisfy both. Where two rules cannot
 * be said in one (two patterns), the first stands: what is made is checked against the originals afterwards. Null as
 * well when the budget ends; the caller pays for what grows with one of them, and `spend` what grows with both.
 */
export function mergeSchemas(a: Obj, b: Obj, spend: Spend): Obj | null {
  const merged: Record<string, unknown> = { ...b, ...a }
  const type = mergeTypes(own(a, 'type'), own(b, 'type'), spend)
  if (type === null) return null
  if (type !== undefined) merged.type = type
  const list = mergeEnums(ownList(a, 'enum'), ownList(b, 'enum'), spend)
  if (list !== null) {
    if (list.length === 0) return null
    merged.enum = list
  }
  if (Object.hasOwn(a, 'const') && Object.hasOwn(b, 'const') && !sameJson(a.const, b.const, spend))
    return null
  mergeBounds(merged, a, b)
  mergeMembers(merged, a, b)
  mergeItems(merged, a, b)
  return merged
}

function mergeTypes(a: unknown, b: unknown, spend: Spend): unknown {
  if (a === undefined || b === undefined) return a ?? b
  const [left, right] = [listed(a), listed(b)]
  if (!spend(stepsOfEntries(left.length * right.length))) return null
  const both = left.filter((type) => right.includes(type))
  // An integer is a number, so `number` on one side leaves `integer` of the other.
  if (left.includes('number') && right.includes('integer') && !both.includes('integer')) both.push('integer')
  if (right.includes('number') && left.includes('integer') && !both.includes('integer')) both.push('integer')
  return both.length === 0 ? null : both
}

function listed(type: unknown): unknown[] {
  return Array.isArray(type) ? type : [type]
}

function mergeEnums(
  a: readonly unknown[] | null,
  b: readonly unknown[] | null,
  spend: Spend,
): readonly unknown[] | null {
  if (a === null || b === null) return a ?? b
  if (!spend(stepsOfEntries(a.length * b.length))) return []
  return a.filter((one) => b.some((other) => sameJson(one, other, spend)))
}

function mergeBounds(merged: Record<string, unknown>, a: Obj, b: Obj): void {
  for (const name of GREATER) {
    const [left, right] = [ownNumber(a, name), ownNumber(b, name)]
    if (left !== null && right !== null) merged[name] = Math.max(left, right)
  }
  for (const name of SMALLER) {
    const [left, right] = [ownNumber(a, name), ownNumber(b, name)]
    if (left !== null && right !== null) merged[name] = Math.min(left, right)
  }
  const [left, right] = [ownNumber(a, 'multipleOf'), ownNumber(b, 'multipleOf')]
  if (left !== null && right !== null) merged.multipleOf = commonMultiple(left, right)
  if (own(a, 'uniqueItems') === true || own(b, 'uniqueItems') === true) merged.uniqueItems = true
}

function commonMultiple(a: number, b: number): number {
  if (!Number.isInteger(a) || !Number.isInteger(b)) return Math.max(a, b)
  let [x, y] = [a, b]
  while (y !== 0) [x, y] = [y, x % y]
  return (a / x) * b
}

function mergeMembers(merged: Record<string, unknown>, a: Obj, b: Obj): void {
  const required = [...(ownList(a, 'required') ?? []), ...(ownList(b, 'required') ?? [])]
  if (required.length > 0) merged.required = [...new Set(required)]
  const [left, right] = [ownObject(a, 'properties'), ownObject(b, 'properties')]
  const properties: Record<string, unknown> = {}
  for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
    setOwn(properties, name, both(memberRule(a, left, name), memberRule(b, right, name)))
  }
  if (Object.keys(properties).length > 0) merged.properties = properties
  mergeKey(merged, a, b, 'additionalProperties')
  mergeKey(merged, a, b, 'propertyNames')
  for (const name of ['patternProperties', 'dependentRequired', 'dependentSchemas']) {
    if (Object.hasOwn(a, name) && Object.hasOwn(b, name))
      merged[name] = { ...ownObject(b, name), ...ownObject(a, name) }
  }
}

/** A member that one side does not name falls under that side's rule for the rest. */
function memberRule(schema: Obj, properties: Obj, name: string): unknown {
  if (Object.hasOwn(properties, name)) return properties[name]
  // Patterns may cover the name; the check of the made value settles it.
  return Object.hasOwn(schema, 'patternProperties') ? true : (own(schema, 'additionalProperties') ?? true)
}

function mergeItems(merged: Record<string, unknown>, a: Obj, b: Obj): void {
  mergeKey(merged, a, b, 'items')
  const [left, right] = [ownList(a, 'prefixItems'), ownList(b, 'prefixItems')]
  if (left === null || right === null) return
  const rule = (list: readonly unknown[], schema: Obj, i: number) => list[i] ?? own(schema, 'items') ?? true
  const length = Math.max(left.length, right.length)
  merged.prefixItems = Array.from({ length }, (_, i) => both(rule(left, a, i), rule(right, b, i)))
}

function mergeKey(merged: Record<string, unknown>, a: Obj, b: Obj, name: string): void {
  if (Object.hasOwn(a, name) && Object.hasOwn(b, name)) merged[name] = both(a[name], b[name])
}

/** A schema that asks for both. */
export function both(a: unknown, b: unknown): Schema {
  if (a === false || b === false) return false
  if (a === true) return b as Schema
  if (b === true) return a as Schema
  if (isObject(a) && isObject(b)) return { allOf: [a, b] }
  return false
}
