/**
 * Small functions that read one kind of value each and give up at the first rule that is broken. `first-violation.ts`
 * puts them together after a schema.
 */
import type { Rule } from '../base/fault.js'
import { noteOf, type RuleParams } from './fields.js'

/** The rule a value breaks, and where: `path` fills up from the inside while the readers return. */
export class Violation {
  readonly path: (string | number)[] = []

  constructor(
    readonly rule: Rule,
    readonly bound?: number,
    readonly note?: string,
  ) {}

  under(key: string | number): this {
    this.path.push(key)
    return this
  }
}

/** The value itself, a copy without the members that nobody asked for, or a violation. */
export type Reader = (value: unknown) => unknown
type Members = Record<string, unknown>

export interface Check {
  readonly holds: (value: never) => unknown
  readonly params: RuleParams
}

function broken(params: RuleParams, value: unknown): Violation {
  return new Violation(params.rule, params.bound, noteOf(params, value))
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

// ── Single values ───────────────────────────────────────────────────────────

export const readString: Reader = (value) => (typeof value === 'string' ? value : new Violation('string'))
export const readBoolean: Reader = (value) => (typeof value === 'boolean' ? value : new Violation('boolean'))
export const readAnything: Reader = (value) => value

export function passing({ holds, params }: Check): Reader {
  return (value) => (holds(value as never) ? value : broken(params, value))
}

/** The reader, then each check in turn. Without checks it is the reader itself. */
export function checked(read: Reader, checks: readonly Check[]): Reader {
  if (checks.length === 0) return read
  return (value) => {
    const result = read(value)
    return result instanceof Violation ? result : (firstBroken(checks, result) ?? result)
  }
}

function firstBroken(checks: readonly Check[], value: unknown): Violation | undefined {
  for (const { holds, params } of checks) if (!holds(value as never)) return broken(params, value)
  return undefined
}

/** One of some values. A caller is told those of the document: there may be spellings we do not advertise. */
export function choice(values: readonly unknown[], documented: readonly unknown[]): Reader {
  const known = new Set(values)
  const sentence = oneOf(documented.map(String))
  return (value) => (known.has(value) ? value : new Violation('other', undefined, sentence))
}

/** Enough to help, not a page: long lists are the document's business. */
function oneOf(names: readonly string[]): string {
  if (names.length > 16) return 'is none of the documented values'
  return names.length === 1 ? `must be ${names[0]}` : `must be one of ${names.join(', ')}`
}

export function orNull(read: Reader): Reader {
  return (value) => (value === null ? null : read(value))
}

// ── Lists and maps ──────────────────────────────────────────────────────────

export function list(read: Reader): Reader {
  return (value) => {
    if (!Array.isArray(value)) return new Violation('array')
    let out = value
    for (let at = 0; at < value.length; at++) {
      const result = read(value[at])
      if (result === value[at]) continue
      if (result instanceof Violation) return result.under(at)
      if (out === value) out = value.slice()
      out[at] = result
    }
    return out
  }
}

/** The names in a map are the caller's own words, so a violation names the map and not the member. */
export function dictionary(readName: Reader, readMember: Reader): Reader {
  return (value) => {
    if (!isObject(value)) return new Violation('object')
    for (const name in value) {
      const result = readName(name)
      if (result instanceof Violation) return inMap('a name in it', result)
      const member = readMember(value[name])
      if (member instanceof Violation) return inMap('a value in it', member)
    }
    return value
  }
}

function inMap(what: string, { rule, bound, note }: Violation): Violation {
  return new Violation(
    'other',
    undefined,
    `${what} ${note ?? MAP_WORDS[rule]?.(bound ?? 0) ?? 'is not valid'}`,
  )
}

const MAP_WORDS: { readonly [R in Rule]?: (bound: number) => string } = {
  string: () => 'is not a string',
  number: () => 'is not a number',
  'string-too-long': (n) => `has more than ${n} characters`,
  'string-too-short': (n) => `has fewer than ${n} characters`,
  'at-least': (n) => `is less than ${n}`,
  'at-most': (n) => `is more than ${n}`,
}

// ── Objects ─────────────────────────────────────────────────────────────────

/** What becomes of members that the schema does not name. */
export type Rest = 'drop' | 'keep' | 'refuse'

/** Reads the members in the order of the input; what is missing is told after what is wrong. */
export function object(
  members: ReadonlyMap<string, Reader>,
  required: readonly string[],
  rest: Rest,
): Reader {
  return (value) => {
    if (!isObject(value)) return new Violation('object')
    let changes: Members | undefined
    let dropped = false
    for (const name in value) {
      const member = value[name]
      const read = members.get(name)
      if (read === undefined || member === undefined) {
        if (rest === 'refuse') return new Violation('other', undefined, 'has a member that is not allowed')
        dropped ||= rest === 'drop'
        continue
      }
      const result = read(member)
      if (result === member) continue
      if (result instanceof Violation) return result.under(name)
      changes ??= {}
      changes[name] = result
    }
    for (const name of required) if (value[name] === undefined) return new Violation('missing').under(name)
    if (dropped) return known(value, members, changes)
    return changes === undefined ? value : { ...value, ...changes }
  }
}

/** A copy with the members of the schema and no others. */
function known(value: Members, members: ReadonlyMap<string, Reader>, changes: Members = {}): Members {
  const copy: Members = {}
  for (const name in value) {
    if (members.has(name) && value[name] !== undefined) copy[name] = changes[name] ?? value[name]
  }
  return copy
}

// ── Choices between schemas ─────────────────────────────────────────────────

/** The member that tells the kind is read first, so that a violation is always one of the kind that was meant. */
export function variant(
  discriminator: string,
  variants: ReadonlyMap<unknown, Reader>,
  otherwise?: Reader,
): Reader {
  const sentence = oneOf([...variants.keys()].map(String))
  return (value) => {
    if (!isObject(value)) return new Violation('object')
    const kind = value[discriminator]
    const read = variants.get(kind)
    if (read !== undefined) return read(value)
    if (kind === undefined) return new Violation('missing').under(discriminator)
    if (otherwise !== undefined) return otherwise(value)
    return new Violation('other', undefined, sentence).under(discriminator)
  }
}

const WORDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'a boolean',
  array: 'an array',
  object: 'an object',
}

/** Alternatives of different JSON types: the type of the input tells which one was meant. */
export function alternative(byType: ReadonlyMap<string, Reader>): Reader {
  const sentence = `must be ${[...byType.keys()].map((type) => WORDS[type] ?? type).join(' or ')}`
  return (value) => {
    const type = Array.isArray(value) ? 'array' : typeof value
    const read = value === null ? undefined : byType.get(type)
    return read === undefined ? new Violation('other', undefined, sentence) : read(value)
  }
}
