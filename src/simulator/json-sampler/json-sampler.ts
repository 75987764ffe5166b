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
 * Makes a value that is valid under the schema: the part of JSON Schema 2020-12 that callers write for answers and tools,
 * with `nullable` of OpenAPI 3.0. A schema with another keyword (`not`, `if`, `contains` …), or with a pattern outside the
 * subset of `Pattern`, is refused by name.
 *
 * The value is valid by construction: at each place all schemas that apply there are satisfied together. Equal schemas
 * and random sources give equal values. The work is bounded by the budget of the context, a new one unless a test brings
 * its own; a schema that asks for more is refused.
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
    try {
      return { value: new JsonSampler(random, context, attempt >= MAX_ATTEMPTS / 2).sample([schema], '#', 0) }
    } catch (error) {
      reason ??= toNoValue(error, '#').message
    }
  }
  return { impossible: `no value can be made for it (${reason!.slice(0, MAX_REASON)})` }
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

/** Makes one value. Its methods throw `NoValueError` where there is none. */
class JsonSampler {
  readonly #random: SeededRandom
  readonly #context: SchemaContext
  /** Leave out every optional part. */
  readonly #sparse: boolean

  constructor(random: SeededRandom, context: SchemaContext, sparse: boolean) {
    this.#random = random
    this.#context = context
    this.#sparse = sparse
  }

