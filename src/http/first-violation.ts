/**
 * Reads a big body by a zod schema in one pass that stops at the first violation.
 *
 * zod collects every violation and copies every object. A body of twenty megabytes with a million wrong items
 * would become gigabytes of issues, and a faultless one a second copy of itself. Here the schema is turned, once
 * and when the program starts, into a tree of small functions: they follow the caller's members in their order,
 * return what they were given wherever nothing has to go, and give up at the first broken rule. The schema stays the
 * one source, for types and for the document.
 */
import { z } from 'zod'
import { notedIssue, ValidationIssue, type ValidationRule } from '../base/fault.js'
import { isObject } from '../base/strict-json.js'
import { noteOf, type RuleParams } from './fields.js'
import { onceIfAsked } from './read-once.js'

/**
 * The value itself, a copy without the members that the schema does not name, or the rule it breaks: the place of an
 * issue fills up from the inside while the readers return.
 */
type ValueReader = (value: unknown) => unknown
type Members = Record<string, unknown>
type Schema = z.core.$ZodType
/** Of the members of an object, by name. */
type Readers = ReadonlyMap<string, ValueReader>

interface RuleCheck {
  readonly holds: (value: never) => unknown
  readonly params: RuleParams
}

function violationOf(params: RuleParams, value: unknown): ValidationIssue {
  return new ValidationIssue([], params.rule, params.bound, noteOf(params, value))
}

/** The same issue as it looks from one level further out. */
export function issueAt(key: string | number, { loc, rule, bound, note }: ValidationIssue): ValidationIssue {
  return new ValidationIssue([key, ...loc], rule, bound, note)
}

// ── Single values ───────────────────────────────────────────────────────────

const readString: ValueReader = (value) =>
  typeof value === 'string' ? value : new ValidationIssue([], 'string')
const readBoolean: ValueReader = (value) =>
  typeof value === 'boolean' ? value : new ValidationIssue([], 'boolean')
const readUnknown: ValueReader = (value) => value

function customReader({ holds, params }: RuleCheck): ValueReader {
  return (value) => (holds(value as never) ? value : violationOf(params, value))
}

/** The reader, then each check in turn. Without checks it is the reader itself. */
function withChecks(read: ValueReader, checks: readonly RuleCheck[]): ValueReader {
  if (checks.length === 0) return read
  return (value) => {
    const result = read(value)
    if (result instanceof ValidationIssue) return result
    for (const { holds, params } of checks) if (!holds(result as never)) return violationOf(params, result)
    return result
  }
}

/** One of some values. A caller is told those of the document: there may be spellings we do not advertise. */
function choiceReader(schema: Schema, values: readonly unknown[]): ValueReader {
  const known = new Set(values)
  const documented = z.globalRegistry.get(schema as z.ZodType)?.enum as readonly unknown[] | undefined
  const sentence = choiceSentence((documented ?? values).map(String))
  return (value) => (known.has(value) ? value : notedIssue([], sentence))
}

/** Enough to help, not a page: long lists are the document's business. */
function choiceSentence(names: readonly string[]): string {
  if (names.length > 16) return 'is none of the documented values'
  return names.length === 1 ? `must be ${names[0]}` : `must be one of ${names.join(', ')}`
}

function nullableReader(read: ValueReader): ValueReader {
  return (value) => (value === null ? null : read(value))
}

// ── Lists and maps ──────────────────────────────────────────────────────────

function arrayReader(read: ValueReader): ValueReader {
  return (value) => {
    if (!Array.isArray(value)) return new ValidationIssue([], 'array')
    let out = value
    for (let at = 0; at < value.length; at++) {
      const result = read(value[at])
      if (result === value[at]) continue
      if (result instanceof ValidationIssue) return issueAt(at, result)
      if (out === value) out = value.slice()
      out[at] = result
    }
    return out
  }
}

/** The names in a map are the caller's own words, so a violation names the map and not the member. */
function recordReader(readName: ValueReader, readMember: ValueReader): ValueReader {
  return (value) => {
    if (!isObject(value)) return new ValidationIssue([], 'object')
    for (const name in value) {
      const result = readName(name)
      if (result instanceof ValidationIssue) return recordViolation('a name in it', result)
      const member = readMember(value[name])
      if (member instanceof ValidationIssue) return recordViolation('a value in it', member)
    }
    return value
  }
}

