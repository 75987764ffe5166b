/**
 * Building blocks for body schemas: zod schemas whose violations carry the rule they break, so that every
 * dialect can name it, and whose JSON Schema says the same.
 */
import { z } from 'zod'
import type { ValidationRule } from '../base/fault.js'
import { countCodePoints } from './params.js'

type StringSchema = z.ZodType<string, string>
type NumberSchema = z.ZodType<number, number>

/** What our own checks attach to a zod issue. */
export interface RuleParams {
  readonly rule: ValidationRule
  readonly bound?: number
  /** Goes on from the name of the field: "must be …". A function is given the value and says none of it. */
  readonly note?: string | ((value: never) => string)
}

/** The note of a broken rule, if it has one. */
export function noteOf({ note }: RuleParams, value: unknown): string | undefined {
  return typeof note === 'function' ? note(value as never) : note
}

function ruleOptions(rule: ValidationRule, bound?: number) {
  return { params: bound === undefined ? { rule } : { rule, bound }, abort: true }
}

/** A rule that needs words of its own. */
export function noteOptions(note: string): { params: RuleParams & Record<string, unknown>; abort: true } {
  return { params: { rule: 'other', note }, abort: true }
}

/**
 * A string of `min` to `max` Unicode code points. Lone surrogates are refused: they have no UTF-8 form, so they
 * could be neither stored nor hashed as they are.
 */
export function boundedString(min: number, max: number): StringSchema {
  return (
    z
      .string()
      .refine((value) => value.isWellFormed(), ruleOptions('string'))
      .refine(
        (value) => (min <= 1 ? value.length : countCodePoints(value)) >= min,
        ruleOptions('string-too-short', min),
      )
      // There are never more code points than code units, so most values need no counting.
      .refine(
        (value) => value.length <= max || countCodePoints(value) <= max,
        ruleOptions('string-too-long', max),
      )
      .meta({ ...(min > 0 && { minLength: min }), maxLength: max })
  )
}

/** A time with a zone, as text. */
export function timeString() {
  return z.iso.datetime({
    offset: true,
    error: 'must be an ISO 8601 date-time with a zone, such as 2030-01-31T12:00:00Z',
  })
}

/** A number between two inclusive bounds. JSON's 1e400 arrives as Infinity and is out of every range. */
export function boundedNumber(min: number, max: number): NumberSchema {
  return inRange(jsonNumber('number'), min, max).meta({ type: 'number', minimum: min, maximum: max })
}

/** An integer between two inclusive bounds; `1.0` is one. */
export function boundedInteger(min: number, max: number): NumberSchema {
  const whole = jsonNumber('integer').refine(
    (value) => Number.isInteger(value) || !Number.isFinite(value),
    ruleOptions('integer-fraction'),
  )
  return inRange(whole, min, max).meta({ type: 'integer', minimum: min, maximum: max })
}

/** zod's own number refuses Infinity as "no number"; JSON can write it, and then it is a number out of range. */
function jsonNumber(name: ValidationRule): NumberSchema {
  return z.custom<number>((value) => typeof value === 'number', ruleOptions(name))
}

function inRange(schema: NumberSchema, min: number, max: number): NumberSchema {
  return schema
    .refine((value) => value >= min, ruleOptions('at-least', min))
    .refine((value) => value <= max, ruleOptions('at-most', max))
}

/** Any number that is one: JSON's 1e400 is not. */
export function finiteNumber(): NumberSchema {
  return jsonNumber('number')
    .refine((value) => Number.isFinite(value), noteOptions('is out of range'))
    .meta({ type: 'number' })
}

/** An integer without a bound of its own: as far as a number holds every digit. */
export function safeInteger(min = 0): NumberSchema {
  return boundedInteger(min, Number.MAX_SAFE_INTEGER)
}

/**
 * A string that keeps a rule of its own: `fault` says what is wrong with it, going on from the name of the field
 * and without a word of the value, or null. `pattern` is for the document.
 */
