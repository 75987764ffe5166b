import { allowsFixedValue, refutes } from '../../gateway/formats/json-schema/conformance.js'
import {
  allowedTypes,
  isObject,
  itemRules,
  memberRules,
  ownList,
  ownMember,
  ownObject,
  requiredNames,
  type SchemaObject,
  setOwnMember,
} from '../../gateway/formats/json-schema/schema-values.js'
import { NoValueError } from '../../gateway/formats/json-schema/schema-walk.js'
import type { SeededRandom } from '../random.js'
import type { DrawSource } from './pattern.js'
import { greatestOf, sampleNumber, sampleText, smallestOf } from './scalars.js'
import { findUnsupportedKeyword, SchemaContext } from './schema-context.js'

/** A value, or the sentence that names the place in the schema and says why there is none. */
type SampledJson = { readonly value: unknown } | { readonly impossible: string }

/** Tries at one place where the schema offers choices. */
const MAX_BRANCH_TRIES = 12
/** Deepest nesting of values. */
const MAX_DEPTH = 40
/** Levels of values below which nothing optional is made, so that recursive schemas end. */
const OPTIONAL_DEPTH = 4
/** Most characters of a reason: names of members may be of any length. */
const MAX_REASON = 400

/**
 * Makes a value that is valid under the schema: the part of JSON Schema 2020-12 that callers write for answers and
 * tools, with `nullable` of OpenAPI 3.0. A schema with another keyword (`not`, `if`, `contains` …), or with a pattern
 * outside the subset of `sampleMatch`, is refused by name.
 *
 * The value is valid by construction: at each place all schemas that apply there are satisfied together. Equal schemas
 * and random sources give equal values. The work is bounded by the budget of the context, a new one unless a test
 * brings its own; a schema that asks for more is refused. Rules in a description are kept where they can be.
 */
export function sampleJson(
  schema: unknown,
  random: SeededRandom,
  context = new SchemaContext(schema),
): SampledJson {
  if (typeof schema !== 'boolean' && !isObject(schema)) {
    return { impossible: 'the schema is neither an object nor a boolean' }
  }
  try {
    return { value: sample([schema], { path: '#', depth: 0, random, context }) }
  } catch (error) {
    const reason = toNoValue(error, '#').message.slice(0, MAX_REASON)
    if (context.ignoreDescriptions()) return sampleJson(schema, random, context)
    return { impossible: `no value can be made for it (${reason})` }
  }
}

/** Where a value is made, and with what. */
interface SamplePlace extends DrawSource {
  /** For messages; begins with `#`. */
  readonly path: string
  /** Levels of values above. */
  readonly depth: number
}

/** The schemas that apply at one place: references resolved, `allOf` joined, a branch of each choice taken. */
interface SchemaExpansion {
  readonly parts: SchemaObject[]
  /** Branches of `oneOf` that were not taken. */
  readonly excluded: unknown[]
  hasChoice: boolean
}

/**
 * A value that satisfies all schemas. This and all below throw a `NoValueError` where there is none; it is given its
 * place here.
 */
function sample(schemas: readonly unknown[], at: SamplePlace): unknown {
  if (at.depth > MAX_DEPTH) throw new NoValueError('nested without end')
  let failure: NoValueError | null = null
  for (let attempt = 0; attempt < MAX_BRANCH_TRIES; attempt++) {
    const expansion: SchemaExpansion = { parts: [], excluded: [], hasChoice: false }
    try {
      expand(schemas, attempt, expansion, at)
      const value = sampleParts(expansion.parts, at)
      if (expansion.excluded.every((branch) => refutes(branch, value, at.context))) return value
      throw new NoValueError('oneOf')
    } catch (error) {
      failure ??= toNoValue(error, at.path)
    }
    if (!expansion.hasChoice || at.context.left === 0) break
  }
  throw failure!
}

