/** Comparing a value with a literal of a filter, by the type of its attribute (RFC 7644 3.4.2.2). */
import { foldCase } from '../../base/fold-case.js'
import type { ScimValue } from '../../store/directory-store.js'
import { refusal, type ScimError } from './errors.js'
import type { Comparison, Literal } from './filter-syntax.js'
import type { Quirks } from './quirks.js'
import type { Attribute } from './schema.js'

/** Whether a value satisfies a comparison; undefined and null are what has no value. */
export type Test = (value: ScimValue | undefined) => boolean

type Order = Exclude<Comparison, 'co' | 'sw' | 'ew'>

const ORDERS: Readonly<Record<Order, (difference: number) => boolean>> = {
  eq: (difference) => difference === 0,
  ne: (difference) => difference !== 0,
  gt: (difference) => difference > 0,
  ge: (difference) => difference >= 0,
  lt: (difference) => difference < 0,
  le: (difference) => difference <= 0,
}

/** The test of a comparison; what has no value equals nothing but null. Fails when the type cannot be compared so. */
export function comparison(
  attribute: Attribute,
  op: Comparison,
  literal: Literal,
  quirks: Quirks,
): Test | ScimError {
  if (literal.value === null) {
    if (op !== 'eq' && op !== 'ne') return unfit(attribute)
    return (value) => ((value ?? null) === null) === (op === 'eq')
  }
  if (attribute.type === 'boolean') return booleanTest(attribute, op, literal, quirks)
  if (attribute.type === 'dateTime') return timeTest(attribute, op, literal, quirks)
  if (attribute.type === 'binary' && op !== 'eq' && op !== 'ne') return unfit(attribute)
  return textTest(attribute, op, literal, quirks)
}

function unfit({ name }: Attribute): ScimError {
  return refusal('invalidFilter', `The attribute ${name} cannot be compared in this way.`)
}

function booleanTest(
  attribute: Attribute,
  op: Comparison,
  { value, quoted }: Literal,
  quirks: Quirks,
): Test | ScimError {
  const asked = typeof value === 'boolean' ? value : booleanOf(String(value))
  if (asked === null || (op !== 'eq' && op !== 'ne')) return unfit(attribute)
  if (typeof value !== 'boolean') quirks.add(quoted ? 'boolean-as-text' : 'unquoted-word')
  return (actual) => (actual === asked) === (op === 'eq')
}

/** "True", "false" and the like; null for any other text. */
export function booleanOf(text: string): boolean | null {
  const word = text.toLowerCase()
  return word === 'true' || (word === 'false' ? false : null)
}

function textTest(attribute: Attribute, op: Comparison, literal: Literal, quirks: Quirks): Test {
  if (!literal.quoted) quirks.add('unquoted-word')
  const comparable = attribute.caseExact ? (text: string) => text : foldCase
  const asked = comparable(literal.text)
  const test = textRelation(op, asked)
  return (value) => (typeof value === 'string' ? test(comparable(value)) : op === 'ne')
}

function textRelation(op: Comparison, asked: string): (text: string) => boolean {
  if (op === 'co') return (text) => text.includes(asked)
  if (op === 'sw') return (text) => text.startsWith(asked)
  if (op === 'ew') return (text) => text.endsWith(asked)
  const holds = ORDERS[op]
  return (text) => holds(text === asked ? 0 : text < asked ? -1 : 1)
}

const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,12}))?(Z|[+-]\d\d:\d\d)?$/i

function timeTest(attribute: Attribute, op: Comparison, literal: Literal, quirks: Quirks): Test | ScimError {
  const asked = instantOf(literal.text)
  if (asked === null || op === 'co' || op === 'sw' || op === 'ew') return unfit(attribute)
  if (!literal.quoted) quirks.add('unquoted-word')
  if (/\.\d{4}/.test(literal.text)) quirks.add('long-fraction')
  const holds = ORDERS[op]
  return (value) => {
    const instant = typeof value === 'string' ? instantOf(value) : null
    return instant === null ? op === 'ne' : holds(order(instant, asked))
  }
}

interface Instant {
  /** Unix milliseconds of its whole second. */
  readonly second: number
  /** The digits behind, without zeros at the end: a number of milliseconds has no room for seven of them. */
  readonly fraction: string
}

/** UTC when no offset is given. */
function instantOf(text: string): Instant | null {
  const found = TIME.exec(text)
  if (found === null) return null
  const [, seconds, fraction = '', offset = 'Z'] = found
  const second = Date.parse(`${seconds}${offset}`.toUpperCase())
  return Number.isNaN(second) ? null : { second, fraction: fraction.replace(/0+$/, '') }
}

function order(a: Instant, b: Instant): number {
  if (a.second !== b.second) return a.second - b.second
  return a.fraction === b.fraction ? 0 : a.fraction < b.fraction ? -1 : 1
}
