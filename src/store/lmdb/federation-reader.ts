import type {
  AuditPage,
  AuditRow,
  AuditTrailName,
  FederationIssuer,
  FederationPolicy,
  SigningRing,
} from '../federation-store.js'
import { decoded, idKey } from './account-layout.js'
import type { Environment } from './environment.js'
import {
  belongingPrefix,
  EMPTY_TRAIL,
  type FederationTables,
  type RecordKind,
  RING_KEY,
  recordKey,
  rowKey,
  type TrailExtent,
  trailKey,
} from './federation-layout.js'

/** Parsed records kept at a time; beyond it the oldest goes. About 1.5 KB each. */
const REMEMBERED = 10_000

interface Remembered {
  /** What the store said when the record was parsed. */
  readonly bytes: Buffer
  readonly record: object
}

/** Reads of federation, each from a snapshot of its own. */
export class FederationReader {
  readonly #env: Environment
  readonly #tables: FederationTables
  readonly #remembered = new Map<string, Remembered>()

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
    if (organizationId !== '' && idKey(organizationId) === null) return { rows: [], total: 0 }
    const at = trailKey(trail, organizationId)
    return this.#together(() => {
      const [first, next] = this.#extent(at)
      const rows: AuditRow[] = []
      const newest = next - 1 - offset
      for (let number = newest; number >= first && rows.length < limit; number--) {
        rows.push(decoded<AuditRow>(this.#env.get(this.#tables.audit, rowKey(at, number))!))
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

  /**
   * The stored bytes are read every time, and only when they are the ones that were parsed before does the parsed
   * record serve again: it saves the parsing and can never be stale.
   */
  #read<T extends object>(name: string, at: Buffer): T | null {
    return this.#together(() => {
      const bytes = this.#env.get(this.#tables.records, at)
      return bytes === undefined ? null : (this.#parsed(name, bytes) as T)
    })
  }

  /** `bytes` are borrowed. */
  #parsed(name: string, bytes: Uint8Array): object {
    const before = this.#remembered.get(name)
    if (before?.bytes.equals(bytes) === true) return before.record
    const record = decoded(bytes)
    if (this.#remembered.size >= REMEMBERED) {
      const { value: oldest } = this.#remembered.keys().next()
      if (oldest !== undefined) this.#remembered.delete(oldest)
    }
    this.#remembered.set(name, { bytes: Buffer.from(bytes), record })
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
