import type {
  AuditPage,
  AuditRow,
  AuditTrailName,
  FederationIssuer,
  FederationPolicy,
  SigningRing,
} from '../../federation-store.js'
import { decoded } from '../accounts/account-layout.js'
import type { Environment } from '../environment.js'
import { ParsedRecords } from '../parsed-records.js'
import {
  belongingPrefix,
  EMPTY_TRAIL,
  type FederationTables,
  isId,
  lineOf,
  linesOn,
  type RecordKind,
  RING_KEY,
  recordKey,
  sheetKey,
  sheetOf,
  type TrailExtent,
  trailKey,
} from './federation-layout.js'

/** Reads of federation, each from a snapshot of its own. */
export class FederationReader {
  readonly #env: Environment
  readonly #tables: FederationTables
  readonly #parsed = new ParsedRecords()

  constructor(env: Environment, tables: FederationTables) {
    this.#env = env
    this.#tables = tables
  }

  issuer(id: string): FederationIssuer | null {
    return this.#record('i', id)
  }

  issuersOf(organizationId: string): FederationIssuer[] {
    return this.#belonging('i', organizationId)
  }

  policy(id: string): FederationPolicy | null {
    return this.#record('p', id)
  }

  policiesOf(organizationId: string): FederationPolicy[] {
    return this.#belonging('p', organizationId)
  }

  signingRing(): SigningRing | null {
    return this.#read('s', RING_KEY)
  }

  auditPage(organizationId: string, trail: AuditTrailName, offset: number, limit: number): AuditPage {
    if (organizationId !== '' && !isId(organizationId)) return { rows: [], total: 0 }
    const at = trailKey(trail, organizationId)
    return this.#together(() => {
      const [first, next] = this.#extent(at)
      const rows: AuditRow[] = []
      const newest = next - 1 - offset
      let sheet = -1
      let lines: string[] = []
      for (let number = newest; number >= first && rows.length < limit; number--) {
        if (sheetOf(number) !== sheet) {
          sheet = sheetOf(number)
          lines = linesOn(this.#env.get(this.#tables.audit, sheetKey(at, sheet))!)
        }
        rows.push(Object.freeze(JSON.parse(lines[lineOf(number)]!) as AuditRow))
      }
      return { rows, total: next - first }
    })
  }

  #extent(at: Buffer): TrailExtent {
    const bytes = this.#env.get(this.#tables.audit, at)
    return bytes === undefined ? EMPTY_TRAIL : (decoded(bytes) as TrailExtent)
  }

  #record<T extends object>(kind: RecordKind, id: string): T | null {
    const at = recordKey(kind, id)
    return at === null ? null : this.#read(kind + id, at)
  }

  #read<T extends object>(name: string, at: Buffer): T | null {
    const raw = this.#env.raw(this.#tables.records, at)
    const record = raw === undefined ? null : this.#parsed.of<T>(name, raw)
    this.#env.release()
    return record
  }

  #belonging<T extends object>(kind: RecordKind, organizationId: string): T[] {
    const prefix = belongingPrefix(kind, organizationId)
    if (prefix === null) return []
    return this.#together(() =>
      this.#env
        .range(this.#tables.belongings, prefix)
        .map((id) => decoded<T>(this.#env.get(this.#tables.records, recordKey(kind, id.toString())!)!)),
    )
  }

  /** All reads of one answer see the same snapshot. */
  #together<T>(read: () => T): T {
    try {
      return read()
    } finally {
      this.#env.release()
    }
  }
}
