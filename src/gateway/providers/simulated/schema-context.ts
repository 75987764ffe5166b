import { isSchema, type Obj, own, type Schema } from './json-values.js'
import { Pattern } from './pattern.js'

/** Steps that one schema may take altogether, in making and checking. A few tens of milliseconds at the worst. */
const BUDGET = 24_000

/** Keywords that change what is valid and that are not understood here; to ignore one could make a wrong answer. */
export const BEYOND = [
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
  #left = BUDGET

  constructor(root: Schema) {
    this.root = root
  }

  /** Takes steps from the budget; false when it is used up. */
  spend(steps = 1): boolean {
    this.#left -= steps
    return this.#left >= 0
  }

  get exhausted(): boolean {
    return this.#left < 0
  }

  /** Remembers that a verdict is in doubt, and why. */
  doubt(reason: string): string {
    this.doubted ??= reason
    return reason
  }

  /** Null for a pattern beyond what is understood here. */
  pattern(text: string): Pattern | null {
    const known = this.#patterns.get(text)
    if (known !== undefined) return known
    const pattern = Pattern.of(text)
    this.#patterns.set(text, pattern)
    return pattern
  }

  /** The schema a local reference (`#`, `#/$defs/name` …) points to; null for any other. */
  resolve(reference: unknown): Schema | null {
    if (reference === '#') return this.root
    if (typeof reference !== 'string' || !reference.startsWith('#/')) return null
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

/** The first keyword of the schema that nothing here understands, or null. */
export function keywordBeyond(schema: Obj): string | null {
  for (const keyword of BEYOND) if (Object.hasOwn(schema, keyword)) return keyword
  if (Array.isArray(own(schema, 'items'))) return 'items with a list'
  if (typeof own(schema, 'exclusiveMinimum') === 'boolean') return 'boolean exclusiveMinimum'
  if (typeof own(schema, 'exclusiveMaximum') === 'boolean') return 'boolean exclusiveMaximum'
  return null
}
