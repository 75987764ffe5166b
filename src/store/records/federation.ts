/**
 * Federation in a space of records.
 *
 *     records   'i' id                        ->  issuer
 *               'p' id                        ->  policy
 *               's'                           ->  our signing keys
 *     index     'i' or 'p', organization, id  ->  id       lists, oldest first: ids are UUID v7
 *     audit     three trails for each organization, see audit-book.ts
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
import type { AuditBook, AuditBookOptions } from './audit-book.js'
import type { ByteTable, RecordSpace } from './record-space.js'
import { idKey, KEY_END, ownerPrefix, RecordTable } from './record-table.js'

export const FEDERATION_AUDIT: AuditBookOptions<FederationAuditRow> = {
  trailOf: ({ trail, organizationId }) => trailName(trail, organizationId),
  keptRows: 10_000,
  keptMs: 400 * 24 * 60 * 60 * 1000,
}

const SIGNING_KEY_RING_KEY = Buffer.from('s')

/** Audit rows of exchanges come gathered; all other changes are rare, a transaction each. */
export function createFederationStore(
  space: RecordSpace,
  audit: AuditBook<FederationAuditRow>,
): FederationStore {
  const records = new RecordTable(space, 'federation-records')
  const ownerIndex = space.byteTable('federation-belongings')
  const tables = { records, ownerIndex, audit }
  return {
    issuers: createOwnedRecords<FederationIssuer>(space, tables, 'i', (issuer) => issuer),
    policies: createOwnedRecords<FederationPolicy>(space, tables, 'p', (policy, before) => ({
      ...policy,
      version: before.version + 1,
    })),
    signingKeyRing: () => records.readParsed('s', () => SIGNING_KEY_RING_KEY),
    changeSigningKeyRing: (change) =>
      space.writeDurably(() => {
        const current = records.get<SigningKeyRing>(SIGNING_KEY_RING_KEY)
        const next = change(current)
        if (next !== current) records.put(SIGNING_KEY_RING_KEY, next)
        return next
      }),
    appendAudit: (rows) => audit.appendAlone(rows),
    auditPage: (organizationId, trail, offset, limit) =>
      audit.page(trailName(trail, organizationId), offset, limit),
  }
}

function trailName(trail: AuditTrailName, organizationId: string): string {
  return trail + KEY_END + organizationId
}

interface OwnedRecordTables {
  readonly records: RecordTable
  readonly ownerIndex: ByteTable
  readonly audit: AuditBook<FederationAuditRow>
}

/**
 * @param kind a letter before the keys of records and of what belongs to an organization
 * @param revise what a record that has changed becomes
 */
export function createOwnedRecords<T extends OwnedRecord>(
  space: RecordSpace,
  { records, ownerIndex, audit }: OwnedRecordTables,
  kind: string,
  revise: (changed: T, before: T) => T,
): OwnedRecords<T> {
  const indexKey = ({ organizationId, id }: OwnedRecord): Buffer =>
    Buffer.concat([ownerPrefix(kind, organizationId)!, Buffer.from(id)])
  return {
    get: (id) => records.readParsed<T>(kind + id, () => idKey(id, kind)),
    listOf: (organizationId) =>
      space.inSnapshot(() =>
        records.listIndexed<T>(ownerIndex, ownerPrefix(kind, organizationId), (id) =>
          idKey(id.toString(), kind),
        ),
      ),
    add: (record, row) =>
      space.writeDurably(() => {
        records.put(idKey(record.id, kind)!, record)
        ownerIndex.put(indexKey(record), Buffer.from(record.id))
        audit.append([row])
      }),
    change: (id, change, row) =>
      space.writeDurably(() => {
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
      space.writeDurably(() => {
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
