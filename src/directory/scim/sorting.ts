/** The order of a list (RFC 7644 3.4.2.3). */
import { foldCase } from '../../base/fold-case.js'
import type { ScimDocument } from '../../store/directory-store.js'
import { refusal, type ScimError } from './errors.js'
import { partOf } from './filter.js'
import { type AttributeName, resolveName } from './paths.js'
import type { Quirks } from './quirks.js'
import { RESOURCE_TYPES, type ResourceName } from './schema.js'

/** Compares whole resources, as they are rendered. What has no value comes last, and first when descending. */
export function parseSort(
  sortBy: string,
  sortOrder: string | undefined,
  name: ResourceName,
  quirks: Quirks,
): ((a: ScimDocument, b: ScimDocument) => number) | ScimError {
  const type = RESOURCE_TYPES[name]
  const resolved = resolveName(sortBy.trim(), type, quirks)
  if (resolved?.attribute == null || resolved.attribute.returned === 'never') {
    return refusal('invalidPath', 'The list cannot be sorted by this attribute.')
  }
  const keyOf = sortKey(resolved, resolved.schema === type.core ? null : resolved.schema.id)
  const direction = sortOrder?.toLowerCase() === 'descending' ? -1 : 1
  return (a, b) => direction * compare(keyOf(a), keyOf(b))
}

/** Texts fold where case does not count; of a list the primary value, or the first, counts. */
function sortKey(
  { attribute, sub }: AttributeName,
  extension: string | null,
): (resource: ScimDocument) => string | null {
  const sorted = sub ?? attribute!
  const key = sub?.name ?? 'value'
  return (resource) => {
    const holder = extension === null ? resource : resource[extension]
    let value = partOf(holder, attribute!.name)
    if (Array.isArray(value)) value = value.find((one) => partOf(one, 'primary') === true) ?? value[0]
    if (typeof value === 'object') value = partOf(value, key)
    if (value === undefined || value === null) return null
    return sorted.caseExact ? String(value) : foldCase(String(value))
  }
}

function compare(a: string | null, b: string | null): number {
  if (a === b) return 0
  if (a === null || b === null) return a === null ? 1 : -1
  return a < b ? -1 : 1
}
