import { ownMember, type SchemaObject } from './json-values.js'
import { MAX_PATTERN_LENGTH, type Pattern, parsePattern } from './pattern.js'

/**
 * Steps that one schema may take altogether, over all attempts. A step stands for about a microsecond, and all that
 * grows with the schema or with the value pays by its size: the worst schema takes a few tens of milliseconds, and no
 * value has more than some 250,000 characters.
 */
export const STEP_BUDGET = 16_000

/** Entries that are walked in one step, and characters that are read or written in one. */
const ENTRIES_PER_STEP = 8
const CHARACTERS_PER_STEP = 16

/** Keywords that change what is valid and that no sample takes into account; the schema is refused. */
const UNSUPPORTED_KEYWORDS = [
  'not',
  'if',
  'contains',
  'patternProperties',
  'dependentRequired',
  'dependentSchemas',
  'dependencies',
  'unevaluatedProperties',
  'unevaluatedItems',
  'additionalItems',
  '$dynamicRef',
  '$recursiveRef',
] as const

/** No value can be made; the message names the place in the schema and the reason. */
export class NoValueError extends Error {}

/** What is shared while one schema is worked on: the root for references, the patterns, and the step budget. */
export class SchemaContext {
  readonly #root: unknown
  readonly #patterns = new Map<string, Pattern | null>()
  readonly #targets = new Map<string, unknown>()
  /** Sizes of objects and lists of the schema, which may be met many thousand times. */
  readonly #entries = memoized(entriesOf)
  readonly #characters = memoized(charactersOf)
  #left = STEP_BUDGET
  #exhausted = false

  constructor(root: unknown) {
    this.#root = root
  }

  /** Steps that are left; 0 once a step was refused. */
  get left(): number {
    return this.#exhausted ? 0 : this.#left
  }

  /**
   * Takes steps from the budget before they are made. Throws `NoValueError` when they are not there, and ever
   * after.
   */
  spend(steps = 1): void {
    if (this.#exhausted || steps > this.#left) {
      this.#exhausted = true
      throw new NoValueError('the schema is too complex')
    }
    this.#left -= steps
  }

  /** Pays for walking a list or the members of an object. */
  spendOnEntries(entries: number): void {
    this.spend(1 + Math.floor(entries / ENTRIES_PER_STEP))
  }

  /** Pays for making, copying or comparing a text. */
  spendOnText(characters: number): void {
    this.spend(1 + Math.floor(characters / CHARACTERS_PER_STEP))
  }

  /** Pays for a look at one schema object: its keywords, and what stands in their lists and maps. */
  visit(schema: SchemaObject): void {
    this.spendOnEntries(this.#entries(schema))
  }

  /** Pays for a value that stands in the schema and is compared, or becomes a part of the answer. */
  spendOnValue(value: unknown): void {
    this.spendOnText(this.#characters(value))
  }

  /** Null for a pattern outside the supported subset. */
  pattern(source: string): Pattern | null {
    const known = this.#patterns.get(source)
    if (known !== undefined) return known
    this.spend(2 * Math.min(source.length, MAX_PATTERN_LENGTH))
    const pattern = parsePattern(source)
    this.#patterns.set(source, pattern)
    return pattern
  }

  /** The schema that a local reference (`#`, `#/$defs/name` …) points to; undefined for any other. */
  resolve(reference: unknown): unknown {
    if (reference === '#') return this.#root
    if (typeof reference !== 'string' || !reference.startsWith('#/')) return undefined
    if (this.#targets.has(reference)) return this.#targets.get(reference)
    this.spend(reference.length)
    let target = this.#root
    for (const step of reference.slice(2).split('/')) {
      const name = pointerName(step)
      if (typeof target !== 'object' || target === null || name === null) return undefined
      target = ownMember(target as SchemaObject, name)
    }
    this.#targets.set(reference, target)
    return target
  }
}

/** The first keyword of the schema that is not supported, or null. */
export function findUnsupportedKeyword(schema: SchemaObject): string | null {
  for (const keyword of UNSUPPORTED_KEYWORDS) if (Object.hasOwn(schema, keyword)) return keyword
  if (Array.isArray(ownMember(schema, 'items'))) return 'items with a list'
  if (typeof ownMember(schema, 'exclusiveMinimum') === 'boolean') return 'boolean exclusiveMinimum'
  if (typeof ownMember(schema, 'exclusiveMaximum') === 'boolean') return 'boolean exclusiveMaximum'
  return null
}

/** Measures each object or list once; what is measured must not change. */
function memoized(measure: (value: unknown) => number): (value: unknown) => number {
  const sizes = new WeakMap<object, number>()
  return (value) => {
    if (typeof value !== 'object' || value === null) return measure(value)
    const size = sizes.get(value) ?? measure(value)
    sizes.set(value, size)
    return size
  }
}

function entriesOf(schema: unknown): number {
  const sizeOf = (value: unknown) =>
    typeof value === 'object' && value !== null ? Object.keys(value).length : 0
  return Object.values(schema as SchemaObject).reduce<number>((sum, value) => sum + 1 + sizeOf(value), 0)
}

/** Characters of a value as JSON, about: names and texts, and one for everything else. */
function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 1
  let characters = 1
  for (const [name, member] of Object.entries(value)) characters += name.length + charactersOf(member)
  return characters
}

/** One step of a JSON pointer in a URI fragment; null when it is not encoded well. */
function pointerName(step: string): string | null {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return null
  }
}
