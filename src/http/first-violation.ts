/**
 * Reads a big body by a zod schema in one pass that stops at the first violation.
 *
 * zod collects every violation and copies every object. A body of twenty megabytes with a million wrong items
 * would become gigabytes of issues, and a faultless one a second copy of itself. Here the schema is turned, once
 * and when the program starts, into a tree of small functions (readers.ts): they follow the caller's members in
 * their order, return what they were given wherever nothing has to go, and give up at the first broken rule. The
 * schema stays the one source, for types and for the document.
 */
import { z } from 'zod'
import type { RuleParams } from './fields.js'
import type { RuleCheck, UnknownMembers, ValueReader } from './readers.js'
import * as readers from './readers.js'

type Schema = z.core.$ZodType

/** Readers of the schemas that fail fast: a table beside zod, which offers no place for them in a schema. */
const fastReaders = new WeakMap<Schema, ValueReader>()

/**
 * The same schema, for whose bodies `readBySchema` from now on tells only the first violation, in the order of the
 * caller's members, and hands on what it was given instead of a copy. Takes the kinds of schema there is a reader for;
 * any other is a defect of ours and throws here, at the start.
 */
export function failFast<T extends z.ZodType>(schema: T): T {
  fastReaders.set(schema, compileReader(schema))
  return schema
}

/** Reads a value by a schema that fails fast; undefined for any other schema. */
export function fastReaderOf(schema: z.ZodType): ValueReader | undefined {
  return fastReaders.get(schema)
}

function compileReader(schema: Schema): ValueReader {
  const { def } = (schema as z.core.$ZodTypes)._zod
  return readers.withChecks(
    compileType(schema),
    (def.checks ?? []).map((check) => compileCheck(check, def.type)),
  )
}

function compileType(schema: Schema): ValueReader {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'string':
      return readers.readString
    case 'boolean':
      return readers.readBoolean
    case 'unknown':
      return readers.readUnknown
    case 'custom':
      return readers.customReader(compileCustomCheck(def))
    case 'literal':
      return readers.choiceReader(def.values, documentedValues(schema) ?? def.values)
    case 'enum':
      return readers.choiceReader(
        Object.values(def.entries),
        documentedValues(schema) ?? Object.values(def.entries),
      )
    case 'nullable':
      return readers.nullableReader(compileReader(def.innerType))
    case 'optional':
      return compileReader(def.innerType)
    case 'array':
      return readers.arrayReader(compileReader(def.element))
    case 'record':
      return readers.recordReader(compileReader(def.keyType), compileReader(def.valueType))
    case 'object':
      return compileObject(def)
    case 'union':
      return 'discriminator' in def
        ? compileVariants(def as z.core.$ZodDiscriminatedUnionDef)
        : compileAlternatives(def.options)
    default:
      throw new TypeError(`no reader for a schema of type ${def.type}`)
  }
}

function documentedValues(schema: Schema): readonly unknown[] | undefined {
  return z.globalRegistry.get(schema as z.ZodType)?.enum as readonly unknown[] | undefined
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

function compileObject(def: z.core.$ZodObjectDef): ValueReader {
  const shape = Object.entries(def.shape)
  const members = new Map(shape.map(([name, schema]) => [name, compileReader(schema)]))
  const required = shape.filter(([, schema]) => schema._zod.optin === undefined).map(([name]) => name)
  return readers.objectReader(members, required, unknownMembersOf(def))
}

function unknownMembersOf(def: z.core.$ZodObjectDef): UnknownMembers {
  const type = def.catchall?._zod.def.type
  if (type === undefined) return 'drop'
  return type === 'never' ? 'refuse' : 'keep'
}

function compileVariants(def: z.core.$ZodDiscriminatedUnionDef): ValueReader {
  const variants = new Map<unknown, ValueReader>()
  let otherwise: ValueReader | undefined
  for (const option of def.options as readonly Schema[]) {
    const read = compileReader(option)
    const values = option._zod.propValues?.[def.discriminator]
    // An option whose discriminator may be any text takes the kinds that no other option names.
    if (values === undefined) otherwise = read
    else for (const value of values) variants.set(value, read)
  }
  return readers.variantReader(def.discriminator, variants, otherwise)
}

function compileAlternatives(options: readonly Schema[]): ValueReader {
  const byType = new Map<string, ValueReader>()
  for (const option of options) {
    const type = jsonTypeOf(option)
    if (byType.has(type)) throw new TypeError(`two alternatives of a union are of type ${type}`)
    byType.set(type, compileReader(option))
  }
  return readers.alternativeReader(byType)
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
