/** Changes that are meant for one version of a record. */
import { Fault } from '../../base/fault.js'
import type { FederationAuditRow } from '../../store/federation-store.js'

interface ChangingStore<R> {
  /** Nothing is written when the very record comes back. */
  change(id: string, change: (current: R) => R, audit: FederationAuditRow): Promise<R | null>
}

export const CHANGED_MEANWHILE = new Fault('precondition-failed', {
  note: 'the record is not the one that If-Match names: read it again',
})

/**
 * Changes a record where `allows` lets the one that is there be replaced, which is judged together with the write.
 * Null when there is none; fails with `precondition-failed` otherwise.
 */
export async function changeIf<R>(
  store: ChangingStore<R>,
  id: string,
  allows: (current: R) => boolean,
  apply: (current: R) => R,
  audit: FederationAuditRow,
): Promise<R | null> {
  let isOther = false
  const change = (current: R): R => {
    isOther = !allows(current)
    return isOther ? current : apply(current)
  }
  const saved = await store.change(id, change, audit)
  if (isOther) throw CHANGED_MEANWHILE
  return saved
}
