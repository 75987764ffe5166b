import type { SeededRandom } from '../random.js'
import { isObject, isOfType, isSchema, type Obj, own, ownList } from './json-values.js'
import { type Making, NONE, ROOMY } from './making.js'
import { arrayOfSchema } from './schema-arrays.js'
import { schemaViolation } from './schema-check.js'
import { referenceName, SchemaContext } from './schema-context.js'
import { both, mergeSchemas } from './schema-merge.js'
import { numberOfSchema } from './schema-numbers.js'
import { objectOfSchema } from './schema-objects.js'
import { stringOfSchema } from './schema-strings.js'
import { stepsOfEntries } from './schema-weight.js'

/** A value, or the sentence that names the place in the schema and says why there is none. */
type MadeJson = { readonly value: unknown } | { readonly impossible: string }

/** Whole values tried; the later ones leave out whatever may be left out. */
const ATTEMPTS = 8
/** Tries at one place where the schema offers choices. */
const TRIES = 6
/** Deepest nesting of values. */
const DEEPEST = 40
/** Longest reason that is told; names of members may be of any length. */
const LONGEST_REASON = 400

/**
 * Makes a value that is valid under the schema: JSON Schema 2020-12 (the `nullable` of OpenAPI 3.0 included).
 *
 * The value is made by rules and then checked against the schema; an invalid value is never handed out. Equal
 * schemas and random sources give equal values. The work is bounded by the budget of the context, which is a new one
 * of this schema unless a test wants to look at it: a schema that asks for more is refused.
 */
export function jsonOfSchema(schema: unknown, random: SeededRandom, shared?: SchemaContext): MadeJson {
  if (!isSchema(schema)) return { impossible: 'the schema is neither an object nor a boolean' }
  const context = shared ?? new SchemaContext(schema)
  let wrong: string | null = null
  for (let attempt = 0; attempt < ATTEMPTS && !context.exhausted; attempt++) {
    const maker = new Maker(random, context, attempt >= ATTEMPTS / 2)
    const value = maker.make(schema, '#', 0)
    const found = value === NONE ? maker.reason : schemaViolation(value, schema, context)
    if (found === null) return { value }
    wrong ??= found
  }
  const reason = (wrong ?? 'the schema is too complex').slice(0, LONGEST_REASON)
  return { impossible: `no value can be made for it (${reason})` }
}

class Maker implements Making {
  #reason: string | null = null

  constructor(
    readonly random: SeededRandom,
    readonly context: SchemaContext,
    readonly sparse: boolean,
  ) {}

  get reason(): string {
    return this.#reason ?? 'the schema is too complex'
  }

  make(schema: unknown, place: string, depth: number): unknown {
    if (schema === true) return this.#anything(place)
    if (schema === false || !isObject(schema)) return this.none(`${place} allows nothing`)
    if (depth > DEEPEST) return this.none(`${place} is nested without end`)
    const tries = hasChoices(schema) ? TRIES : 1
    for (let attempt = 0; attempt < tries; attempt++) {
      const flat = this.#flatten(schema, place, depth, attempt)
      if (flat === null) continue
      const value = this.#ofFlat(flat, place, depth)
      if (value !== NONE && (tries === 1 || this.#holds(value, schema, place))) return value
    }
    return this.none(`${place}: nothing satisfies all of it`)
  }

  /** Checks one place; references are still those of the root. */
  #holds(value: unknown, schema: Obj, place: string): boolean {
    const wrong = schemaViolation(value, schema, this.context, place)
    if (wrong !== null) this.none(wrong)
    return wrong === null
  }

  none(reason: string): typeof NONE {
    this.#reason ??= reason
    return NONE
  }

  #anything(place: string): unknown {
    return stringOfSchema({}, this.random, this.context) ?? this.none(tooComplex(place))
  }

  /** Resolves references, joins `allOf`, and picks one branch of each choice. Null when the parts contradict. */
  #flatten(schema: Obj, place: string, depth: number, attempt: number): Obj | null {
    let flat: Obj = {}
    // A merge copies what has been joined so far.
    let joined = 0
    const todo: unknown[] = [schema]
    for (let part = todo.pop(); part !== undefined; part = todo.pop()) {
      if (part === true) continue
      if (!isObject(part)) return this.#unfit(`${place} contradicts itself`)
      if (!this.context.visit(part, joined)) return this.#unfit(tooComplex(place))
      const target = Object.hasOwn(part, '$ref') ? this.context.resolve(part.$ref) : true
      if (target === null) return this.#unfit(`${place}: $ref ${referenceName(part)} cannot be resolved`)
      todo.push(...(ownList(part, 'allOf') ?? []), target, ...this.#branches(part, depth, attempt))
      const merged = mergeSchemas(flat, withoutChoices(part), this.context.spend)
      if (merged === null) return this.#unfit(`${place} contradicts itself`)
      flat = merged
      joined += this.context.entries(part)
    }
    return flat
  }

