/** Which attributes an answer shows (RFC 7644 3.9). */
import type { ScimDocument, ScimValue } from '../../store/directory-store.js'
import { type AttributeName, resolveName } from './paths.js'
import type { Quirks } from './quirks.js'
import { RESOURCE_TYPES, type ResourceName } from './schema.js'

export interface Projection {
  /** Whether the request named attributes to show or to leave out: a PATCH is then answered with the resource. */
  readonly asked: boolean
  /** Whether the answer shows this list: it need not be read otherwise. */
  wants(attribute: 'groups' | 'members'): boolean
  /** The resource as it is shown. */
  of(resource: ScimDocument): ScimDocument
}

/** An attribute and, unless all of them are meant, which of its sub-attributes. */
type Selection = Map<string, Set<string> | 'all'>

/** Of the text of a parameter; names behind that are left out. */
const LONGEST = 4_096

/** Shown whatever is asked for: a resource cannot do without. */
const ALWAYS: ReadonlySet<string> = new Set(['schemas', 'id'])

/** Names that no schema here has select nothing. With both parameters, the second is taken from the first. */
export function parseProjection(
  attributes: string | undefined,
  excludedAttributes: string | undefined,
  name: ResourceName,
  quirks: Quirks,
): Projection {
  const shown = attributes === undefined ? null : selectionOf(attributes, name, quirks)
  const hidden = excludedAttributes === undefined ? null : selectionOf(excludedAttributes, name, quirks)
  return {
    asked: shown !== null || hidden !== null,
    wants: (attribute) => (shown === null || shown.has(attribute)) && hidden?.get(attribute) !== 'all',
    of: (resource) => without(only(resource, shown), hidden),
  }
}

function selectionOf(text: string, name: ResourceName, quirks: Quirks): Selection {
  const selection: Selection = new Map()
  for (const part of namesIn(text, quirks)) {
    const resolved = resolveName(part, RESOURCE_TYPES[name], quirks)
    if (resolved !== null) select(selection, resolved, name)
  }
  return selection
}

/** Attributes of an extension stand in an object of its own, one level deeper than those of the core. */
function select(selection: Selection, { schema, attribute, sub }: AttributeName, name: ResourceName): void {
  const isCore = schema === RESOURCE_TYPES[name].core
  const [key, part] = isCore ? [attribute!.name, sub?.name] : [schema.id, attribute?.name]
  const parts = selection.get(key)
  if (part === undefined) selection.set(key, 'all')
  else if (parts === undefined) selection.set(key, new Set([part]))
  else if (parts !== 'all') parts.add(part)
}

/** The names between commas; a filter such as `[type eq "a,b"]` is left out. */
function namesIn(text: string, quirks: Quirks): readonly string[] {
  const bare = text.slice(0, LONGEST).replace(/\[(?:[^[\]"]|"(?:[^"\\]|\\.)*")*\]/g, '')
  if (bare.length < Math.min(text.length, LONGEST)) quirks.add('value-path-in-attributes')
  return bare
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function only(resource: ScimDocument, shown: Selection | null): ScimDocument {
  if (shown === null) return resource
  return mapEntries(resource, (name, value) => {
    if (ALWAYS.has(name)) return value
    const parts = shown.get(name)
    if (parts === undefined || parts === 'all') return parts && value
    return mapParts(value, (part) => parts.has(part))
  })
}

function without(resource: ScimDocument, hidden: Selection | null): ScimDocument {
  if (hidden === null) return resource
  return mapEntries(resource, (name, value) => {
    const parts = hidden.get(name)
    if (ALWAYS.has(name) || parts === undefined) return value
    return parts === 'all' ? undefined : mapParts(value, (part) => !parts.has(part))
  })
}

/** What is mapped to undefined is left out. */
function mapEntries(
  object: ScimDocument,
  map: (name: string, value: ScimValue) => ScimValue | undefined,
): ScimDocument {
  const entries = Object.entries(object).map(([name, value]) => [name, map(name, value)] as const)
  return Object.fromEntries(entries.filter((entry): entry is [string, ScimValue] => entry[1] !== undefined))
}

function mapParts(value: ScimValue, keeps: (part: string) => boolean): ScimValue | undefined {
  if (Array.isArray(value)) return value.map((one) => mapParts(one, keeps)).filter((one) => one !== undefined)
  if (typeof value !== 'object' || value === null) return value
  const parts = mapEntries(value as ScimDocument, (name, part) => (keeps(name) ? part : undefined))
  return Object.keys(parts).length === 0 ? undefined : parts
}
