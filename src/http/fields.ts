/**
 * Building blocks for body schemas: zod schemas whose violations carry the rule they break, so that every
 * dialect can name it, and whose JSON Schema says the same.
 */
import { z } from 'zod'
import type { Rule } from '../base/fault.js'
import { codePoints } from './params.js'

/** What our own checks attach to a zod issue. */
export interface RuleParams {
  readonly rule: Rule
  readonly bound?: number
}

function rule(name: Rule, bound?: number): { params: RuleParams; abort: true } {
  return { params: bound === undefined ? { rule: name } : { rule: name, bound }, abort: true }
}

/**
 * A string of `min` to `max` Unicode code points. Lone surrogates are refused: they have no UTF-8 form, so they
 * could be neither stored nor hashed as they are.
 */
export function string(min: number, max: number): z.ZodType<string, string> {
  return z
    .string()
    .refine((value) => value.isWellFormed(), rule('string'))
    .refine((value) => codePoints(value) >= min, rule('string-too-short', min))
    .refine((value) => codePoints(value) <= max, rule('string-too-long', max))
    .meta({ ...(min > 0 && { minLength: min }), maxLength: max })
}

/** A number between two inclusive bounds. JSON's 1e400 arrives as Infinity and is out of every range. */
export function number(min: number, max: number): z.ZodType<number, number> {
  return between(jsonNumber('number'), min, max).meta({ type: 'number', minimum: min, maximum: max })
}

/** An integer between two inclusive bounds; `1.0` is one. */
export function integer(min: number, max: number): z.ZodType<number, number> {
  const whole = jsonNumber('integer').refine(
    (value) => Number.isInteger(value) || !Number.isFinite(value),
    rule('integer-fraction'),
  )
  return between(whole, min, max).meta({ type: 'integer', minimum: min, maximum: max })
}

/** zod's own number refuses Infinity as "no number"; JSON can write it, and then it is a number out of range. */
function jsonNumber(name: Rule): z.ZodType<number, number> {
  return z.custom<number>((value) => typeof value === 'number', rule(name))
}

function between(schema: z.ZodType<number, number>, min: number, max: number): z.ZodType<number, number> {
  return schema
    .refine((value) => value >= min, rule('at-least', min))
    .refine((value) => value <= max, rule('at-most', max))
}
