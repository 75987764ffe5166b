/** Query parameters of the lists. */
import { ValidationIssue } from '../../base/fault.js'
import { integerParam, type TextField } from '../../http/params.js'
import { AUDIT_TRAILS, type AuditTrailName } from '../../store/federation-store.js'

export const PAGING_PARAMS = {
  offset: integerParam({ min: 0, default: 0, description: 'Entries to skip.' }),
  limit: integerParam({ min: 1, max: 100, default: 50, description: 'Most entries of the answer.' }),
}

export const TRAIL_PARAM: TextField<AuditTrailName | null> = {
  required: false,
  schema: { type: 'string', enum: AUDIT_TRAILS, description: 'Only this trail; all without it.' },
  read: (raw, loc) => {
    if (raw === undefined) return null
    const trail = AUDIT_TRAILS.find((each) => each === raw)
    return trail ?? new ValidationIssue(loc, 'other', undefined, `must be one of ${AUDIT_TRAILS.join(', ')}`)
  },
}

/** A page of a list that is at hand as a whole. */
export function pageView<T, V>(
  all: readonly T[],
  { offset, limit }: { readonly offset: number; readonly limit: number },
  view: (each: T) => V,
): { readonly data: V[]; readonly total_count: number } {
  return { data: all.slice(offset, offset + limit).map(view), total_count: all.length }
}
