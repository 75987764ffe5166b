/** Who changes something, and the row that says so. */
import type { Clock } from '../../base/clock.js'
import { newUuidV7 } from '../../base/ids.js'
import type { Principal } from '../../base/principal.js'
import type { FederationAuditRow } from '../../store/federation-store.js'

export interface AuditActor {
  readonly organizationId: string
  /** Hash of a management key, or another name for whoever it is. */
  readonly name: string
  readonly requestId: string | null
  readonly address: string | null
}

/** What is told of the request that asks for a change. */
interface RequestOrigin {
  readonly requestId: string
  readonly address: string
}

export function actorOfCaller(
  { organizationId, keyHash }: Principal,
  { requestId, address }: RequestOrigin,
): AuditActor {
  return { organizationId, name: keyHash, requestId, address }
}

export type AuditAction =
  | `issuer.${'create' | 'update' | 'delete'}`
  | `policy.${'create' | 'update' | 'pause' | 'enable' | 'delete'}`
  | `signing-key.${'rotate' | 'drop'}`

type AuditSubject = Partial<Pick<FederationAuditRow, 'policyId' | 'issuerId' | 'keyHash' | 'reason'>>

/** The audit row of a change. `at` is Unix time in milliseconds. */
export function changeAuditRow(
  actor: AuditActor,
  action: AuditAction,
  at: number,
  about: AuditSubject,
): FederationAuditRow {
  return {
    id: newUuidV7(at),
    at,
    trail: 'changes',
    organizationId: actor.organizationId,
    action,
    actor: actor.name,
    policyId: null,
    issuerId: null,
    keyHash: null,
    outcome: 'done',
    reason: null,
    requestId: actor.requestId,
    address: actor.address,
    ...about,
  }
}

/** The audit row of a change of our own signing keys, with the key it was about. */
export function signingKeyAuditRow(
  clock: Clock,
  actor: AuditActor,
  action: 'signing-key.rotate' | 'signing-key.drop',
  kid: string,
): FederationAuditRow {
  return changeAuditRow(actor, action, Math.floor(clock.unixSeconds() * 1000), { reason: `kid ${kid}` })
}
