/** Pages of an organization's audit: one trail, or all of them as one. */
import { Fault, ValidationIssue } from '../../base/fault.js'
import {
  AUDIT_TRAILS,
  type AuditTrailName,
  type FederationAuditPage,
  type FederationStore,
} from '../../store/federation-store.js'

/**
 * How deep all trails together can be read: their rows are merged for every page, from the newest on. A single trail
 * is read where the page lies.
 */
const MAX_MERGED_OFFSET = 1_000

/** Newest first. Fails with `invalid-input` when all trails are asked for deeper than that. */
export function readAuditPage(
  store: Pick<FederationStore, 'auditPage'>,
  organizationId: string,
  trail: AuditTrailName | null,
  offset: number,
  limit: number,
): FederationAuditPage {
  if (trail !== null) return store.auditPage(organizationId, trail, offset, limit)
  if (offset > MAX_MERGED_OFFSET) {
    const note = `must be at most ${MAX_MERGED_OFFSET} without a trail`
    throw new Fault('invalid-input', {
      issues: [new ValidationIssue(['query', 'offset'], 'other', undefined, note)],
    })
  }
  const pages = AUDIT_TRAILS.map((each) => store.auditPage(organizationId, each, 0, offset + limit))
  const rows = pages
    .flatMap((page) => page.rows)
    .sort((a, b) => b.at - a.at)
    .slice(offset, offset + limit)
  return { rows, total: pages.reduce((sum, { total }) => sum + total, 0) }
}