export function stringWithRule(fault: (value: string) => string | null, pattern?: string): StringSchema {
  const note = (value: string): string => fault(value) ?? ''
  const params: RuleParams = { rule: 'other', note }
  const schema = z.string().refine((value) => fault(value) === null, { params: { ...params }, abort: true })
  return pattern === undefined ? schema : schema.meta({ pattern })
}

/** A string of a pattern; `note` says the rule in words. */
export function stringMatching(pattern: RegExp, note: string): StringSchema {
  return stringWithRule((value) => (pattern.test(value) ? null : note), pattern.source)
}

/** The members of an object, each of which may be left out. */
export function optional<S extends z.ZodRawShape>(
  members: S,
): { [N in keyof S]: S[N] extends z.ZodType ? z.ZodExactOptional<S[N]> : never } {
  const entries = Object.entries(members).map(([name, schema]) => [name, z.exactOptional(schema)])
  return Object.fromEntries(entries)
}

/** An object with members of any name. */
export function recordOf<T extends z.ZodType>(value: T): z.ZodType<Record<string, z.output<T>>> {
  return boundedRecord(z.string(), value)
}

/** An object whose names keep a rule, with at most `max` members. */
export function boundedRecord<T extends z.ZodType>(
  name: StringSchema,
  value: T,
  max = Number.POSITIVE_INFINITY,
): z.ZodType<Record<string, z.output<T>>> {
  const schema = z.record(name, value)
  if (max === Number.POSITIVE_INFINITY) return schema
  return schema
    .refine((members) => Object.keys(members).length <= max, ruleOptions('too-many', max))
    .meta({ maxProperties: max })
}

/** How deep a value of any shape may be. Beyond some thousands writing it as JSON would exhaust the stack. */
const DEEPEST = 100
const TOO_DEEP = `must not be nested deeper than ${DEEPEST} levels`

/** An object of any shape that is passed on as it is. */
export function openObject(): z.ZodType<Record<string, unknown>> {
  return limitOpenValue(z.record(z.string(), z.unknown()))
}

/** Most values within one of any shape: a call holds it until its answer has ended. */
const MOST_OPEN_VALUES = 20_000

/** The same schema for a value that may have any shape, but not any depth or size. */
export function limitOpenValue<T extends z.ZodType>(schema: T): T {
  const note = (value: unknown): string => openValueExcess(value) ?? ''
  return schema.refine((value) => note(value) === '', { params: { rule: 'other', note }, abort: true }) as T
}

/** What there is too much of in a value of any shape that is passed on; null for nothing. */
export function openValueExcess(value: unknown): string | null {
  return openExcess(value, { values: MOST_OPEN_VALUES }, DEEPEST)
}

/** What there is too much of in a value of any shape; null for nothing. Walks no further than it has to. */
function openExcess(value: unknown, left: { values: number }, levels: number): string | null {
  if (typeof value !== 'object' || value === null) return null
  if (levels === 0) return TOO_DEEP
  const within = Array.isArray(value) ? value : Object.values(value)
  left.values -= within.length
  if (left.values < 0) return `must not hold more than ${MOST_OPEN_VALUES} values`
  for (let at = 0; at < within.length; at++) {
    const excess = openExcess(within[at], left, levels - 1)
    if (excess !== null) return excess
  }
  return null
}

/** The same schema for values that can be written as JSON again, whatever shape their open members have. */
export function limitDepth<T extends z.ZodType>(schema: T): T {
  return schema.refine((value) => isWithinDepth(value, DEEPEST), noteOptions(TOO_DEEP)) as T
}

function isWithinDepth(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (levels === 0) return false
  if (Array.isArray(value)) return value.every((item) => isWithinDepth(item, levels - 1))
  for (const name in value)
    if (!isWithinDepth((value as Record<string, unknown>)[name], levels - 1)) return false
  return true
}
