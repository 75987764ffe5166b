/** One way through a schema of a caller's: what it refers to, and how much of it may be looked at. */
import { ownMember, type SchemaObject } from './schema-values.js'

/**
 * Steps that one schema may take altogether. A step stands for about a microsecond, and all that grows with the schema
 * or with the value pays by its size: the worst schema takes a few tens of milliseconds, and no value has more than
 * some 250,000 characters.
 */
export const STEP_BUDGET = 16_000

/** Entries that are walked in one step, and characters that are read or written in one. */
const ENTRIES_PER_STEP = 4
const CHARACTERS_PER_STEP = 16

/** No value satisfies the schema, or it is too complex to tell; the message names the place in it and the reason. */
export class NoValueError extends Error {}

/** What is shared while one schema is worked on: the root for references, and the step budget. */
export class SchemaWalk {
  /** Steps that are left; 0 once a step was refused. */
  left: number
  readonly root: unknown

  constructor(root: unknown, steps = STEP_BUDGET) {
    this.root = root
    this.left = steps
  }

  /** Takes steps from the budget. Throws `NoValueError` when they are not there, and ever after. */
  spend(steps = 1): void {
    if (steps > this.left) {
      this.left = 0
      throw new NoValueError('the schema is too complex')
    }
    this.left -= steps
  }

  /** Pays for walking a list or the members of an object. */
  spendOnEntries(entries: number): void {
    this.spend(1 + entries / ENTRIES_PER_STEP)
  }

  /** Pays for making, copying or comparing a text. */
  spendOnText(characters: number): void {
    this.spend(1 + characters / CHARACTERS_PER_STEP)
  }

  /** Pays for a look at one schema object: its keywords, and what stands in their lists and maps. */
  visit(schema: SchemaObject): void {
    const inner = Object.values(schema).map((value) => {
      if (Array.isArray(value)) return value.length
      return typeof value === 'object' && value !== null ? Object.keys(value).length : 0
    })
    this.spendOnEntries(inner.reduce((sum, entries) => sum + 1 + entries, 0))
  }

  /**
   * Pays for a value that stands in the schema and is compared, or becomes a part of the answer: piece by piece, so
   * that of what is too much only the beginning is looked at.
   */
  spendOnValue(value: unknown): void {
    this.spend((typeof value === 'string' ? value.length : 1) / CHARACTERS_PER_STEP)
    if (typeof value !== 'object' || value === null) return
    for (const [name, member] of Object.entries(value)) {
      this.spend((name.length + 1) / CHARACTERS_PER_STEP)
      this.spendOnValue(member)
    }
  }

  /** The schema that a local reference (`#`, `#/$defs/name` …) points to; undefined for any other. */
  resolve(reference: unknown): unknown {
    if (reference === '#') return this.root
    if (typeof reference !== 'string' || !reference.startsWith('#/')) return undefined
    this.spendOnText(reference.length)
    let target = this.root
    for (const step of reference.slice(2).split('/')) {
      const name = pointerName(step)
      if (typeof target !== 'object' || target === null || name === null) return undefined
      target = ownMember(target as SchemaObject, name)
    }
    return target
  }
}

/** One step of a JSON pointer in a URI fragment; null when it is not encoded well. */
function pointerName(step: string): string | null {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return null
  }
}
