/**
 * Text schemas for path and query parameters. They are strict where number parsing usually is not: no empty
 * text, spaces, plus signs, exponents or hex (contract/practice 1), and they document themselves.
 */
import { Issue } from '../base/fault.js'
import type { JsonSchema } from './json-schema.js'

/** What a parameter's raw text can be: absent, not decodable, or text. */
export type RawText = string | undefined | typeof UNDECODABLE

/** Stands for percent-encoded bytes that are no UTF-8. */
export const UNDECODABLE = Symbol('undecodable')

export type Loc = readonly (string | number)[]

export interface TextField<T> {
  readonly schema: JsonSchema
  readonly required: boolean
  /** The value, or the one rule it breaks. */
  read(raw: RawText, loc: Loc): T | Issue
}

/** An object of text fields and the type of what they read. */
export type TextFields = Readonly<Record<string, TextField<unknown>>>
export type Read<F> = { readonly [K in keyof F]: F[K] extends TextField<infer T> ? T : never }

interface IntTextOptions {
  readonly min?: number
  readonly max?: number
  /** Taken when the parameter is absent; without one it is required. */
  readonly default?: number
  readonly description?: string
}

const INTEGER = /^-?[0-9]+$/

/** A decimal integer. Numbers beyond 2^53 lose digits, so they may be compared but identify nothing. */
export function intText(options: IntTextOptions = {}): TextField<number> {
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
      if (raw === undefined) return fallback ?? new Issue(loc, 'missing')
      if (raw === UNDECODABLE || !INTEGER.test(raw)) return new Issue(loc, 'integer-text')
      const value = Number(raw)
      if (min !== undefined && value < min) return new Issue(loc, 'at-least', min)
      if (max !== undefined && value > max) return new Issue(loc, 'at-most', max)
      return value
    },
  }
}

interface TextOptions {
  /** Bounds in Unicode code points. */
  readonly min: number
  readonly max: number
  readonly description?: string
}

/** Required text. */
export function text(options: TextOptions): TextField<string> {
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
      if (raw === undefined) return new Issue(loc, 'missing')
      if (raw === UNDECODABLE) return new Issue(loc, 'string')
      const length = codePoints(raw)
      if (length < min) return new Issue(loc, 'string-too-short', min)
      if (length > max) return new Issue(loc, 'string-too-long', max)
      return raw
    },
  }
}

/** Length in Unicode code points: a surrogate pair counts once. */
export function codePoints(value: string): number {
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

/** Finds the named parameters in a query. The last of several wins; names that nobody asked for are skipped. */
export function readQuery(query: string, names: readonly string[]): Record<string, RawText> {
  const found: Record<string, RawText> = Object.create(null)
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decodeText(equals < 0 ? pair : pair.slice(0, equals))
    if (name === UNDECODABLE || !names.includes(name)) continue
    found[name] = equals < 0 ? '' : decodeText(pair.slice(equals + 1))
  }
  return found
}

/** Form decoding: plus is a space, percent-encoding is UTF-8. A percent sign that encodes nothing is itself. */
function decodeText(raw: string): string | typeof UNDECODABLE {
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
