import type {
  FederationAuditRow,
  FederationIssuer,
  FederationPolicy,
  SigningKeyRing,
} from '../../federation-store.js'
import { decodeRecord, encodeRecord } from '../accounts/account-layout.js'
import type { LmdbEnvironment } from '../environment.js'
import {
  type AuditTrailExtent,
  auditBlockKey,
  auditBlockOf,
  auditTrailKey,
  EMPTY_AUDIT_TRAIL,
  type FederationRecordKind,
  type FederationTables,
  freeLinesFrom,
  joinLines,
  lineInAuditBlock,
  type OwnedRecord,
  ownerIndexKey,
  recordKey,
  SIGNING_KEY_RING_KEY,
  splitLines,
} from './federation-layout.js'

/** How much of a trail is kept. */
export interface AuditRetention {
  readonly rowsPerTrail: number
  readonly ms: number
}

export const AUDIT_RETENTION: AuditRetention = { rowsPerTrail: 10_000, ms: 400 * 24 * 60 * 60 * 1000 }

/** Rows that have become too old go with those that come, from so many sheets at a time. */
const MAX_PRUNED_BLOCKS = 4

/** A trail while rows are being added to it. */
interface AuditTrailAppend {
  readonly key: Buffer
  readonly first: number
  readonly next: number
  /** Rows that have come, and when the last of them did. */
  readonly newRows: string[]
  now: number
}

/** Changes of federation. Audit rows of exchanges come gathered; all else is rare, a transaction each. */
export class FederationWriter {
  readonly #env: LmdbEnvironment
  readonly #tables: FederationTables
  readonly #retention: AuditRetention
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(env: LmdbEnvironment, tables: FederationTables, retention: AuditRetention) {
    this.#env = env
    this.#tables = tables
    this.#retention = retention
  }