function sampleBelow(schemas: readonly unknown[], step: string, at: SamplePlace): unknown {
  return sample(schemas, { ...at, path: `${at.path}/${step}`, depth: at.depth + 1 })
}

function expand(
  schemas: readonly unknown[],
  attempt: number,
  expansion: SchemaExpansion,
  at: SamplePlace,
): void {
  const open = [...schemas].reverse()
  for (let schema = open.pop(); schema !== undefined; schema = open.pop()) {
    at.context.spend()
    if (schema === true) continue
    if (!isObject(schema)) throw new NoValueError('allows nothing')
    at.context.visit(schema)
    const unsupported = findUnsupportedKeyword(schema)
    if (unsupported !== null) throw new NoValueError(`${unsupported} is not supported`)
    expansion.parts.push(schema)
    const described = at.context.describedRules(schema)
    if (described !== null) expansion.parts.push(described)
    if (Object.hasOwn(schema, '$ref')) open.push(resolve(schema.$ref, at.context))
    for (const rule of ownList(schema, 'allOf')) open.push(rule)
    for (const keyword of ['anyOf', 'oneOf']) {
      const [taken, ...others] = orderBranches(ownList(schema, keyword), attempt, at)
      if (taken !== undefined) open.push(taken)
      expansion.hasChoice ||= others.length > 0
      if (keyword === 'oneOf') for (const branch of others) expansion.excluded.push(branch)
    }
  }
}

function resolve(reference: unknown, context: SchemaContext): unknown {
  const target = context.resolve(reference)
  if (target !== undefined) return target
  throw new NoValueError(`$ref ${JSON.stringify(reference)} cannot be resolved`)
}

/** The one to be taken comes first: at random, and deep down one that leads no deeper; another one at each attempt. */
function orderBranches(branches: readonly unknown[], attempt: number, at: SamplePlace): readonly unknown[] {
  if (branches.length < 2) return branches
  const taken = attempt + (hasRoom(at) ? at.random.nextBelow(branches.length) : 0)
  const ordered = hasRoom(at) ? branches : fewestReferencesFirst(branches, at)
  return branches.map((_, i) => ordered[(taken + i) % branches.length])
}

function fewestReferencesFirst(branches: readonly unknown[], { context }: SamplePlace): readonly unknown[] {
  context.spendOnValue(branches)
  const counted = branches.map((branch) => ({ branch, pieces: JSON.stringify(branch).split('"$ref"') }))
  return counted.sort((a, b) => a.pieces.length - b.pieces.length).map(({ branch }) => branch)
}

/** Whether optional parts are made here. */
function hasRoom({ depth }: SamplePlace): boolean {
  return depth < OPTIONAL_DEPTH
}

function sampleParts(parts: readonly SchemaObject[], at: SamplePlace): unknown {
  const fixed = parts.find((part) => Object.hasOwn(part, 'const') || Object.hasOwn(part, 'enum'))
  if (fixed !== undefined) return sampleFixed(fixed, parts, at)
  // Any type but null where there is one.
  const types = allowedTypes(parts)
  if (types.length === 0) throw new NoValueError('contradicts itself')
  const choice = types.filter((type) => type !== 'null')
  const type = choice[at.random.nextBelow(choice.length)] ?? 'null'
  if (type === 'null') return null
  if (type === 'boolean') return at.random.nextBelow(2) === 1
  if (type === 'object') return sampleObject(parts, at)
  if (type === 'array') return sampleArray(parts, at)
  const value = type === 'string' ? sampleText(parts, at) : sampleNumber(parts, type === 'integer', at)
  if (value === null) throw new NoValueError(`no ${type} satisfies it`)
  return value
}

/** One of the values that stand in a schema and that all others allow. It is paid for: it may be a long one. */
function sampleFixed(fixed: SchemaObject, parts: readonly SchemaObject[], at: SamplePlace): unknown {
  const list = Object.hasOwn(fixed, 'const') ? [fixed.const] : ownList(fixed, 'enum')
  const start = at.random.nextBelow(list.length)
  for (let i = 0; i < list.length; i++) {
    const value = list[(start + i) % list.length]
    if (!parts.every((part) => allowsFixedValue(part, value, at.context))) continue
    at.context.spendOnValue(value)
    return value
  }
  throw new NoValueError('no entry of enum satisfies it')
}

