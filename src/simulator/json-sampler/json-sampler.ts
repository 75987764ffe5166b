import type { SeededRandom } from '../random.js'
import { conformsTo } from './conformance.js'
import {
  allowedTypes,
  canonicalText,
  isObject,
  itemRules,
  memberRules,
  ownList,
  ownMember,
  ownObject,
  requiredNames,
  type SchemaObject,
  setOwnMember,
} from './json-values.js'
import { greatestOf, sampleNumber, sampleText, smallestOf } from './scalars.js'
import { findUnsupportedKeyword, NoValueError, SchemaContext } from './schema-context.js'

/** A value, or the sentence that names the place in the schema and says why there is none. */
type SampledJson = { readonly value: unknown } | { readonly impossible: string }

/** Whole values tried; the later ones leave out every optional part. */
const MAX_ATTEMPTS = 8
/** Tries at one place where the schema offers choices. */
const MAX_BRANCH_TRIES = 6
/** Draws of one item that has to differ from those before it. */
const MAX_UNIQUE_DRAWS = 48
/** Deepest nesting of values. */
const MAX_DEPTH = 40
/** Levels of values below which nothing optional is made, so that recursive schemas end. */
const OPTIONAL_DEPTH = 4
/** Most characters of a reason: names of members may be of any length. */
const MAX_REASON = 400

/**
 * Makes a value that is valid under the schema: the part of JSON Schema 2020-12 that callers write for answers and
 * tools, with `nullable` of OpenAPI 3.0. A schema with another keyword (`not`, `if`, `contains` …), or with a pattern
 * outside the subset of `Pattern`, is refused by name.
 *
 * The value is valid by construction: at each place all schemas that apply there are satisfied together. Equal schemas
 * and random sources give equal values. The work is bounded by the budget of the context, a new one unless a test
 * brings its own; a schema that asks for more is refused.
 */
export function sampleJson(
  schema: unknown,
  random: SeededRandom,
  context = new SchemaContext(schema),
): SampledJson {
  if (typeof schema !== 'boolean' && !isObject(schema)) {
    return { impossible: 'the schema is neither an object nor a boolean' }
  }
  let reason: string | null = null
  for (let attempt = 0; attempt < MAX_ATTEMPTS && (attempt === 0 || context.left > 0); attempt++) {
    const sparse = attempt >= MAX_ATTEMPTS / 2
    try {
      return { value: sample([schema], { path: '#', depth: 0, random, context, sparse }) }
    } catch (error) {
      reason ??= toNoValue(error, '#').message
    }
  }
  return { impossible: `no value can be made for it (${reason!.slice(0, MAX_REASON)})` }
}

/** Where a value is made, and with what. */
interface SamplePlace {
  /** For messages; begins with `#`. */
  readonly path: string
  /** Levels of values above. */
  readonly depth: number
  readonly random: SeededRandom
  readonly context: SchemaContext
  /** Leave out every optional part. */
  readonly sparse: boolean
}

/** A `oneOf` that was met, and the branch that was taken. */
interface ExclusiveChoice {
  readonly branches: readonly unknown[]
  readonly taken: number
}

/** The schemas that apply at one place: references resolved, `allOf` joined, a branch of each choice taken. */
interface SchemaExpansion {
  readonly parts: SchemaObject[]
  readonly exclusive: ExclusiveChoice[]
  hasChoice: boolean
}

