/**
 * Federation in LMDB.
 *
 *     records   'i' id                        ->  issuer
 *               'p' id                        ->  policy
 *               's'                           ->  our signing keys
 *     index     'i' or 'p', organization, id  ->  id       lists, oldest first: ids are UUID v7
 *     audit     three trails for each organization, see audit-trails.ts
 */
import type {
  AuditTrailName,
  FederationAuditRow,
  FederationIssuer,
  FederationPolicy,
  FederationStore,
  OwnedRecord,
  OwnedRecords,
  SigningKeyRing,
} from '../federation-store.js'
import { AuditTrails } from './audit-trails.js'
import type { LmdbByteTable, LmdbEnvironment } from './environment.js'
import { idKey, KEY_END, ownerPrefix, RecordTable } from './record-table.js'

/** How much of the audit is kept, of each trail. */
interface AuditRetention {
  readonly keptRows: number
  readonly keptMs: number
}

const AUDIT_RETENTION: AuditRetention = { keptRows: 10_000, keptMs: 400 * 24 * 60 * 60 * 1000 }

const SIGNING_KEY_RING_KEY = Buffer.from('s')

/** Audit rows of exchanges come gathered; all other changes are rare, a transaction each. */
export function createLmdbFederationStore(
  env: LmdbEnvironment,
  retention: AuditRetention = AUDIT_RETENTION,
): FederationStore {
  const records = new RecordTable(env, 'federation-records')
  const ownerIndex = env.byteTable('federation-belongings')
  const audit = new AuditTrails<FederationAuditRow>(env, 'federation-audit-sheets', {
    trailOf: ({ trail, organizationId }) => trailName(trail, organizationId),
    rowsPerBlock: 32,
    ...retention,
  })
  const tables = { records, ownerIndex, audit }
  return {
    issuers: createOwnedRecords<FederationIssuer>(env, tables, 'i', (issuer) => issuer),
    policies: createOwnedRecords<FederationPolicy>(env, tables, 'p', (policy, before) => ({
      ...policy,
      version: before.version + 1,
    })),
    signingKeyRing: () => records.readParsed('s', SIGNING_KEY_RING_KEY),
    changeSigningKeyRing: (change) =>
      env.writeDurably(() => {
        const current = records.get<SigningKeyRing>(SIGNING_KEY_RING_KEY)
        const next = change(current)
        if (next !== current) records.put(SIGNING_KEY_RING_KEY, next)
        return next
      }),
    appendAudit: (rows) => env.writeDurably(() => audit.append(rows)),
    auditPage: (organizationId, trail, offset, limit) =>
      env.inSnapshot(() => audit.page(trailName(trail, organizationId), offset, limit)),
  }
}

function trailName(trail: AuditTrailName, organizationId: string): string {
  return trail + KEY_END + organizationId
}

interface FederationTables {
  readonly records: RecordTable
  readonly ownerIndex: LmdbByteTable
  readonly audit: AuditTrails<FederationAuditRow>
}

/** @param revise what a record that has changed becomes */
function createOwnedRecords<T extends OwnedRecord>(
  env: LmdbEnvironment,
  { records, ownerIndex, audit }: FederationTables,
  kind: 'i' | 'p',
  revise: (changed: T, before: T) => T,
): OwnedRecords<T> {
  const indexKey = ({ organizationId, id }: OwnedRecord): Buffer =>
    Buffer.concat([ownerPrefix(kind, organizationId)!, Buffer.from(id)])
  return {
    get: (id) => records.readParsed<T>(kind + id, idKey(id, kind)),
    listOf: (organizationId) =>
      env.inSnapshot(() =>
        records.listIndexed<T>(ownerIndex, ownerPrefix(kind, organizationId), (id) =>
          idKey(id.toString(), kind),
        ),
      ),
    add: (record, row) =>
      env.writeDurably(() => {
        records.put(idKey(record.id, kind)!, record)
        ownerIndex.put(indexKey(record), Buffer.from(record.id))
        audit.append([row])
      }),
    change: (id, change, row) =>
      env.writeDurably(() => {
        const key = idKey(id, kind)
        const current = records.get<T>(key)
        if (current === null) return null
        const changed = change(current)
        if (changed === current) return current
        const { organizationId, createdAt } = current
        const next = Object.freeze({ ...revise(changed, current), id, organizationId, createdAt })
        records.put(key!, next)
        audit.append([row])
        return next
      }),
    remove: (id, row) =>
      env.writeDurably(() => {
        const key = idKey(id, kind)
        const current = records.get<T>(key)
        if (current === null) return false
        records.remove(key!)
        ownerIndex.remove(indexKey(current))
        audit.append([row])
        return true
      }),
  }
}
