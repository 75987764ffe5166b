/**
 * The port of workload identity federation: issuers, policies, our own signing keys, and the audit. Records are
 * JSON; times are Unix milliseconds.
 */
import type { MaybePromise } from '../base/maybe-promise.js'

/** Of an organization. */
export interface OwnedRecord {
  /** UUID v7. */
  readonly id: string
  readonly organizationId: string
  readonly createdAt: number
  readonly updatedAt: number | null
}

/** An identity provider that an organization trusts. */
export interface FederationIssuer extends OwnedRecord {
  readonly name: string
  /** Equal to `iss`, character by character. */
  readonly issuerUrl: string
  /** Null when discovery tells it. */
  readonly jwksUrl: string | null
}

/** What a token must be to act as a key. Its id binds an exchange to the organization. */
export interface FederationPolicy extends OwnedRecord {
  /** Of an issuer that may have been deleted since. */
  readonly issuerId: string
  /** Equal to `sub`; null for any. A policy has a subject, a condition, or both. */
  readonly subject: string | null
  /** Equal to one entry of `aud`. */
  readonly audience: string
  readonly condition: string | null
  /** Hash of the target key. */
  readonly apiKeyHash: string
  readonly enabled: boolean
  /** Null where there is no check. */
  readonly claimChecks: { readonly scopes: string | null; readonly tokenType: string | null }
  /** Counted up by the store with every change, so that what is derived from a policy can be kept beside it. */
  readonly version: number
}

/** One of our key pairs for access tokens. */
export interface SigningKeyRecord {
  /** Thumbprint of the public key (RFC 7638). */
  readonly kid: string
  /** Coordinates of the point on P-256, base64url. */
  readonly x: string
  readonly y: string
  /** The private key, encrypted. */
  readonly sealed: string
  readonly createdAt: number
  /** From then on it signs, until the next one does. */
  readonly activeFrom: number
}

/** All of them, by `activeFrom`. */
export interface SigningKeyRing {
  readonly keys: readonly SigningKeyRecord[]
}

/**
 * Rows are kept in three trails per organization, so that a flood of refusals cannot wash away what administrators
 * did: `changes` of issuers, policies and signing keys; exchanges that `issued` a token; those that were `refused`.
 */
export const AUDIT_TRAILS = ['changes', 'issued', 'refused'] as const
export type AuditTrailName = (typeof AUDIT_TRAILS)[number]

export interface FederationAuditRow {
  readonly id: string
  readonly at: number
  readonly trail: AuditTrailName
  /** `''` where no organization is known: an unknown policy, our own signing keys. */
  readonly organizationId: string
  /** `exchange`, `issuer.create`, `policy.pause` … */
  readonly action: string
  /** Who: hash of the management key, or the verified `sub` of the token; null when no caller was recognised. */
  readonly actor: string | null
  readonly policyId: string | null
  readonly issuerId: string | null
  /** Hash of the target key. */
  readonly keyHash: string | null
  readonly outcome: string
  readonly reason: string | null
  readonly requestId: string | null
  readonly address: string | null
}

export interface FederationAuditPage {
  /** Newest first. */
  readonly rows: readonly FederationAuditRow[]
  /** Rows of the trail that are kept. */
  readonly total: number
}

/**
 * Reads see every change that was acknowledged before the read began, by any process. Records are frozen. Reads
 * by id give the same object as last time for as long as the record has not changed. Changes resolve when they are
 * on disk, and fail with `unavailable` when the store cannot take them. A change that takes an audit row writes it
 * in the same transaction, and not when there was nothing to change. `change` functions run inside the transaction
 * and must not throw; returning the current record changes nothing; identity (id, organization, creation) stays.
 */
export interface FederationStore {
  /** The policies of an issuer that is removed stay and refuse. */
  readonly issuers: OwnedRecords<FederationIssuer>
  readonly policies: OwnedRecords<FederationPolicy>
  /** Null before the first start. */
  signingKeyRing(): SigningKeyRing | null
  /** The ring after the change; `change` gets null when there is none yet. */
  changeSigningKeyRing(change: (current: SigningKeyRing | null) => SigningKeyRing): Promise<SigningKeyRing>
  /** Adds rows, in one transaction, and lets the oldest of their trails go beyond what is kept. */
  appendAudit(rows: readonly FederationAuditRow[]): Promise<void>
  /** Rows of one trail after the newest `offset`. */
  auditPage(
    organizationId: string,
    trail: AuditTrailName,
    offset: number,
    limit: number,
  ): MaybePromise<FederationAuditPage>
}

export interface OwnedRecords<T extends OwnedRecord> {
  get(id: string): T | null
  /** Oldest first. */
  listOf(organizationId: string): readonly T[]
  add(record: T, audit: FederationAuditRow): Promise<void>
  /** The record after the change; null when there is none. */
  change(id: string, change: (current: T) => T, audit: FederationAuditRow): Promise<T | null>
  /** True when this call removed it. */
  remove(id: string, audit: FederationAuditRow): Promise<boolean>
}