function recordViolation(what: string, { rule, bound, note }: ValidationIssue): ValidationIssue {
  const sentence = note ?? RECORD_SENTENCES[rule]?.(bound ?? 0) ?? 'is not valid'
  return notedIssue([], `${what} ${sentence}`)
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

/** Reads the members in the order of the input; what is missing is told after what is wrong. */
function objectReader(def: z.core.$ZodObjectDef): ValueReader {
  const shape = Object.entries(def.shape)
  const members = new Map(shape.map(([name, schema]) => [name, compileReader(schema)]))
  const required = shape.filter(([, schema]) => schema._zod.optin === undefined).map(([name]) => name)
  const unknown = unknownMembers(def)
  const defaults = shape.flatMap(([name, schema]) => {
    const { def: member } = (schema as z.core.$ZodTypes)._zod
    return member.type === 'default' ? [[name, member.defaultValue] as const] : []
  })
  return (value) => {
    if (!isObject(value)) return new ValidationIssue([], 'object')
    let changes: Members | undefined
    let dropped = false
    for (const name in value) {
      const member = value[name]
      const read = members.get(name)
      if (read === undefined || member === undefined) {
        if (unknown === 'refuse') return notedIssue([], 'has a member that is not allowed')
        dropped ||= unknown === 'drop'
        continue
      }
      const result = read(member)
      if (result === member) continue
      if (result instanceof ValidationIssue) return issueAt(name, result)
      changes ??= {}
      changes[name] = result
    }
    for (const name of required) if (value[name] === undefined) return new ValidationIssue([name], 'missing')
    for (const [name, absent] of defaults) {
      if (value[name] !== undefined) continue
      changes ??= {}
      changes[name] = absent
    }
    if (dropped) return pickKnown(value, members, changes)
    return changes === undefined ? value : { ...value, ...changes }
  }
}

/** What becomes of members that the schema does not name. */
function unknownMembers({ catchall }: z.core.$ZodObjectDef): 'drop' | 'keep' | 'refuse' {
  if (catchall === undefined) return 'drop'
  return catchall._zod.def.type === 'never' ? 'refuse' : 'keep'
}

/** A copy with the members of the schema and no others. */
function pickKnown(value: Members, members: Readers, changes: Members = {}): Members {
  const copy: Members = {}
  for (const name in value) if (members.has(name) && value[name] !== undefined) copy[name] = value[name]
  return Object.assign(copy, changes)
}

// ── Choices between schemas ─────────────────────────────────────────────────

/** The member that tells the kind is read first, so that a violation is always one of the kind that was meant. */
function variantReader({ discriminator, options }: z.core.$ZodDiscriminatedUnionDef): ValueReader {
  const variants = new Map<unknown, ValueReader>()
  let otherwise: ValueReader | undefined
  for (const option of options as readonly Schema[]) {
    const read = compileReader(option)
    const values = option._zod.propValues?.[discriminator]
    // An option whose discriminator may be any text takes the kinds that no other option names.
    if (values === undefined) otherwise = read
    else for (const value of values) variants.set(value, read)
  }
  const sentence = choiceSentence([...variants.keys()].map(String))
  return (value) => {
    if (!isObject(value)) return new ValidationIssue([], 'object')
    const kind = value[discriminator]
    const read = variants.get(kind)
    if (read !== undefined) return read(value)
    if (kind === undefined) return new ValidationIssue([discriminator], 'missing')
    if (otherwise !== undefined) return otherwise(value)
    return notedIssue([discriminator], sentence)
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
function alternativeReader(options: readonly Schema[]): ValueReader {
  const byType = new Map<string, ValueReader>()
  for (const option of options) {
    const type = jsonTypeOf(option)
    if (byType.has(type)) throw new TypeError(`two alternatives of a union are of type ${type}`)
    byType.set(type, compileReader(option))
  }
  const sentence = `must be ${[...byType.keys()].map((type) => TYPE_WORDS[type] ?? type).join(' or ')}`
  return (value) => {
    const type = Array.isArray(value) ? 'array' : typeof value
    const read = value === null ? undefined : byType.get(type)
    return read === undefined ? notedIssue([], sentence) : read(value)
  }
}

// ── From a schema to its reader ─────────────────────────────────────────────

interface FastReader {
  readonly read: ValueReader
  /** Whether a violation is told as it is; otherwise zod collects all of them. */
  readonly tellsFirst: boolean
}

/** Readers of schemas that are read fast: a table beside zod, which offers no place for them in a schema. */
const fastReaders = new WeakMap<Schema, FastReader>()

/**
 * The same schema, for whose bodies `readBySchema` from now on tells only the first violation, in the order of the
 * caller's members, and hands on what it was given instead of a copy. Takes the kinds of schema there is a reader for;
 * any other is a defect of ours and throws here, at the start.
 */
export function failFast<T extends z.ZodType>(schema: T): T {
  fastReaders.set(schema, { read: compileReader(schema), tellsFirst: true })
  return schema
}

/** As `failFast` for bodies that are valid; of any other all violations are told. */
export function acceptFast<T extends z.ZodType>(schema: T): T {
  fastReaders.set(schema, { read: compileReader(schema), tellsFirst: false })
  return schema
}

/** How a value of this schema is read fast; undefined where it is not. */
export function fastReaderOf(schema: z.ZodType): FastReader | undefined {
  return fastReaders.get(schema)
}

function compileReader(schema: Schema): ValueReader {
  const { def } = (schema as z.core.$ZodTypes)._zod
  const checks = (def.checks ?? []).map((check) => compileCheck(check, def.type))
  return onceIfAsked(schema, withChecks(compileType(schema), checks))
}

function compileType(schema: Schema): ValueReader {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'string':
      return readString
    case 'boolean':
      return readBoolean
    case 'unknown':
      return readUnknown
    case 'custom':
      return customReader(compileCustomCheck(def))
    case 'literal':
      return choiceReader(schema, def.values)
    case 'enum':
      return choiceReader(schema, Object.values(def.entries))
    case 'nullable':
      return nullableReader(compileReader(def.innerType))
    case 'optional':
    // What stands for an absent member is the object's business.
    case 'default':
      return compileReader(def.innerType)
    case 'array':
      return arrayReader(compileReader(def.element))
    case 'record':
      return recordReader(compileReader(def.keyType), compileReader(def.valueType))
    case 'object':
      return objectReader(def)
    case 'union':
      return 'discriminator' in def
        ? variantReader(def as z.core.$ZodDiscriminatedUnionDef)
        : alternativeReader(def.options)
    default:
      throw new TypeError(`no reader for a schema of type ${def.type}`)
  }
}

function compileCheck(check: z.core.$ZodCheck<never>, type: string): RuleCheck {
  const def = check._zod.def as z.core.$ZodCheckDef & { readonly minimum?: number; readonly maximum?: number }
  if (def.check === 'custom' && 'fn' in def) return compileCustomCheck(def)
  if (type === 'array' && def.check === 'min_length') {
    const bound = def.minimum!
    return { holds: (value: unknown[]) => value.length >= bound, params: { rule: 'too-few', bound } }
  }
  if (type === 'array' && def.check === 'max_length') {
    const bound = def.maximum!
    return { holds: (value: unknown[]) => value.length <= bound, params: { rule: 'too-many', bound } }
  }
  throw new TypeError(`no reader for a check of kind ${def.check} on a schema of type ${type}`)
}

function compileCustomCheck(def: object): RuleCheck {
  const { fn, params } = def as { readonly fn: RuleCheck['holds']; readonly params?: RuleParams }
  return { holds: fn, params: params ?? { rule: 'other' } }
}

const JSON_TYPES: Readonly<Record<string, string>> = {
  string: 'string',
  enum: 'string',
  boolean: 'boolean',
  array: 'array',
  object: 'object',
  record: 'object',
}

/** The JSON type a schema accepts; our own number fields say theirs to the document. */
function jsonTypeOf(schema: Schema): string {
  const { type } = (schema as z.core.$ZodTypes)._zod.def
  const said = z.globalRegistry.get(schema as z.ZodType)?.type
  const known = JSON_TYPES[type] ?? (said === 'integer' ? 'number' : said)
  if (typeof known !== 'string') throw new TypeError(`a union cannot tell a schema of type ${type}`)
  return known
}
