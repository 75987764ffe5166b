import type {
  AuditTrailName,
  FederationAuditPage,
  FederationAuditRow,
  FederationIssuer,
  FederationPolicy,
  SigningKeyRing,
} from '../../federation-store.js'
import { decodeRecord } from '../accounts/account-layout.js'
import type { LmdbEnvironment } from '../environment.js'
import { ParsedRecords } from '../parsed-records.js'
import {
  type AuditTrailExtent,
  auditBlockKey,
  auditBlockOf,
  auditTrailKey,
  EMPTY_AUDIT_TRAIL,
  type FederationRecordKind,
  type FederationTables,
  isId,
  lineInAuditBlock,
  ownerIndexPrefix,
  recordKey,
  SIGNING_KEY_RING_KEY,
  splitLines,
} from './federation-layout.js'

/** Reads of federation, each from a snapshot of its own. */
export class FederationReader {
  readonly #env: LmdbEnvironment
  readonly #tables: FederationTables
  readonly #parsed = new ParsedRecords()

  constructor(env: LmdbEnvironment, tables: FederationTables) {
    this.#env = env
    this.#tables = tables
  }

  issuer(id: string): FederationIssuer | null {
    return this.#readById('i', id)
  }

  issuersOf(organizationId: string): FederationIssuer[] {
    return this.#recordsOfOwner('i', organizationId)
  }

  policy(id: string): FederationPolicy | null {
    return this.#readById('p', id)
  }

  policiesOf(organizationId: string): FederationPolicy[] {
    return this.#recordsOfOwner('p', organizationId)
  }

  signingRing(): SigningKeyRing | null {
    return this.#read('s', SIGNING_KEY_RING_KEY)
  }

  auditPage(
    organizationId: string,
    trail: AuditTrailName,
    offset: number,
    limit: number,
  ): FederationAuditPage {
    if (organizationId !== '' && !isId(organizationId)) return { rows: [], total: 0 }
    const at = auditTrailKey(trail, organizationId)
    return this.#inSnapshot(() => {
      const [first, next] = this.#readExtent(at)
      const rows: FederationAuditRow[] = []
      const newest = next - 1 - offset
      let sheet = -1
      let lines: string[] = []
      for (let number = newest; number >= first && rows.length < limit; number--) {
        if (auditBlockOf(number) !== sheet) {
          sheet = auditBlockOf(number)
          lines = splitLines(this.#env.get(this.#tables.audit, auditBlockKey(at, sheet))!)
        }
        rows.push(Object.freeze(JSON.parse(lines[lineInAuditBlock(number)]!) as FederationAuditRow))
      }
      return { rows, total: next - first }
    })
  }

  #readExtent(at: Buffer): AuditTrailExtent {
    const bytes = this.#env.get(this.#tables.audit, at)
    return bytes === undefined ? EMPTY_AUDIT_TRAIL : (decodeRecord(bytes) as AuditTrailExtent)
  }

  #readById<T extends object>(kind: FederationRecordKind, id: string): T | null {
    const at = recordKey(kind, id)
    return at === null ? null : this.#read(kind + id, at)
  }

  #read<T extends object>(name: string, at: Buffer): T | null {
    const raw = this.#env.getUnbounded(this.#tables.records, at)
    const record = raw === undefined ? null : this.#parsed.parse<T>(name, raw)
    this.#env.releaseSnapshot()
    return record
  }

  #recordsOfOwner<T extends object>(kind: FederationRecordKind, organizationId: string): T[] {
    const prefix = ownerIndexPrefix(kind, organizationId)
    if (prefix === null) return []
    return this.#inSnapshot(() =>
      this.#env
        .valuesWithPrefix(this.#tables.ownerIndex, prefix)
        .map((id) => decodeRecord<T>(this.#env.get(this.#tables.records, recordKey(kind, id.toString())!)!)),
    )
  }

  /** All reads of one answer see the same snapshot. */
  #inSnapshot<T>(read: () => T): T {
    try {
      return read()
    } finally {
      this.#env.releaseSnapshot()
    }
  }
}