  #unfit(reason: string): null {
    this.none(reason)
    return null
  }

  /** One branch of every choice in the schema; another one at each attempt. */
  #branches(schema: Obj, depth: number, attempt: number): unknown[] {
    const chosen: unknown[] = []
    for (const keyword of ['anyOf', 'oneOf']) {
      const list = ownList(schema, keyword)
      if (list !== null && list.length > 0) chosen.push(this.#branch(list, depth, attempt))
    }
    if (isSchema(own(schema, 'if'))) {
      const yes = both(schema.if, own(schema, 'then') ?? true)
      chosen.push(attempt % 2 === 0 ? yes : (own(schema, 'else') ?? true))
    }
    return chosen
  }

  #branch(list: readonly unknown[], depth: number, attempt: number): unknown {
    if (this.sparse || depth >= ROOMY) {
      const weighed = list.map((branch) => ({ branch, weight: weight(branch) }))
      weighed.sort((a, b) => a.weight - b.weight)
      return weighed[attempt % list.length]!.branch
    }
    return list[(this.random.nextBelow(list.length) + attempt) % list.length]
  }

  #ofFlat(flat: Obj, place: string, depth: number): unknown {
    if (Object.hasOwn(flat, 'const')) return this.#fixed(flat.const, place)
    const list = ownList(flat, 'enum')
    if (list !== null) return this.#listed(list, flat, place)
    const type = this.#typeOf(flat)
    if (type === 'null') return null
    if (type === 'boolean') return this.random.nextBelow(2) === 1
    if (type === 'object') return objectOfSchema(flat, place, depth, this)
    if (type === 'array') return arrayOfSchema(flat, place, depth, this)
    const value =
      type === 'string'
        ? stringOfSchema(flat, this.random, this.context)
        : numberOfSchema(flat, type === 'integer', this.random, this.context)
    if (value !== null) return value
    return this.none(this.context.exhausted ? tooComplex(place) : `${place}: no ${type} satisfies it`)
  }

  #listed(list: readonly unknown[], flat: Obj, place: string): unknown {
    const type = own(flat, 'type')
    const types = Array.isArray(type) ? type : [type]
    if (!this.context.spend(stepsOfEntries(list.length * types.length))) return this.none(tooComplex(place))
    const fitting =
      type === undefined ? list : list.filter((value) => types.some((one) => isOfType(value, one)))
    if (fitting.length === 0) return this.none(`${place}: no entry of enum satisfies it`)
    return this.#fixed(fitting[this.random.nextBelow(fitting.length)], place)
  }

  /** A value that stands in the schema. It is paid for: a long one may be wanted many times. */
  #fixed(value: unknown, place: string): unknown {
    return this.context.spendOnFixed(value) ? value : this.none(tooComplex(place))
  }

  /** The type to make: of those allowed the first that says something, otherwise what the keywords are about. */
  #typeOf(flat: Obj): unknown {
    const type = own(flat, 'type')
    const types = (Array.isArray(type) ? type : [type]).filter((one) => one !== 'null')
    if (type !== undefined) return types.length === 0 ? 'null' : types[this.random.nextBelow(types.length)]
    const has = (...names: string[]) => names.some((name) => Object.hasOwn(flat, name))
    if (has('properties', 'required', 'additionalProperties', 'patternProperties', 'minProperties'))
      return 'object'
    if (has('items', 'prefixItems', 'minItems', 'contains', 'uniqueItems')) return 'array'
    if (has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf')) return 'number'
    return 'string'
  }
}

function tooComplex(place: string): string {
  return `${place}: the schema is too complex`
}

/** Whether one attempt may fail where another succeeds. */
function hasChoices(schema: Obj): boolean {
  return ['anyOf', 'oneOf', 'allOf', 'if', 'not', 'contains', '$ref'].some((name) =>
    Object.hasOwn(schema, name),
  )
}

/** The schema's own rules: what `flatten` follows by itself is left out. */
function withoutChoices(schema: Obj): Obj {
  const { $ref, allOf, anyOf, oneOf, if: condition, then, else: otherwise, ...rest } = schema
  return rest
}

/** Branches that lead deeper weigh more; deep down the lightest is tried first. */
function weight(schema: unknown): number {
  if (!isObject(schema)) return schema === true ? 0 : 9
  if (Object.hasOwn(schema, '$ref')) return 5
  if (Object.hasOwn(schema, 'const') || Object.hasOwn(schema, 'enum')) return 0
  const type = own(schema, 'type')
  if (type === 'object' || Object.hasOwn(schema, 'properties')) return 3
  return type === 'array' ? 2 : 1
}
