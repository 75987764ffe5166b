/**
 * Text schemas for path and query parameters. They are strict where number parsing usually is not: no empty
 * text, spaces, plus signs, exponents or hex (contract/practice 1), and they document themselves.
 */
import { notedIssue, ValidationIssue } from '../base/fault.js'
import type { JsonSchema } from './json-schema.js'

/** What a parameter's raw text can be: absent, not decodable, or text. */
export type RawParam = string | undefined | typeof UNDECODABLE

/** Stands for percent-encoded bytes that are no UTF-8. */
export const UNDECODABLE = Symbol('undecodable')

export type IssueLocation = readonly (string | number)[]

export interface TextField<T> {
  readonly schema: JsonSchema
  readonly required: boolean
  /** The value, or the one rule it breaks. */
  read(raw: RawParam, loc: IssueLocation): T | ValidationIssue
}

/** An object of text fields and the type of what they read. */
export type TextFields = Readonly<Record<string, TextField<unknown>>>
export type FieldValues<F> = { readonly [K in keyof F]: F[K] extends TextField<infer T> ? T : never }

interface IntegerParamOptions {
  readonly min?: number
  readonly max?: number
  /** Taken when the parameter is absent; without one it is required. */
  readonly default?: number
  readonly description?: string
}

const INTEGER = /^-?[0-9]+$/

/** A decimal integer. Numbers beyond 2^53 lose digits, so they may be compared but identify nothing. */
export function integerParam(options: IntegerParamOptions = {}): TextField<number> {
  const { min, max, default: fallback, description } = options
  return {
    required: fallback === undefined,
    schema: {
      type: 'integer',
      ...(min !== undefined && { minimum: min }),
      ...(max !== undefined && { maximum: max }),
      ...(fallback !== undefined && { default: fallback }),
      ...(description !== undefined && { description }),
    },
    read: (raw, loc) => {
      if (raw === undefined) return fallback ?? new ValidationIssue(loc, 'missing')
      if (raw === UNDECODABLE || !INTEGER.test(raw)) return new ValidationIssue(loc, 'integer-text')
      const value = Number(raw)
      if (min !== undefined && value < min) return new ValidationIssue(loc, 'at-least', min)
      if (max !== undefined && value > max) return new ValidationIssue(loc, 'at-most', max)
      return value
    },
  }
}

interface TextParamOptions {
  /** Bounds in Unicode code points. */
  readonly min: number
  readonly max: number
  readonly description?: string
}

/** Required text. */
export function textParam(options: TextParamOptions): TextField<string> {
  const { min, max, description } = options
  return {
    required: true,
    schema: {
      type: 'string',
      minLength: min,
      maxLength: max,
      ...(description !== undefined && { description }),
    },
    read: (raw, loc) => {
      if (raw === undefined) return new ValidationIssue(loc, 'missing')
      if (raw === UNDECODABLE) return new ValidationIssue(loc, 'string')
      const length = countCodePoints(raw)
      if (length < min) return new ValidationIssue(loc, 'string-too-short', min)
      if (length > max) return new ValidationIssue(loc, 'string-too-long', max)
      return raw
    },
  }
}

/**
 * Text that names a resource. Any text is accepted: one that cannot be an id names nothing, and is not found
 * rather than invalid (contract/decisions 32). Text that is no UTF-8 reads as `''`.
 */
export function idParam(description: string): TextField<string> {
  return {
    required: true,
    schema: { type: 'string', description },
    read: (raw) => (raw === undefined || raw === UNDECODABLE ? '' : raw),
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** What `parse` makes of text that may be absent, `fallback` then; null of it breaks the rule that `note` tells. */
export function parsedParam<T, F>(
  schema: JsonSchema,
  fallback: F,
  note: string,
  parse: (text: string) => T | null,
): TextField<T | F> {
  return {
    required: false,
    schema,
    read: (raw, loc) => {
      if (raw === undefined) return fallback
      return (raw === UNDECODABLE ? null : parse(raw)) ?? notedIssue(loc, note)
    },
  }
}

/** A UUID that may be absent, in lower case. */
export function optionalUuidParam(description: string): TextField<string | null> {
  const schema = { type: 'string', format: 'uuid', description }
  return parsedParam(schema, null, 'must be a UUID', (text) => (UUID.test(text) ? text.toLowerCase() : null))
}

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** One of a few words; `fallback` when absent. */
export function choiceParam<T extends string, F>(
  words: readonly T[],
  fallback: F,
  description: string,
): TextField<T | F> {
  const schema = { type: 'string', enum: words, description }
  const note = `must be one of ${words.join(', ')}`
  return parsedParam(schema, fallback, note, (text) => words.find((each) => each === text) ?? null)
}

/** `true` or `false`. Absent it is false, unless it is required. */
export function flagParam(description: string, required = false): TextField<boolean> {
  return {
    required,
    schema: { type: 'boolean', ...(!required && { default: false }), description },
    read: (raw, loc) => {
      if (raw === undefined) return required ? new ValidationIssue(loc, 'missing') : false
      return raw === 'true' || raw === 'false' ? raw === 'true' : new ValidationIssue(loc, 'boolean')
    },
  }
}

/** Text that may be absent; null then. */
export function optionalTextParam(description: string): TextField<string | null> {
  return {
    required: false,
    schema: { type: 'string', description },
    read: (raw, loc) => {
      if (raw === undefined) return null
      return raw === UNDECODABLE ? new ValidationIssue(loc, 'string') : raw
    },
  }
}

/** Length in Unicode code points: a surrogate pair counts once. */
export function countCodePoints(value: string): number {
  let length = value.length
  for (let i = 0; i < value.length; i++) {
    const unit = value.charCodeAt(i)
    if (unit < 0xd800 || unit > 0xdbff) continue
    const next = value.charCodeAt(i + 1)
    if (next >= 0xdc00 && next <= 0xdfff) {
      length--
      i++
    }
  }
  return length
}

/** Finds the named parameters in a query. The last of several wins; other names are skipped. */
export function readQuery(query: string, names: readonly string[]): Record<string, RawParam> {
  const found: Record<string, RawParam> = Object.create(null)
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decodeQueryText(equals < 0 ? pair : pair.slice(0, equals))
    if (name === UNDECODABLE || !names.includes(name)) continue
    found[name] = equals < 0 ? '' : decodeQueryText(pair.slice(equals + 1))
  }
  return found
}

/** Form decoding: plus is a space, percent-encoding is UTF-8. A percent sign that encodes nothing is itself. */
function decodeQueryText(raw: string): string | typeof UNDECODABLE {
  // What stood there as raw bytes and was no UTF-8 has become replacement characters on the way here.
  if (raw.includes('\ufffd')) return UNDECODABLE
  const spaced = raw.includes('+') ? raw.replaceAll('+', ' ') : raw
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced.replace(/%(?![0-9a-fA-F]{2})/g, '%25'))
  } catch {
    return UNDECODABLE
  }
}