function sampleObject(parts: readonly SchemaObject[], at: SamplePlace): unknown {
  const required = new Set(parts.flatMap(requiredNames))
  const [least, most] = countBounds(parts, 'Properties', required.size, at)
  const value: Record<string, unknown> = {}
  const nameRules = parts.flatMap((part) =>
    Object.hasOwn(part, 'propertyNames') ? [part.propertyNames] : [],
  )
  const add = (name: string): void => {
    at.context.spendOnText(name.length)
    at.context.spendOnEntries(parts.length)
    if (nameRules.length > 0) sampleBelow([{ const: name }, ...nameRules], 'propertyNames', at)
    const rules = parts.flatMap((part) => memberRules(part, name))
    setOwnMember(value, name, sampleBelow(rules, `properties/${name}`, at))
  }
  // With those that have to come.
  let size = required.size
  const declared = parts.flatMap((part) => Object.keys(ownObject(part, 'properties')))
  for (const name of new Set([...declared, ...required])) {
    if (required.has(name)) add(name)
    else if (size < most && (size < least || wantsOptional(at)) && tryOptional(() => add(name), at)) size++
  }
  for (let number = 1; size < least; number++) {
    const name = `member${number}`
    if (Object.hasOwn(value, name)) continue
    add(name)
    size++
  }
  return value
}

function wantsOptional(at: SamplePlace): boolean {
  return hasRoom(at) && at.random.nextBelow(4) > 0
}

/** Least and greatest number of members or items. `least` is what other rules ask for. */
function countBounds(
  parts: readonly SchemaObject[],
  what: 'Properties' | 'Items',
  least: number,
  at: SamplePlace,
): readonly [least: number, most: number] {
  const min = Math.max(least, greatestOf(parts, `min${what}`) ?? 0)
  const max = smallestOf(parts, `max${what}`) ?? Number.POSITIVE_INFINITY
  if (min > at.context.left) throw new NoValueError(`min${what} asks for too many`)
  if (min > max) throw new NoValueError(`max${what}`)
  return [min, max]
}

/** What has no value is left out; false then. */
function tryOptional(make: () => void, at: SamplePlace): boolean {
  try {
    make()
    return true
  } catch (error) {
    if (at.context.left === 0 || !(error instanceof NoValueError)) throw error
    return false
  }
}

/** Items that have to differ are no more than one. */
function sampleArray(parts: readonly SchemaObject[], at: SamplePlace): unknown {
  const [least, mostAllowed] = countBounds(parts, 'Items', 0, at)
  const isUnique = parts.some((part) => ownMember(part, 'uniqueItems') === true)
  const most = isUnique ? Math.min(1, mostAllowed) : mostAllowed
  if (least > most) throw new NoValueError('uniqueItems with minItems above 1 is not supported')
  const prefix = parts.reduce((longest, part) => Math.max(longest, ownList(part, 'prefixItems').length), 1)
  const wished = hasRoom(at) ? Math.max(least, prefix) + at.random.nextBelow(3) : least
  const value: unknown[] = []
  const add = (): void => {
    at.context.spendOnEntries(parts.length)
    const rules = parts.flatMap((part) => itemRules(part, value.length))
    value.push(sampleBelow(rules, 'items', at))
  }
  while (value.length < least) add()
  while (value.length < Math.min(wished, most) && tryOptional(add, at));
  return value
}

/** The error as the one that says why there is no value, with its place; any other is thrown on. */
function toNoValue(error: unknown, path: string): NoValueError {
  if (!(error instanceof NoValueError)) throw error
  return error.message.startsWith('#') ? error : new NoValueError(`${path}: ${error.message}`)
}
