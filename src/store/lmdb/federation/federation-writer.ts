import type { AuditRow, FederationIssuer, FederationPolicy, SigningRing } from '../../federation-store.js'
import { decoded, encoded } from '../accounts/account-layout.js'
import type { Environment } from '../environment.js'
import {
  type Belonging,
  belongingKey,
  EMPTY_TRAIL,
  type FederationTables,
  lineOf,
  linesFrom,
  linesOn,
  type RecordKind,
  RING_KEY,
  recordKey,
  sheetKey,
  sheetOf,
  type TrailExtent,
  trailKey,
  written,
} from './federation-layout.js'

/** How much of a trail is kept. */
export interface AuditRetention {
  readonly rowsPerTrail: number
  readonly ms: number
}

export const AUDIT_RETENTION: AuditRetention = { rowsPerTrail: 10_000, ms: 400 * 24 * 60 * 60 * 1000 }

/** Rows that have become too old go with those that come, from so many sheets at a time. */
const OLD_SHEETS = 4

/** A trail while rows are being added to it. */
interface OpenTrail {
  readonly at: Buffer
  readonly first: number
  readonly next: number
  /** Rows that have come, and when the last of them did. */
  readonly come: string[]
  now: number
}

/** Changes of federation. Audit rows of exchanges come gathered; all else is rare, a transaction each. */
export class FederationWriter {
  readonly #env: Environment
  readonly #tables: FederationTables
  readonly #retention: AuditRetention
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(env: Environment, tables: FederationTables, retention: AuditRetention) {
    this.#env = env
    this.#tables = tables
    this.#retention = retention
  }

  /** Resolves when everything is on disk, or refused. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }

  addIssuer(issuer: FederationIssuer, audit: AuditRow): Promise<void> {
    return this.#durably(() => this.#add('i', issuer, audit))
  }

  changeIssuer(
    id: string,
    change: (current: FederationIssuer) => FederationIssuer,
    audit: AuditRow,
  ): Promise<FederationIssuer | null> {
    return this.#durably(() => this.#change('i', id, change, audit))
  }

  removeIssuer(id: string, audit: AuditRow): Promise<boolean> {
    return this.#durably(() => this.#remove('i', id, audit))
  }

  addPolicy(policy: FederationPolicy, audit: AuditRow): Promise<void> {
    return this.#durably(() => this.#add('p', policy, audit))
  }

  changePolicy(
    id: string,
    change: (current: FederationPolicy) => FederationPolicy,
    audit: AuditRow,
  ): Promise<FederationPolicy | null> {
    const counted = (current: FederationPolicy): FederationPolicy => {
      const changed = change(current)
      return changed === current ? current : { ...changed, version: current.version + 1 }
    }
    return this.#durably(() => this.#change('p', id, counted, audit))
  }

  removePolicy(id: string, audit: AuditRow): Promise<boolean> {
    return this.#durably(() => this.#remove('p', id, audit))
  }

  changeSigningRing(change: (current: SigningRing | null) => SigningRing): Promise<SigningRing> {
    return this.#durably(() => {
      const current = this.#read<SigningRing>(RING_KEY)
      const next = change(current)
      if (next !== current) this.#tables.records.put(RING_KEY, encoded(next))
      return next
    })
  }

  appendAudit(rows: readonly AuditRow[]): Promise<void> {
    return this.#durably(() => this.#append(rows))
  }

  #add(kind: RecordKind, record: Belonging, audit: AuditRow): void {
    this.#tables.records.put(recordKey(kind, record.id)!, encoded(record))
    this.#tables.belongings.put(belongingKey(kind, record), Buffer.from(record.id))
    this.#append([audit])
  }

  #change<T extends Belonging & { readonly createdAt: number }>(
    kind: RecordKind,
    id: string,
    change: (current: T) => T,
    audit: AuditRow,
  ): T | null {
    const at = recordKey(kind, id)
    const current = at === null ? null : this.#read<T>(at)
    if (current === null) return null
    const changed = change(current)
    if (changed === current) return current
    const { organizationId, createdAt } = current
    const next = Object.freeze({ ...changed, id, organizationId, createdAt })
    this.#tables.records.put(at!, encoded(next))
    this.#append([audit])
    return next
  }

  #remove(kind: RecordKind, id: string, audit: AuditRow): boolean {
    const at = recordKey(kind, id)
    const current = at === null ? null : this.#read<Belonging>(at)
    if (current === null) return false
    this.#tables.records.remove(at!)
    this.#tables.belongings.remove(belongingKey(kind, current))
    this.#append([audit])
    return true
  }

  /** Rows of one trail share the numbers of that trail, read and written once. */
  #append(rows: readonly AuditRow[]): void {
    const trails = new Map<string, OpenTrail>()
    for (const row of rows) {
      const trail = this.#trail(trails, row)
      trail.come.push(JSON.stringify(row))
      trail.now = row.at
    }
    for (const trail of trails.values()) {
      const next = this.#write(trail)
      const first = this.#firstToKeep(trail, next)
      for (let sheet = sheetOf(trail.first); sheet < sheetOf(first); sheet++) {
        this.#tables.audit.remove(sheetKey(trail.at, sheet))
      }
      this.#tables.audit.put(trail.at, encoded([first, next]))
    }
  }

  #trail(trails: Map<string, OpenTrail>, { trail: name, organizationId }: AuditRow): OpenTrail {
    const known = `${name} ${organizationId}`
    let trail = trails.get(known)
    if (trail === undefined) {
      const at = trailKey(name, organizationId)
      const bytes = this.#env.get(this.#tables.audit, at)
      const [first, next] = bytes === undefined ? EMPTY_TRAIL : (decoded(bytes) as TrailExtent)
      trail = { at, first, next, come: [], now: 0 }
      trails.set(known, trail)
    }
    return trail
  }

  /** Writes what has come behind what is there; the number of the row to come after it. */
  #write({ at, next, come }: OpenTrail): number {
    for (let taken = 0; taken < come.length; ) {
      const number = next + taken
      const fresh = come.slice(taken, taken + linesFrom(number))
      const before = lineOf(number) === 0 ? [] : this.#lines(at, number)
      this.#tables.audit.put(sheetKey(at, sheetOf(number)), written([...before, ...fresh]))
      taken += fresh.length
    }
    return next + come.length
  }

  /** The newest row stays, however old it is. */
  #firstToKeep({ at, first: before, now }: OpenTrail, next: number): number {
    const { rowsPerTrail, ms } = this.#retention
    let first = Math.max(before, next - rowsPerTrail)
    for (let sheets = 0; sheets < OLD_SHEETS && first < next - 1; sheets++) {
      const sheet = sheetOf(first)
      const lines = this.#lines(at, first)
      while (first < next - 1 && sheetOf(first) === sheet && atOf(lines[lineOf(first)]!) < now - ms) first++
      if (sheetOf(first) === sheet) break
    }
    return first
  }

  /** The lines of the sheet a row stands on. */
  #lines(at: Buffer, number: number): string[] {
    return linesOn(this.#env.get(this.#tables.audit, sheetKey(at, sheetOf(number)))!)
  }

  #read<T extends object>(at: Buffer): T | null {
    const bytes = this.#env.get(this.#tables.records, at)
    return bytes === undefined ? null : decoded<T>(bytes)
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

function atOf(line: string): number {
  return (JSON.parse(line) as AuditRow).at
}
