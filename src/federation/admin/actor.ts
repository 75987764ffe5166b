/** Who changes something, and the row that says so. */
import type { Clock } from '../../base/clock.js'
import { uuidV7 } from '../../base/ids.js'
import type { Principal } from '../../base/principal.js'
import type { FederationAuditRow } from '../../store/federation-store.js'

export interface Actor {
  readonly organizationId: string
  /** Hash of a management key, or another name for whoever it is. */
  readonly name: string
  readonly requestId: string | null
  readonly address: string | null
}

/** What is told of the request that asks for a change. */
interface Request {
  readonly requestId: string
  readonly address: string
}

export function actorOf({ organizationId, keyHash }: Principal, { requestId, address }: Request): Actor {
  return { organizationId, name: keyHash, requestId, address }
}

export type ChangeAction =
  | `issuer.${'create' | 'update' | 'delete'}`
  | `policy.${'create' | 'update' | 'pause' | 'enable' | 'delete'}`
  | `signing-key.${'rotate' | 'drop'}`

type About = Partial<Pick<FederationAuditRow, 'policyId' | 'issuerId' | 'keyHash' | 'reason'>>

/** The audit row of a change. `at` is Unix time in milliseconds. */
export function changeRow(actor: Actor, action: ChangeAction, at: number, about: About): FederationAuditRow {
  return {
    id: uuidV7(at),
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
export function signingKeyRow(
  clock: Clock,
  actor: Actor,
  action: 'signing-key.rotate' | 'signing-key.drop',
  kid: string,
): FederationAuditRow {
  return changeRow(actor, action, Math.floor(clock.unixSeconds() * 1000), { reason: `kid ${kid}` })
}
