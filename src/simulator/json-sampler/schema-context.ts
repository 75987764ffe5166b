import { ownMember, type SchemaObject } from '../../gateway/formats/json-schema/schema-values.js'
import { SchemaWalk } from '../../gateway/formats/json-schema/schema-walk.js'
import { describedRules } from './described-rules.js'

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

/** A way through one schema that also follows rules in the words of descriptions. */
export class SchemaContext extends SchemaWalk {
  #descriptions: 'unseen' | 'followed' | 'ignored' = 'unseen'

  /** Rules in the words of a description, unless they are ignored; null for none. */
  describedRules(schema: SchemaObject): SchemaObject | null {
    const rules = this.#descriptions === 'ignored' ? null : describedRules(schema)
    if (rules !== null) this.#descriptions = 'followed'
    return rules
  }

  /** Follows no description from now on. False when that changes nothing, or nothing of the budget is left. */
  ignoreDescriptions(): boolean {
    const changes = this.#descriptions === 'followed' && this.left > 0
    this.#descriptions = 'ignored'
    return changes
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
