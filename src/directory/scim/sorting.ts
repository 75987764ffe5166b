/** The order of a list (RFC 7644 3.4.2.3). */
import { foldCase } from '../../base/fold-case.js'
import type { ScimDocument } from '../../store/directory-store.js'
import { refusal, type ScimError } from './errors.js'
import { partOf } from './filter.js'
import { type AttributeName, resolveName } from './paths.js'
import type { Quirks } from './quirks.js'
import { RESOURCE_TYPES, type ResourceName } from './schema.js'

/** Characters of a value by which it is sorted: thousands of them are held at a time. */
const LONGEST_KEY = 256

/** What a resource is sorted by. */
export type SortKey = string | null

export interface SortOrder {
  /** Of a whole resource, as it is rendered. */
  keyOf(resource: ScimDocument): SortKey
  compare(a: SortKey, b: SortKey): number
}

/** What has no value comes last, and first when descending. */
export function parseSort(
  sortBy: string,
  sortOrder: string | undefined,
  name: ResourceName,
  quirks: Quirks,
): SortOrder | ScimError {
  const type = RESOURCE_TYPES[name]
  const resolved = resolveName(sortBy.trim(), type, quirks)
  if (resolved?.attribute == null || resolved.attribute.returned === 'never') {
    return refusal('invalidPath', 'The list cannot be sorted by this attribute.')
  }
  const keyOf = sortKey(resolved, resolved.schema === type.core ? null : resolved.schema.id)
  const direction = sortOrder?.toLowerCase() === 'descending' ? -1 : 1
  return { keyOf, compare: (a, b) => direction * compare(a, b) }
}

/** Texts fold where case does not count; of a list the primary value, or the first, counts. */
function sortKey(
  { attribute, sub }: AttributeName,
  extension: string | null,
): (resource: ScimDocument) => SortKey {
  const sorted = sub ?? attribute!
  const key = sub?.name ?? 'value'
  return (resource) => {
    const holder = extension === null ? resource : resource[extension]
    let value = partOf(holder, attribute!.name)
    if (Array.isArray(value)) value = value.find((one) => partOf(one, 'primary') === true) ?? value[0]
    if (typeof value === 'object') value = partOf(value, key)
    if (value === undefined || value === null) return null
    const text = beginningOf(String(value))
    return sorted.caseExact ? text : foldCase(text)
  }
}

/** A copy: a part of a text keeps the whole of it in memory. */
function beginningOf(text: string): string {
  if (text.length <= LONGEST_KEY) return text
  return Buffer.from(text.slice(0, LONGEST_KEY), 'utf16le').toString('utf16le')
}

function compare(a: SortKey, b: SortKey): number {
  if (a === b) return 0
  if (a === null || b === null) return a === null ? 1 : -1
  return a < b ? -1 : 1
}