/** A value that satisfies all schemas. This and all below throw a `NoValueError` where there is none. */
function sample(schemas: readonly unknown[], at: SamplePlace): unknown {
  if (at.depth > MAX_DEPTH) throw new NoValueError(`${at.path} is nested without end`)
  let failure: NoValueError | null = null
  for (let attempt = 0; attempt < MAX_BRANCH_TRIES; attempt++) {
    const expansion: SchemaExpansion = { parts: [], exclusive: [], hasChoice: false }
    try {
      expand(schemas, attempt, expansion, at)
      const value = sampleParts(expansion.parts, at)
      if (expansion.exclusive.every((choice) => isOnlyBranch(value, choice, at))) return value
      failure ??= new NoValueError(`${at.path}: oneOf`)
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
    if (!isObject(schema)) throw new NoValueError(`${at.path} allows nothing`)
    at.context.visit(schema)
    const unsupported = findUnsupportedKeyword(schema)
    if (unsupported !== null) throw new NoValueError(`${at.path}: ${unsupported} is not supported`)
    expansion.parts.push(schema)
    if (Object.hasOwn(schema, '$ref')) open.push(resolve(schema.$ref, at))
    for (const rule of ownList(schema, 'allOf')) open.push(rule)
    for (const keyword of ['anyOf', 'oneOf']) {
      const branches = ownList(schema, keyword)
      if (branches.length === 0) continue
      const taken = chooseBranch(branches, attempt, at)
      open.push(branches[taken])
      expansion.hasChoice ||= branches.length > 1
      if (keyword === 'oneOf') expansion.exclusive.push({ branches, taken })
    }
  }
}

function resolve(reference: unknown, { context, path }: SamplePlace): unknown {
  const target = context.resolve(reference)
  if (target !== undefined) return target
  throw new NoValueError(`${path}: $ref ${JSON.stringify(reference)} cannot be resolved`)
}

/** Deep down the branch that leads least deep comes first; otherwise any, and another one at each attempt. */
function chooseBranch(branches: readonly unknown[], attempt: number, at: SamplePlace): number {
  if (hasRoom(at)) return (at.random.nextBelow(branches.length) + attempt) % branches.length
  const order = branches.map((branch, index) => ({ index, weight: depthWeight(branch) }))
  order.sort((a, b) => a.weight - b.weight)
  return order[attempt % branches.length]!.index
}

/** Whether optional parts are made here. */
function hasRoom({ sparse, depth }: SamplePlace): boolean {
  return !sparse && depth < OPTIONAL_DEPTH
}

function isOnlyBranch(
  value: unknown,
  { branches, taken }: ExclusiveChoice,
  { context }: SamplePlace,
): boolean {
  return branches.every((branch, i) => i === taken || conformsTo(value, branch, context) === false)
}

function sampleParts(parts: readonly SchemaObject[], at: SamplePlace): unknown {
  const fixed = parts.find((part) => Object.hasOwn(part, 'const') || Object.hasOwn(part, 'enum'))
  if (fixed !== undefined) return sampleFixed(fixed, parts, at)
  // Any type but null where there is one.
  const types = allowedTypes(parts)
  if (types.length === 0) throw new NoValueError(`${at.path} contradicts itself`)
  const choice = types.filter((type) => type !== 'null')
  const type = choice[at.random.nextBelow(choice.length)] ?? 'null'
  if (type === 'null') return null
  if (type === 'boolean') return at.random.nextBelow(2) === 1
  if (type === 'object') return sampleObject(parts, at)
  if (type === 'array') return sampleArray(parts, at)
  const value = type === 'string' ? sampleText(parts, at) : sampleNumber(parts, type === 'integer', at)
  if (value === null) throw new NoValueError(`${at.path}: no ${type} satisfies it`)
  return value
}

/** One of the values that stand in a schema and that all others allow. It is paid for: it may be a long one. */
function sampleFixed(fixed: SchemaObject, parts: readonly SchemaObject[], at: SamplePlace): unknown {
  const list = Object.hasOwn(fixed, 'const') ? [fixed.const] : ownList(fixed, 'enum')
  const start = at.random.nextBelow(list.length)
  for (let i = 0; i < list.length; i++) {
    const value = list[(start + i) % list.length]
    if (!parts.every((part) => conformsTo(value, part, at.context) === true)) continue
    at.context.spendOnValue(value)
    return value
  }
  throw new NoValueError(`${at.path}: no entry of enum satisfies it`)
}

function sampleObject(parts: readonly SchemaObject[], at: SamplePlace): unknown {
  const required = new Set(parts.flatMap(requiredNames))
  const [least, most] = countBounds(parts, 'Properties', required.size, at)
  const value: Record<string, unknown> = {}
  // Counted, not listed again for every member.
  let size = 0
  let missing = required.size
  const add = (name: string): void => {
    at.context.spendOnText(name.length)
    at.context.spendOnEntries(parts.length)
    const rules = parts.flatMap((part) => memberRules(part, name))
    setOwnMember(value, name, sampleBelow(rules, `properties/${name}`, at))
    size++
  }
  const nameRules = parts.flatMap((part) =>
    Object.hasOwn(part, 'propertyNames') ? [part.propertyNames] : [],
  )
  const isAllowed = (name: string): boolean =>
    nameRules.every((rule) => conformsTo(name, rule, at.context) === true)
  const declared = parts.flatMap((part) => Object.keys(ownObject(part, 'properties')))
  for (const name of new Set([...declared, ...required])) {
    if (required.has(name)) {
      if (!isAllowed(name)) throw new NoValueError(`${at.path}: propertyNames`)
      add(name)
      missing--
    } else if (size + missing < most && (size + missing < least || wantsOptional(at)) && isAllowed(name)) {
      tryOptional(() => add(name), at)
    }
  }
  const newName = nameRules.length > 0 ? { type: 'string' } : { type: 'string', minLength: 3 }
  for (let tries = 4 * least + 16; size < least; tries--) {
    if (tries === 0) throw new NoValueError(`${at.path}: no further member can be named`)
    const name = sampleBelow([newName, ...nameRules], 'propertyNames', at) as string
    if (!Object.hasOwn(value, name)) add(name)
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
  if (min > at.context.left) throw new NoValueError(`${at.path}: min${what} asks for too many`)
  if (min > max) throw new NoValueError(`${at.path}: max${what}`)
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

function sampleArray(parts: readonly SchemaObject[], at: SamplePlace): unknown {
  const [least, most] = countBounds(parts, 'Items', 0, at)
  const seen = parts.some((part) => ownMember(part, 'uniqueItems') === true) ? new Set<string>() : null
  const prefix = parts.reduce((longest, part) => Math.max(longest, ownList(part, 'prefixItems').length), 1)
  const wished = hasRoom(at) ? Math.max(least, prefix) + at.random.nextBelow(3) : least
  const value: unknown[] = []
  const add = (): void => {
    at.context.spendOnEntries(parts.length)
    const rules = parts.flatMap((part) => itemRules(part, value.length))
    value.push(seen === null ? sampleBelow(rules, 'items', at) : sampleUnique(rules, seen, at))
  }
  while (value.length < least) add()
  while (value.length < Math.min(wished, most) && tryOptional(add, at));
  return value
}

/** An item that differs from those in `seen`, and joins them. */
function sampleUnique(rules: readonly unknown[], seen: Set<string>, at: SamplePlace): unknown {
  for (let draw = 0; draw < MAX_UNIQUE_DRAWS; draw++) {
    const item = sampleBelow(rules, 'items', at)
    at.context.spendOnValue(item)
    const text = canonicalText(item)
    if (seen.has(text)) continue
    seen.add(text)
    return item
  }
  throw new NoValueError(`${at.path}/items: uniqueItems`)
}

/** How deep a branch is likely to lead. */
function depthWeight(branch: unknown): number {
  if (!isObject(branch)) return branch === true ? 0 : 9
  if (Object.hasOwn(branch, '$ref')) return 5
  if (Object.hasOwn(branch, 'const') || Object.hasOwn(branch, 'enum')) return 0
  const type = ownMember(branch, 'type')
  if (type === 'object' || Object.hasOwn(branch, 'properties')) return 3
  return type === 'array' ? 2 : 1
}

/** The error as the one that says why there is no value, with its place; any other is thrown on. */
function toNoValue(error: unknown, path: string): NoValueError {
  if (!(error instanceof NoValueError)) throw error
  return error.message.startsWith('#') ? error : new NoValueError(`${path}: ${error.message}`)
}