  /** A value that satisfies all schemas. `depth` counts the levels of values above. */
  sample(schemas: readonly unknown[], place: string, depth: number): unknown {
    if (depth > MAX_DEPTH) throw new NoValueError(`${place} is nested without end`)
    let failure: NoValueError | null = null
    for (let attempt = 0; attempt < MAX_BRANCH_TRIES; attempt++) {
      const expansion: SchemaExpansion = { parts: [], exclusive: [], hasChoice: false }
      try {
        this.#expand(schemas, place, depth, attempt, expansion)
        const value = this.#sampleParts(expansion.parts, place, depth)
        if (expansion.exclusive.every((choice) => this.#isOnlyBranch(value, choice))) return value
        failure ??= new NoValueError(`${place}: oneOf`)
      } catch (error) {
        failure ??= toNoValue(error, place)
      }
      if (!expansion.hasChoice || this.#context.left === 0) break
    }
    throw failure!
  }

  #expand(
    schemas: readonly unknown[],
    place: string,
    depth: number,
    attempt: number,
    expansion: SchemaExpansion,
  ): void {
    const open = [...schemas].reverse()
    for (let schema = open.pop(); schema !== undefined; schema = open.pop()) {
      this.#context.spend()
      if (schema === true) continue
      if (!isObject(schema)) throw new NoValueError(`${place} allows nothing`)
      this.#context.visit(schema)
      const unsupported = findUnsupportedKeyword(schema)
      if (unsupported !== null) throw new NoValueError(`${place}: ${unsupported} is not supported`)
      expansion.parts.push(schema)
      if (Object.hasOwn(schema, '$ref')) open.push(this.#resolve(schema.$ref, place))
      for (const rule of ownList(schema, 'allOf')) open.push(rule)
      for (const keyword of ['anyOf', 'oneOf']) {
        const branches = ownList(schema, keyword)
        if (branches.length === 0) continue
        const taken = this.#chooseBranch(branches, depth, attempt)
        open.push(branches[taken])
        expansion.hasChoice ||= branches.length > 1
        if (keyword === 'oneOf') expansion.exclusive.push({ branches, taken })
      }
    }
  }

  #resolve(reference: unknown, place: string): unknown {
    const target = this.#context.resolve(reference)
    if (target !== undefined) return target
    throw new NoValueError(`${place}: $ref ${JSON.stringify(reference)} cannot be resolved`)
  }

  /** Deep down the branch that leads least deep comes first; otherwise any, and another one at each attempt. */
  #chooseBranch(branches: readonly unknown[], depth: number, attempt: number): number {
    if (!this.#sparse && depth < OPTIONAL_DEPTH) {
      return (this.#random.nextBelow(branches.length) + attempt) % branches.length
    }
    const order = branches.map((branch, index) => ({ index, weight: depthWeight(branch) }))
    order.sort((a, b) => a.weight - b.weight)
    return order[attempt % branches.length]!.index
  }

  #isOnlyBranch(value: unknown, { branches, taken }: ExclusiveChoice): boolean {
    return branches.every(
      (branch, index) => index === taken || conformsTo(value, branch, this.#context) === false,
    )
  }

  #sampleParts(parts: readonly SchemaObject[], place: string, depth: number): unknown {
    const fixed = parts.find((part) => Object.hasOwn(part, 'const') || Object.hasOwn(part, 'enum'))
    if (fixed !== undefined) return this.#sampleFixed(fixed, parts, place)
    const type = this.#chooseType(parts, place)
    if (type === 'null') return null
    if (type === 'boolean') return this.#random.nextBelow(2) === 1
    if (type === 'object') return this.#sampleObject(parts, place, depth)
    if (type === 'array') return this.#sampleArray(parts, place, depth)
    const value =
      type === 'string'
        ? sampleText(parts, this.#random, this.#context)
        : sampleNumber(parts, type === 'integer', this.#random, this.#context)
    if (value === null) throw new NoValueError(`${place}: no ${type} satisfies it`)
    return value
  }

  /** One of the values that stand in a schema and that all others allow. It is paid for: it may be a long one. */
  #sampleFixed(fixed: SchemaObject, parts: readonly SchemaObject[], place: string): unknown {
    const list = Object.hasOwn(fixed, 'const') ? [fixed.const] : ownList(fixed, 'enum')
    const start = this.#random.nextBelow(list.length)
    for (let i = 0; i < list.length; i++) {
      const value = list[(start + i) % list.length]
      if (!parts.every((part) => conformsTo(value, part, this.#context) === true)) continue
      this.#context.spendOnValue(value)
      return value
    }
    throw new NoValueError(`${place}: no entry of enum satisfies it`)
  }

  /** Of the types that all allow any but null where there is one. */
  #chooseType(parts: readonly SchemaObject[], place: string): string {
    const types = allowedTypes(parts)
    if (types.length === 0) throw new NoValueError(`${place} contradicts itself`)
    const choice = types.filter((type) => type !== 'null')
    return choice[this.#random.nextBelow(choice.length)] ?? 'null'
  }

  #sampleObject(parts: readonly SchemaObject[], place: string, depth: number): unknown {
    const required = new Set(parts.flatMap(requiredNames))
    const least = Math.max(required.size, greatestOf(parts, 'minProperties') ?? 0)
    const most = smallestOf(parts, 'maxProperties') ?? Number.POSITIVE_INFINITY
    if (least > this.#context.left) throw new NoValueError(`${place}: minProperties asks for too many`)
    if (least > most) throw new NoValueError(`${place}: maxProperties`)
    const value: Record<string, unknown> = {}
    // Counted, not listed again for every member.
    let size = 0
    let missing = required.size
    const add = (name: string): void => {
      setOwnMember(value, name, this.#sampleMember(parts, name, place, depth))
      size++
    }
    const declared = parts.flatMap((part) => Object.keys(ownObject(part, 'properties')))
    for (const name of new Set([...declared, ...required])) {
      if (required.has(name)) {
        if (!this.#isAllowedName(parts, name)) throw new NoValueError(`${place}: propertyNames`)
        add(name)
        missing--
      } else if (size + missing < most && (size + missing < least || this.#wantsOptional(depth))) {
        if (this.#isAllowedName(parts, name)) this.#tryOptional(() => add(name))
      }
    }
    for (let tries = 4 * least + 16; size < least; tries--) {
      if (tries === 0) throw new NoValueError(`${place}: no further member can be named`)
      const name = this.#sampleName(parts, place, depth)
      if (!Object.hasOwn(value, name)) add(name)
    }
    return value
  }

  #isAllowedName(parts: readonly SchemaObject[], name: string): boolean {
    return nameRules(parts).every((rule) => conformsTo(name, rule, this.#context) === true)
  }

  #wantsOptional(depth: number): boolean {
    return !this.#sparse && depth < OPTIONAL_DEPTH && this.#random.nextBelow(4) > 0
  }

  /** What has no value is left out. */
  #tryOptional(make: () => void): boolean {
    try {
      make()
      return true
    } catch (error) {
      if (this.#context.left === 0) throw error
      toNoValue(error, '')
      return false
    }
  }

  #sampleMember(parts: readonly SchemaObject[], name: string, place: string, depth: number): unknown {
    this.#context.spendOnText(name.length)
    this.#context.spendOnEntries(parts.length)
    const rules = parts.flatMap((part) => memberRules(part, name))
    return this.sample(rules, `${place}/properties/${name}`, depth + 1)
  }

  /** A name of a member that no schema declares. */
  #sampleName(parts: readonly SchemaObject[], place: string, depth: number): string {
    const rules = nameRules(parts)
    const own = rules.length > 0 ? { type: 'string' } : { type: 'string', minLength: 3 }
    return this.sample([own, ...rules], `${place}/propertyNames`, depth + 1) as string
  }

  #sampleArray(parts: readonly SchemaObject[], place: string, depth: number): unknown {
    const least = greatestOf(parts, 'minItems') ?? 0
    const most = smallestOf(parts, 'maxItems') ?? Number.POSITIVE_INFINITY
    if (least > this.#context.left) throw new NoValueError(`${place}: minItems asks for too many`)
    if (least > most) throw new NoValueError(`${place}: maxItems`)
    const seen = parts.some((part) => ownMember(part, 'uniqueItems') === true) ? new Set<string>() : null
    const value: unknown[] = []
    const add = (): void => {
      value.push(this.#sampleItem(parts, value.length, seen, place, depth))
    }
    const length = Math.min(most, this.#wishedLength(parts, least, depth))
    while (value.length < least) add()
    while (value.length < length && this.#tryOptional(add));
    return value
  }

  #wishedLength(parts: readonly SchemaObject[], least: number, depth: number): number {
    if (this.#sparse || depth >= OPTIONAL_DEPTH) return least
    const prefix = parts.reduce((most, part) => Math.max(most, ownList(part, 'prefixItems').length), 1)
    return Math.max(least, prefix) + this.#random.nextBelow(3)
  }

  /** An item that differs from those before it where `seen` is given. */
  #sampleItem(
    parts: readonly SchemaObject[],
    index: number,
    seen: Set<string> | null,
    place: string,
    depth: number,
  ): unknown {
    this.#context.spendOnEntries(parts.length)
    const rules = parts.flatMap((part) => itemRules(part, index))
    for (let draw = 0; draw < MAX_UNIQUE_DRAWS; draw++) {
      const item = this.sample(rules, `${place}/items`, depth + 1)
      if (seen === null) return item
      this.#context.spendOnValue(item)
      const text = canonicalText(item)
      if (seen.has(text)) continue
      seen.add(text)
      return item
    }
    throw new NoValueError(`${place}/items: uniqueItems`)
  }
}

function nameRules(parts: readonly SchemaObject[]): readonly unknown[] {
  return parts.filter((part) => Object.hasOwn(part, 'propertyNames')).map((part) => part.propertyNames)
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
function toNoValue(error: unknown, place: string): NoValueError {
  if (!(error instanceof NoValueError)) throw error
  return error.message.startsWith('#') ? error : new NoValueError(`${place}: ${error.message}`)
}
