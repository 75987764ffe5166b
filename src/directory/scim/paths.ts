/** What a name in a filter, a path of a PATCH or a key of a body stands for (RFC 7644 3.10 and 3.5.2). */
import { refusal, type ScimError } from './errors.js'
import { type FilterNode, parseFilterText } from './filter-syntax.js'
import type { Quirks } from './quirks.js'
import { type Attribute, attributeOf, type ResourceType, type Schema } from './schema.js'

/** An attribute of a resource, or one of its sub-attributes; a whole extension when `attribute` is null. */
export interface AttributeName {
  readonly schema: Schema
  readonly attribute: Attribute | null
  readonly sub: Attribute | null
}

/** Where an operation of a PATCH works. */
export interface AttributePath extends AttributeName {
  /** Which values of a list; names within are those of sub-attributes. */
  readonly filter: FilterNode | null
}

const LONGEST = 1_000
const NAME = /^\$?[A-Za-z][\w-]*(\.\$?[A-Za-z][\w-]*)?$/

/** Null for a name that no schema here has; `userName`, `name.givenName` and either after the URN of their schema. */
export function resolveName(text: string, type: ResourceType, quirks: Quirks): AttributeName | null {
  const { schema, rest } = schemaOf(text, type, quirks)
  if (rest === '') return schema === type.core ? null : { schema, attribute: null, sub: null }
  const [name = '', subName, further] = rest.split('.', 3)
  const attribute = attributeOf(type, schema, name)
  if (attribute === undefined || further !== undefined) return null
  if (attribute.name !== name) quirks.add('name-in-another-case')
  if (subName === undefined) return { schema, attribute, sub: null }
  const sub = subAttributeOf(attribute, subName, quirks)
  return sub && { schema, attribute, sub }
}

/** The sub-attribute of that name in any case, or null. */
export function subAttributeOf(attribute: Attribute, name: string, quirks: Quirks): Attribute | null {
  const sub = attribute.byName.get(name.toLowerCase()) ?? null
  if (sub && sub.name !== name) quirks.add('name-in-another-case')
  return sub
}

function schemaOf(text: string, type: ResourceType, quirks: Quirks): { schema: Schema; rest: string } {
  for (const schema of [type.core, ...type.extensions]) {
    const { length } = schema.id
    const after = text.charAt(length)
    if (text.slice(0, length).toLowerCase() !== schema.id.toLowerCase() || !/^[:.]?$/.test(after)) continue
    if (!text.startsWith(schema.id)) quirks.add('name-in-another-case')
    if (after !== '') quirks.add(after === '.' ? 'dot-after-urn' : 'colon-path')
    return { schema, rest: text.slice(length + 1) }
  }
  return { schema: type.core, rest: text }
}

/** The path of an operation; `unknown` for an attribute that no schema here has. */
export function parsePath(
  text: string,
  type: ResourceType,
  quirks: Quirks,
): AttributePath | 'unknown' | ScimError {
  const parts = text.length > LONGEST ? null : splitAtFilter(text.trim())
  if (parts === null) return invalid()
  const name = parts.before + parts.after
  // A URN of a schema that is not ours has colons and dots anywhere.
  if (!NAME.test(name) && !/^urn:[\w.:$-]+$/i.test(name)) return invalid()
  const resolved = resolveName(name, type, quirks)
  if (parts.filter === null) return resolved === null ? 'unknown' : { ...resolved, filter: null }
  const filter = parseFilterText(parts.filter)
  if (!('kind' in filter)) return filter
  if (resolved === null) return 'unknown'
  return resolved.attribute?.multiValued ? { ...resolved, filter } : invalid()
}

function invalid(): ScimError {
  return refusal('invalidPath', 'The path of an operation cannot be read.')
}

/** `emails[type eq "work"].value` as `emails`, `type eq "work"` and `.value`; null when brackets or what follows are amiss. */
function splitAtFilter(text: string): { before: string; filter: string | null; after: string } | null {
  const start = text.indexOf('[')
  if (start === -1) return { before: text, filter: null, after: '' }
  const end = text.lastIndexOf(']')
  const after = text.slice(end + 1)
  // A bracket within a text of the filter cannot be the last one: what follows a filter has neither quotes nor blanks.
  if (end < start || (after !== '' && !/^\.[\w$-]+$/.test(after))) return null
  return { before: text.slice(0, start), filter: text.slice(start + 1, end), after }
}
