/**
 * Small functions that read one kind of value each and give up at the first rule that is broken. `first-violation.ts`
 * puts them together after a schema.
 */
import type { ValidationRule } from '../base/fault.js'
import { isObject } from '../base/strict-json.js'
import { noteOf, type RuleParams } from './fields.js'

/** The rule a value breaks, and where: `path` fills up from the inside while the readers return. */
export class RuleViolation {
  readonly path: (string | number)[] = []

  constructor(
    readonly rule: ValidationRule,
    readonly bound?: number,
    readonly note?: string,
  ) {}

  prefixPath(key: string | number): this {
    this.path.push(key)
    return this
  }
}

/** The value itself, a copy without the members that the schema does not name, or a violation. */
export type ValueReader = (value: unknown) => unknown
type Members = Record<string, unknown>
/** Of the members of an object, by name. */
type Readers = ReadonlyMap<string, ValueReader>

export interface RuleCheck {
  readonly holds: (value: never) => unknown
  readonly params: RuleParams
}

function violationOf(params: RuleParams, value: unknown): RuleViolation {
  return new RuleViolation(params.rule, params.bound, noteOf(params, value))
}

// ── Single values ───────────────────────────────────────────────────────────

export const readString: ValueReader = (value) =>
  typeof value === 'string' ? value : new RuleViolation('string')
export const readBoolean: ValueReader = (value) =>
  typeof value === 'boolean' ? value : new RuleViolation('boolean')
export const readUnknown: ValueReader = (value) => value

export function customReader({ holds, params }: RuleCheck): ValueReader {
  return (value) => (holds(value as never) ? value : violationOf(params, value))
}

/** The reader, then each check in turn. Without checks it is the reader itself. */
export function withChecks(read: ValueReader, checks: readonly RuleCheck[]): ValueReader {
  if (checks.length === 0) return read
  return (value) => {
    const result = read(value)
    return result instanceof RuleViolation ? result : (firstBroken(checks, result) ?? result)
  }
}

function firstBroken(checks: readonly RuleCheck[], value: unknown): RuleViolation | undefined {
  for (const { holds, params } of checks) if (!holds(value as never)) return violationOf(params, value)
  return undefined
}

/** One of some values. A caller is told those of the document: there may be spellings we do not advertise. */
export function choiceReader(values: readonly unknown[], documented: readonly unknown[]): ValueReader {
  const known = new Set(values)
  const sentence = choiceSentence(documented.map(String))
  return (value) => (known.has(value) ? value : new RuleViolation('other', undefined, sentence))
}

/** Enough to help, not a page: long lists are the document's business. */
function choiceSentence(names: readonly string[]): string {
  if (names.length > 16) return 'is none of the documented values'
  return names.length === 1 ? `must be ${names[0]}` : `must be one of ${names.join(', ')}`
}

export function nullableReader(read: ValueReader): ValueReader {
  return (value) => (value === null ? null : read(value))
}

// ── Lists and maps ──────────────────────────────────────────────────────────

export function arrayReader(read: ValueReader): ValueReader {
  return (value) => {
    if (!Array.isArray(value)) return new RuleViolation('array')
    let out = value
    for (let at = 0; at < value.length; at++) {
      const result = read(value[at])
      if (result === value[at]) continue
      if (result instanceof RuleViolation) return result.prefixPath(at)
      if (out === value) out = value.slice()
      out[at] = result
    }
    return out
  }
}

/** The names in a map are the caller's own words, so a violation names the map and not the member. */
export function recordReader(readName: ValueReader, readMember: ValueReader): ValueReader {
  return (value) => {
    if (!isObject(value)) return new RuleViolation('object')
    for (const name in value) {
      const result = readName(name)
      if (result instanceof RuleViolation) return recordViolation('a name in it', result)
      const member = readMember(value[name])
      if (member instanceof RuleViolation) return recordViolation('a value in it', member)
    }
    return value
  }
}

function recordViolation(what: string, { rule, bound, note }: RuleViolation): RuleViolation {
  return new RuleViolation(
    'other',
    undefined,
    `${what} ${note ?? RECORD_SENTENCES[rule]?.(bound ?? 0) ?? 'is not valid'}`,
  )
}

const RECORD_SENTENCES: { readonly [R in ValidationRule]?: (bound: number) => string } = {
  string: () => 'is not a string',
  number: () => 'is not a number',
  'string-too-long': (n) => `has more than ${n} characters`,
  'string-too-short': (n) => `has fewer than ${n} characters`,
  'at-least': (n) => `is less than ${n}`,
  'at-most': (n) => `is more than ${n}`,
}

// ── Objects ─────────────────────────────────────────────────────────────────

/** What becomes of members that the schema does not name. */
export type UnknownMembers = 'drop' | 'keep' | 'refuse'

/** Reads the members in the order of the input; what is missing is told after what is wrong. */
export function objectReader(
  members: Readers,
  required: readonly string[],
  rest: UnknownMembers,
): ValueReader {
  return (value) => {
    if (!isObject(value)) return new RuleViolation('object')
    let changes: Members | undefined
    let dropped = false
    for (const name in value) {
      const member = value[name]
      const read = members.get(name)
      if (read === undefined || member === undefined) {
        if (rest === 'refuse')
          return new RuleViolation('other', undefined, 'has a member that is not allowed')
        dropped ||= rest === 'drop'
        continue
      }
      const result = read(member)
      if (result === member) continue
      if (result instanceof RuleViolation) return result.prefixPath(name)
      changes ??= {}
      changes[name] = result
    }
    for (const name of required)
      if (value[name] === undefined) return new RuleViolation('missing').prefixPath(name)
    if (dropped) return pickKnown(value, members, changes)
    return changes === undefined ? value : { ...value, ...changes }
  }
}

/** A copy with the members of the schema and no others. */
function pickKnown(value: Members, members: Readers, changes: Members = {}): Members {
  const copy: Members = {}
  for (const name in value) {
    if (members.has(name) && value[name] !== undefined) copy[name] = changes[name] ?? value[name]
  }
  return copy
}

// ── Choices between schemas ─────────────────────────────────────────────────

/** The member that tells the kind is read first, so that a violation is always one of the kind that was meant. */
export function variantReader(
  discriminator: string,
  variants: ReadonlyMap<unknown, ValueReader>,
  otherwise?: ValueReader,
): ValueReader {
  const sentence = choiceSentence([...variants.keys()].map(String))
  return (value) => {
    if (!isObject(value)) return new RuleViolation('object')
    const kind = value[discriminator]
    const read = variants.get(kind)
    if (read !== undefined) return read(value)
    if (kind === undefined) return new RuleViolation('missing').prefixPath(discriminator)
    if (otherwise !== undefined) return otherwise(value)
    return new RuleViolation('other', undefined, sentence).prefixPath(discriminator)
  }
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'a boolean',
  array: 'an array',
  object: 'an object',
}

/** Alternatives of different JSON types: the type of the input tells which one was meant. */
export function alternativeReader(byType: ReadonlyMap<string, ValueReader>): ValueReader {
  const sentence = `must be ${[...byType.keys()].map((type) => TYPE_WORDS[type] ?? type).join(' or ')}`
  return (value) => {
    const type = Array.isArray(value) ? 'array' : typeof value
    const read = value === null ? undefined : byType.get(type)
    return read === undefined ? new RuleViolation('other', undefined, sentence) : read(value)
  }
}
