import { isSchema, type Obj, own, type Schema } from './json-values.js'
import { Pattern } from './pattern.js'
import { LONGEST_PATTERN } from './pattern-syntax.js'
import { charactersOf, entriesOf, stepsOfEntries, stepsOfText } from './schema-weight.js'

/**
 * Steps that one schema may take altogether, in making and checking, over all attempts. A step stands for about a
 * microsecond, and whatever grows with the schema or with the value pays by its size: the worst schema takes a few
 * tens of milliseconds, and no value has more than some 250,000 characters.
 */
export const BUDGET = 16_000

/** Of reading a pattern and of finding the characters that fit each of its sets. */
const STEPS_PER_PATTERN_CHARACTER = 2

/** Keywords that change what is valid and that are not understood here; to ignore one could make a wrong answer. */
const BEYOND = [
  'unevaluatedProperties',
  'unevaluatedItems',
  '$dynamicRef',
  '$recursiveRef',
  'additionalItems',
  'dependencies',
] as const

/** What is shared while one schema is worked on: the root for references, the patterns, and the budget. */
export class SchemaContext {
  readonly root: Schema
  /** The first thing that a check could not judge, if any. */
  doubted: string | null = null
  readonly #patterns = new Map<string, Pattern | null>()
  readonly #targets = new Map<string, Schema | null>()
  /** Entries of schemas and characters of fixed values, which may be met many thousand times. */
  readonly #entries = new WeakMap<Obj, number>()
  readonly #characters = new WeakMap<object, number>()
  #left = BUDGET
  #exhausted = false

  constructor(root: Schema) {
    this.root = root
  }

  /** Takes steps from the budget, before they are made. False when they are not there, and ever after. */
  readonly spend = (steps = 1): boolean => {
    if (this.#exhausted || steps > this.#left) {
      this.#exhausted = true
      return false
    }
    this.#left -= steps
    return true
  }

  /** A step, and more for a schema of many entries; `more` are entries that are walked besides. */
  visit(schema: Obj, more = 0): boolean {
    return this.spend(stepsOfEntries(this.entries(schema) + more))
  }

  entries(schema: Obj): number {
    const known = this.#entries.get(schema)
    if (known !== undefined) return known
    const entries = entriesOf(schema)
    this.#entries.set(schema, entries)
    return entries
  }

  /** Pays for a value that stands in the schema and becomes a part of the answer. */
  spendOnFixed(value: unknown): boolean {
    return this.spend(stepsOfText(this.#charactersOf(value)))
  }

  #charactersOf(value: unknown): number {
    if (typeof value !== 'object' || value === null) return charactersOf(value)
    const known = this.#characters.get(value)
    if (known !== undefined) return known
    const characters = charactersOf(value)
    this.#characters.set(value, characters)
    return characters
  }

  /** Steps that are left. */
  get left(): number {
    return this.#exhausted ? 0 : this.#left
  }

  /** Steps that were made. */
  get spent(): number {
    return BUDGET - this.#left
  }

  get exhausted(): boolean {
    return this.#exhausted
  }

  /** Remembers that a verdict is in doubt, and why. */
  doubt(reason: string): string {
    this.doubted ??= reason
    return reason
  }

  /** Null for a pattern beyond what is understood here, or beyond the budget. */
  pattern(text: string): Pattern | null {
    const known = this.#patterns.get(text)
    if (known !== undefined) return known
    if (!this.spend(STEPS_PER_PATTERN_CHARACTER * Math.min(text.length, LONGEST_PATTERN))) return null
    const pattern = Pattern.of(text)
    this.#patterns.set(text, pattern)
    return this.spend((pattern?.weight ?? 0) >>> 4) ? pattern : null
  }

  /** The schema a local reference (`#`, `#/$defs/name` …) points to; null for any other. */
  resolve(reference: unknown): Schema | null {
    if (reference === '#') return this.root
    if (typeof reference !== 'string' || !reference.startsWith('#/')) return null
    const known = this.#targets.get(reference)
    if (known !== undefined) return known
    if (!this.spend(reference.length)) return null
    const target = this.#target(reference)
    this.#targets.set(reference, target)
    return target
  }

  #target(reference: string): Schema | null {
    let place: unknown = this.root
    for (const step of reference.slice(2).split('/')) {
      const name = stepName(step)
      if (typeof place !== 'object' || place === null || name === null) return null
      place = own(place as Obj, name)
    }
    return isSchema(place) ? place : null
  }
}

/** One step of a JSON pointer in a URI fragment. */
function stepName(step: string): string | null {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return null
  }
}

/** What `$ref` says, for a message. */
export function referenceName(schema: Obj): string {
  return JSON.stringify(schema.$ref)
}

/** The first keyword of the schema that nothing here understands, or null. */
export function keywordBeyond(schema: Obj): string | null {
  for (const keyword of BEYOND) if (Object.hasOwn(schema, keyword)) return keyword
  if (Array.isArray(own(schema, 'items'))) return 'items with a list'
  if (typeof own(schema, 'exclusiveMinimum') === 'boolean') return 'boolean exclusiveMinimum'
  if (typeof own(schema, 'exclusiveMaximum') === 'boolean') return 'boolean exclusiveMaximum'
  return null
}
