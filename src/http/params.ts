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

/** A field that reads as `absent` where there is no text; it is required where that is undefined. */
export function textField<T>(
  schema: JsonSchema,
  read: (text: Exclude<RawParam, undefined>, loc: IssueLocation) => T | ValidationIssue,
  absent?: T,
): TextField<T> {
  return {
    schema,
    required: absent === undefined,
    read: (raw, loc) => {
      if (raw !== undefined) return read(raw, loc)
      return absent === undefined ? new ValidationIssue(loc, 'missing') : absent
    },
  }
}

/** Members of its schema. */
interface IntegerParamOptions {
  readonly minimum?: number
  readonly maximum?: number
  /** Taken when the parameter is absent; without one it is required. */
  readonly default?: number
  readonly description?: string
}

const ZERO = 0x30
const NINE = 0x39

/** Digits, perhaps behind a minus sign. Half the time of an expression, in every read of a resource. */
function isInteger(text: string): boolean {
  const first = text.startsWith('-') ? 1 : 0
  for (let at = first; at < text.length; at++) {
    const digit = text.charCodeAt(at)
    if (digit < ZERO || digit > NINE) return false
  }
  return text.length > first
}

/** A decimal integer. Numbers beyond 2^53 lose digits, so they may be compared but identify nothing. */
export function integerParam(options: IntegerParamOptions = {}): TextField<number> {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = options
  const read = (text: string | typeof UNDECODABLE, loc: IssueLocation): number | ValidationIssue => {
    if (typeof text !== 'string' || !isInteger(text)) return new ValidationIssue(loc, 'integer-text')
    const value = Number(text)
    if (value < minimum) return new ValidationIssue(loc, 'at-least', minimum)
    if (value > maximum) return new ValidationIssue(loc, 'at-most', maximum)
    return value
  }
  return textField({ type: 'integer', ...options }, read, options.default)
}

/** Members of its schema; the bounds are in Unicode code points. */
interface TextParamOptions {
  readonly minLength: number
  readonly maxLength: number
  readonly description?: string
}

/** Required text. */
export function textParam(options: TextParamOptions): TextField<string> {
  const { minLength, maxLength } = options
  return textField({ type: 'string', ...options }, (text, loc) => {
    if (text === UNDECODABLE) return new ValidationIssue(loc, 'string')
    const length = countCodePoints(text)
    if (length < minLength) return new ValidationIssue(loc, 'string-too-short', minLength)
    if (length > maxLength) return new ValidationIssue(loc, 'string-too-long', maxLength)
    return text
  })
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
  return textField<T | F>(
    schema,
    (text, loc) => (text === UNDECODABLE ? null : parse(text)) ?? notedIssue(loc, note),
    fallback,
  )
}

/** A part of a path whose handler tells what it stands for. */
export const anyText: TextField<string> = parsedParam(
  { type: 'string' },
  '',
  'is a part of a path',
  (text) => text,
)

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
  return textField(
    { type: 'boolean', ...(!required && { default: false }), description },
    (text, loc) =>
      text === 'true' || text === 'false' ? text === 'true' : new ValidationIssue(loc, 'boolean'),
    required ? undefined : false,
  )
}

/** Text that may be absent; null then. */
export function optionalTextParam(description: string): TextField<string | null> {
  return textField<string | null>(
    { type: 'string', description },
    (text, loc) => (text === UNDECODABLE ? new ValidationIssue(loc, 'string') : text),
    null,
  )
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