  /** Resolves when everything is on disk, or refused. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }

  addIssuer(issuer: FederationIssuer, audit: FederationAuditRow): Promise<void> {
    return this.#durably(() => this.#add('i', issuer, audit))
  }

  changeIssuer(
    id: string,
    change: (current: FederationIssuer) => FederationIssuer,
    audit: FederationAuditRow,
  ): Promise<FederationIssuer | null> {
    return this.#durably(() => this.#change('i', id, change, audit))
  }

  removeIssuer(id: string, audit: FederationAuditRow): Promise<boolean> {
    return this.#durably(() => this.#remove('i', id, audit))
  }

  addPolicy(policy: FederationPolicy, audit: FederationAuditRow): Promise<void> {
    return this.#durably(() => this.#add('p', policy, audit))
  }

  changePolicy(
    id: string,
    change: (current: FederationPolicy) => FederationPolicy,
    audit: FederationAuditRow,
  ): Promise<FederationPolicy | null> {
    const counted = (current: FederationPolicy): FederationPolicy => {
      const changed = change(current)
      return changed === current ? current : { ...changed, version: current.version + 1 }
    }
    return this.#durably(() => this.#change('p', id, counted, audit))
  }

  removePolicy(id: string, audit: FederationAuditRow): Promise<boolean> {
    return this.#durably(() => this.#remove('p', id, audit))
  }

  changeSigningRing(change: (current: SigningKeyRing | null) => SigningKeyRing): Promise<SigningKeyRing> {
    return this.#durably(() => {
      const current = this.#read<SigningKeyRing>(SIGNING_KEY_RING_KEY)
      const next = change(current)
      if (next !== current) this.#tables.records.put(SIGNING_KEY_RING_KEY, encodeRecord(next))
      return next
    })
  }

  appendAudit(rows: readonly FederationAuditRow[]): Promise<void> {
    return this.#durably(() => this.#appendAudit(rows))
  }

  #add(kind: FederationRecordKind, record: OwnedRecord, audit: FederationAuditRow): void {
    this.#tables.records.put(recordKey(kind, record.id)!, encodeRecord(record))
    this.#tables.ownerIndex.put(ownerIndexKey(kind, record), Buffer.from(record.id))
    this.#appendAudit([audit])
  }

  #change<T extends OwnedRecord & { readonly createdAt: number }>(
    kind: FederationRecordKind,
    id: string,
    change: (current: T) => T,
    audit: FederationAuditRow,
  ): T | null {
    const at = recordKey(kind, id)
    const current = at === null ? null : this.#read<T>(at)
    if (current === null) return null
    const changed = change(current)
    if (changed === current) return current
    const { organizationId, createdAt } = current
    const next = Object.freeze({ ...changed, id, organizationId, createdAt })
    this.#tables.records.put(at!, encodeRecord(next))
    this.#appendAudit([audit])
    return next
  }

  #remove(kind: FederationRecordKind, id: string, audit: FederationAuditRow): boolean {
    const at = recordKey(kind, id)
    const current = at === null ? null : this.#read<OwnedRecord>(at)
    if (current === null) return false
    this.#tables.records.remove(at!)
    this.#tables.ownerIndex.remove(ownerIndexKey(kind, current))
    this.#appendAudit([audit])
    return true
  }

  /** Rows of one trail share the numbers of that trail, read and written once. */
  #appendAudit(rows: readonly FederationAuditRow[]): void {
    const trails = new Map<string, AuditTrailAppend>()
    for (const row of rows) {
      const trail = this.#openTrail(trails, row)
      trail.newRows.push(JSON.stringify(row))
      trail.now = row.at
    }
    for (const trail of trails.values()) {
      const next = this.#writeRows(trail)
      const first = this.#oldestToKeep(trail, next)
      for (let sheet = auditBlockOf(trail.first); sheet < auditBlockOf(first); sheet++) {
        this.#tables.audit.remove(auditBlockKey(trail.key, sheet))
      }
      this.#tables.audit.put(trail.key, encodeRecord([first, next]))
    }
  }

  #openTrail(
    trails: Map<string, AuditTrailAppend>,
    { trail: name, organizationId }: FederationAuditRow,
  ): AuditTrailAppend {
    const known = `${name} ${organizationId}`
    let trail = trails.get(known)
    if (trail === undefined) {
      const at = auditTrailKey(name, organizationId)
      const bytes = this.#env.get(this.#tables.audit, at)
      const [first, next] =
        bytes === undefined ? EMPTY_AUDIT_TRAIL : (decodeRecord(bytes) as AuditTrailExtent)
      trail = { key: at, first, next, newRows: [], now: 0 }
      trails.set(known, trail)
    }
    return trail
  }

  /** Writes what has come behind what is there; the number of the row to come after it. */
  #writeRows({ key: at, next, newRows: come }: AuditTrailAppend): number {
    for (let taken = 0; taken < come.length; ) {
      const number = next + taken
      const fresh = come.slice(taken, taken + freeLinesFrom(number))
      const before = lineInAuditBlock(number) === 0 ? [] : this.#linesOfBlock(at, number)
      this.#tables.audit.put(auditBlockKey(at, auditBlockOf(number)), joinLines([...before, ...fresh]))
      taken += fresh.length
    }
    return next + come.length
  }

  /** The newest row stays, however old it is. */
  #oldestToKeep({ key: at, first: before, now }: AuditTrailAppend, next: number): number {
    const { rowsPerTrail, ms } = this.#retention
    let first = Math.max(before, next - rowsPerTrail)
    for (let sheets = 0; sheets < MAX_PRUNED_BLOCKS && first < next - 1; sheets++) {
      const sheet = auditBlockOf(first)
      const lines = this.#linesOfBlock(at, first)
      while (
        first < next - 1 &&
        auditBlockOf(first) === sheet &&
        timeOfRow(lines[lineInAuditBlock(first)]!) < now - ms
      )
        first++
      if (auditBlockOf(first) === sheet) break
    }
    return first
  }

  /** The lines of the sheet a row stands on. */
  #linesOfBlock(at: Buffer, number: number): string[] {
    return splitLines(this.#env.get(this.#tables.audit, auditBlockKey(at, auditBlockOf(number)))!)
  }

  #read<T extends object>(at: Buffer): T | null {
    const bytes = this.#env.get(this.#tables.records, at)
    return bytes === undefined ? null : decodeRecord<T>(bytes)
  }

  #durably<T>(change: () => T): Promise<T> {
    const { committed, durable } = this.#env.write(change)
    // Whoever asked hears of a failure through `durable`; nobody waits for the other.
    committed.catch(() => {})
    this.#underWay.add(durable)
    const settled = (): void => void this.#underWay.delete(durable)
    durable.then(settled, settled)
    return durable
  }
}

function timeOfRow(line: string): number {
  return (JSON.parse(line) as FederationAuditRow).at
}
