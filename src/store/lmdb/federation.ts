/**
 * Federation in LMDB.
 *
 *     records   'i' id                        ->  issuer
 *               'p' id                        ->  policy
 *               's'                           ->  our signing keys
 *     index     'i' or 'p', organization, id  ->  id       lists, oldest first: ids are UUID v7
 *     audit     see audit-trails.ts
 */
import type {
  AuditTrailName,
  FederationAuditPage,
  FederationAuditRow,
  FederationIssuer,
  FederationPolicy,
  FederationStore,
  SigningKeyRing,
} from '../federation-store.js'
import { AUDIT_RETENTION, type AuditRetention, AuditTrails } from './audit-trails.js'
import type { LmdbByteTable, LmdbEnvironment } from './environment.js'
import { idKey, ownerPrefix, RecordTable } from './record-table.js'

export const FEDERATION_TABLE_NAMES = {
  records: 'federation-records',
  ownerIndex: 'federation-belongings',
  audit: 'federation-audit-sheets',
} as const

type FederationRecordKind = 'i' | 'p'
const SIGNING_KEY_RING_KEY = Buffer.from('s')

interface OwnedRecord {
  readonly id: string
  readonly organizationId: string
  readonly createdAt: number
}

/** Audit rows of exchanges come gathered; all other changes are rare, a transaction each. */
export class LmdbFederationStore implements FederationStore {
  readonly #env: LmdbEnvironment
  readonly #records: RecordTable
  readonly #ownerIndex: LmdbByteTable
  readonly #audit: AuditTrails

  /** @param env opened with `FEDERATION_TABLE_NAMES` */
  constructor(env: LmdbEnvironment, retention: AuditRetention = AUDIT_RETENTION) {
    this.#env = env
    this.#records = new RecordTable(env, FEDERATION_TABLE_NAMES.records)
    this.#ownerIndex = env.byteTable(FEDERATION_TABLE_NAMES.ownerIndex)
    this.#audit = new AuditTrails(env, FEDERATION_TABLE_NAMES.audit, retention)
  }

  issuer(id: string): FederationIssuer | null {
    return this.#records.readParsed(`i${id}`, idKey(id, 'i'))
  }

  issuersOf(organizationId: string): FederationIssuer[] {
    return this.#listOf('i', organizationId)
  }

  addIssuer(issuer: FederationIssuer, audit: FederationAuditRow): Promise<void> {
    return this.#add('i', issuer, audit)
  }

  changeIssuer(
    id: string,
    change: (current: FederationIssuer) => FederationIssuer,
    audit: FederationAuditRow,
  ): Promise<FederationIssuer | null> {
    return this.#change('i', id, change, audit)
  }

  removeIssuer(id: string, audit: FederationAuditRow): Promise<boolean> {
    return this.#remove('i', id, audit)
  }

  policy(id: string): FederationPolicy | null {
    return this.#records.readParsed(`p${id}`, idKey(id, 'p'))
  }

  policiesOf(organizationId: string): FederationPolicy[] {
    return this.#listOf('p', organizationId)
  }

  addPolicy(policy: FederationPolicy, audit: FederationAuditRow): Promise<void> {
    return this.#add('p', policy, audit)
  }

  changePolicy(
    id: string,
    change: (current: FederationPolicy) => FederationPolicy,
    audit: FederationAuditRow,
  ): Promise<FederationPolicy | null> {
    const changeAndCount = (current: FederationPolicy): FederationPolicy => {
      const changed = change(current)
      return changed === current ? current : { ...changed, version: current.version + 1 }
    }
    return this.#change('p', id, changeAndCount, audit)
  }

  removePolicy(id: string, audit: FederationAuditRow): Promise<boolean> {
    return this.#remove('p', id, audit)
  }

  signingKeyRing(): SigningKeyRing | null {
    return this.#records.readParsed('s', SIGNING_KEY_RING_KEY)
  }

  changeSigningKeyRing(change: (current: SigningKeyRing | null) => SigningKeyRing): Promise<SigningKeyRing> {
    return this.#env.writeDurably(() => {
      const current = this.#records.get<SigningKeyRing>(SIGNING_KEY_RING_KEY)
      const next = change(current)
      if (next !== current) this.#records.put(SIGNING_KEY_RING_KEY, next)
      return next
    })
  }

  appendAudit(rows: readonly FederationAuditRow[]): Promise<void> {
    return this.#env.writeDurably(() => this.#audit.append(rows))
  }

  auditPage(
    organizationId: string,
    trail: AuditTrailName,
    offset: number,
    limit: number,
  ): FederationAuditPage {
    return this.#env.inSnapshot(() => this.#audit.page(organizationId, trail, offset, limit))
  }

  #listOf<T extends object>(kind: FederationRecordKind, organizationId: string): T[] {
    const prefix = ownerPrefix(kind, organizationId)
    if (prefix === null) return []
    return this.#env.inSnapshot(() =>
      this.#env
        .valuesWithPrefix(this.#ownerIndex, prefix)
        .map((id) => this.#records.get<T>(idKey(id.toString(), kind))!),
    )
  }

  #add(kind: FederationRecordKind, record: OwnedRecord, audit: FederationAuditRow): Promise<void> {
    return this.#env.writeDurably(() => {
      this.#records.put(idKey(record.id, kind)!, record)
      this.#ownerIndex.put(indexKey(kind, record), Buffer.from(record.id))
      this.#audit.append([audit])
    })
  }

  #change<T extends OwnedRecord>(
    kind: FederationRecordKind,
    id: string,
    change: (current: T) => T,
    audit: FederationAuditRow,
  ): Promise<T | null> {
    const key = idKey(id, kind)
    return this.#env.writeDurably(() => {
      const current = this.#records.get<T>(key)
      if (current === null) return null
      const { organizationId, createdAt } = current
      const identity = { id, organizationId, createdAt } as Partial<T>
      const next = this.#records.change<T>(key!, current, change, identity)
      if (next !== current) this.#audit.append([audit])
      return next
    })
  }

  #remove(kind: FederationRecordKind, id: string, audit: FederationAuditRow): Promise<boolean> {
    const key = idKey(id, kind)
    return this.#env.writeDurably(() => {
      const current = this.#records.get<OwnedRecord>(key)
      if (current === null) return false
      this.#records.remove(key!)
      this.#ownerIndex.remove(indexKey(kind, current))
      this.#audit.append([audit])
      return true
    })
  }
}

function indexKey(kind: FederationRecordKind, { organizationId, id }: OwnedRecord): Buffer {
  return Buffer.concat([ownerPrefix(kind, organizationId)!, Buffer.from(id)])
}
