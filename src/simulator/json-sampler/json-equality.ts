import { isObject } from './json-values.js'
import { stepsOfText } from './schema-weight.js'

/** Takes steps from a budget; false when they are not there. */
export type Spend = (steps: number) => boolean

/** Equality of JSON values: the order of members does not matter. False when the budget ends before the comparison. */
export function sameJson(a: unknown, b: unknown, spend: Spend): boolean {
  if (typeof a === 'string' && typeof b === 'string') {
    return a.length === b.length && spend(stepsOfText(a.length)) && a === b
  }
  if (a === b) return true
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length || !spend(1 + a.length)) return false
    return a.every((item, i) => sameJson(item, b[i], spend))
  }
  if (!isObject(a) || !isObject(b)) return false
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length || !spend(1 + names.length)) return false
  return names.every((name) => Object.hasOwn(b, name) && sameJson(a[name], b[name], spend))
}

/** The same text for equal JSON values, and another one for others. */
export function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join()}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalText(value[name])}`)
  return `{${members.join()}}`
}
