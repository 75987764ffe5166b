import type { FederationStore } from '../../federation-store.js'
import type { LmdbEnvironment } from '../environment.js'
import { FEDERATION_TABLE_NAMES } from './federation-layout.js'
import { FederationReader } from './federation-reader.js'
import { AUDIT_RETENTION, type AuditRetention, FederationWriter } from './federation-writer.js'

/** The federation part of a store whose environment was opened with `FEDERATION_TABLE_NAMES`. */
export function openFederation(
  env: LmdbEnvironment,
  retention: AuditRetention = AUDIT_RETENTION,
): { readonly store: FederationStore; readonly idle: () => Promise<void> } {
  const tables = {
    records: env.byteTable(FEDERATION_TABLE_NAMES.records),
    ownerIndex: env.byteTable(FEDERATION_TABLE_NAMES.ownerIndex),
    audit: env.byteTable(FEDERATION_TABLE_NAMES.audit),
  }
  const reader = new FederationReader(env, tables)
  const writer = new FederationWriter(env, tables, retention)
  const store: FederationStore = {
    issuer: (id) => reader.issuer(id),
    issuersOf: (organizationId) => reader.issuersOf(organizationId),
    addIssuer: (issuer, audit) => writer.addIssuer(issuer, audit),
    changeIssuer: (id, change, audit) => writer.changeIssuer(id, change, audit),
    removeIssuer: (id, audit) => writer.removeIssuer(id, audit),
    policy: (id) => reader.policy(id),
    policiesOf: (organizationId) => reader.policiesOf(organizationId),
    addPolicy: (policy, audit) => writer.addPolicy(policy, audit),
    changePolicy: (id, change, audit) => writer.changePolicy(id, change, audit),
    removePolicy: (id, audit) => writer.removePolicy(id, audit),
    signingKeyRing: () => reader.signingRing(),
    changeSigningKeyRing: (change) => writer.changeSigningRing(change),
    appendAudit: (rows) => writer.appendAudit(rows),
    auditPage: (organizationId, trail, offset, limit) =>
      reader.auditPage(organizationId, trail, offset, limit),
  }
  return { store, idle: () => writer.idle() }
}
