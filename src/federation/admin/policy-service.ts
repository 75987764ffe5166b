/** What a management key may do with policies: those of its own organization and no others. */
import { isDeepStrictEqual } from 'node:util'
import type { ConditionDefect } from '../../../workers/tasks.js'
import type { Cancellation } from '../../base/cancellation.js'
import { applyChanges } from '../../base/changes.js'
import { type Clock, unixMs } from '../../base/clock.js'
import { Fault, notedIssue, type ValidationIssue } from '../../base/fault.js'
import { newUuidV7 } from '../../base/ids.js'
import type { AccountStore, ApiKey } from '../../store/account-store.js'
import type { FederationPolicy, FederationStore } from '../../store/federation-store.js'
import { type AuditAction, type AuditActor, changeAuditRow } from '../audit-log.js'
import type { ConditionEvaluator } from '../condition.js'
import { fitsClaimLength, MAX_CLAIM_CHARS } from '../subject-token.js'
import { CHANGED_MEANWHILE } from './conditional-change.js'

/** A new policy, in the words of the wire (contract/gateway 10.4). */
interface NewPolicyInput {
  readonly issuer_id: string
  readonly audience: string
  readonly api_key_hash: string
  readonly subject?: string | null | undefined
  readonly condition?: string | null | undefined
  readonly enabled?: boolean | undefined
  readonly claim_checks?:
    | { readonly scopes?: string | null | undefined; readonly token_type?: string | null | undefined }
    | undefined
}

type PolicyChanges = { readonly [K in keyof NewPolicyInput]?: NewPolicyInput[K] | undefined }

interface PolicyServicePorts {
  readonly federation: FederationStore
  readonly accounts: Pick<AccountStore, 'key'>
  readonly conditions: Pick<ConditionEvaluator, 'check'>
  readonly clock: Clock
}

/** How often a change is judged anew because another came between. */
const MAX_ATTEMPTS = 5

export class PolicyService {
  constructor(private readonly ports: PolicyServicePorts) {}

  /** Oldest first. */
  list(organizationId: string): readonly FederationPolicy[] {
    return this.ports.federation.policies.listOf(organizationId)
  }

  /** Null when there is none or it belongs to another organization: callers cannot tell which. */
  find(organizationId: string, id: string): FederationPolicy | null {
    const policy = this.ports.federation.policies.get(id)
    return policy?.organizationId === organizationId ? policy : null
  }

  /**
   * Fails with `invalid-input` and every defect, and with `unavailable` when the pool has no place to check the
   * condition.
   */
  async create(actor: AuditActor, input: NewPolicyInput, caller: Cancellation): Promise<FederationPolicy> {
    const fields = mergePolicy(BLANK_POLICY, input)
    await this.requireValid(actor, fields, null, caller)
    const now = unixMs(this.ports.clock)
    const policy: FederationPolicy = {
      ...fields,
      id: newUuidV7(now),
      organizationId: actor.organizationId,
      version: 1,
      createdAt: now,
      updatedAt: null,
    }
    await this.ports.federation.policies.add(policy, policyAuditRow(actor, 'policy.create', now, policy))
    return policy
  }

  /**
   * A member that is absent leaves what it names, `null` takes it away. Null when there is nothing to change. What is
   * checked is the policy that comes out, against the record that is replaced: two changes that are good alone cannot
   * make a bad policy together. Fails with `precondition-failed` when `allows` does not let that record be replaced.
   */
  async change(
    actor: AuditActor,
    id: string,
    changes: PolicyChanges,
    caller: Cancellation,
    allows: (current: FederationPolicy) => boolean = () => true,
  ): Promise<FederationPolicy | null> {
    for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
      const seen = this.find(actor.organizationId, id)
      if (seen === null) return null
      if (!allows(seen)) throw CHANGED_MEANWHILE
      const wanted = { ...seen, ...mergePolicy(seen, changes) }
      if (isDeepStrictEqual(seen, wanted)) return seen
      await this.requireValid(actor, wanted, changes, caller)
      const now = unixMs(this.ports.clock)
      const row = policyAuditRow(actor, auditActionOf(seen, wanted), now, wanted)
      let isOvertaken = false
      const replace = (current: FederationPolicy): FederationPolicy => {
        isOvertaken = current.version !== seen.version
        return isOvertaken ? current : { ...wanted, updatedAt: now }
      }
      const saved = await this.ports.federation.policies.change(id, replace, row)
      if (!isOvertaken) return saved
    }
    throw new Fault('conflict', { detail: 'the policy is being changed by others' })
  }

  /** Null when the text could be saved as a condition. Fails with `unavailable` when the pool is full. */
  checkCondition(
    organizationId: string,
    text: string,
    caller: Cancellation,
  ): Promise<ConditionDefect | null> {
    return this.ports.conditions.check(text, organizationId, caller)
  }

  /** Tokens it has issued stay good. False when there is nothing to delete. */
  async remove(actor: AuditActor, id: string): Promise<boolean> {
    const policy = this.find(actor.organizationId, id)
    if (policy === null) return false
    const row = policyAuditRow(actor, 'policy.delete', unixMs(this.ports.clock), policy)
    return this.ports.federation.policies.remove(id, row)
  }

  /**
   * Of a change only what it touches is judged: a policy whose issuer or key is gone can still be paused.
   * @param changes null for a new policy, of which everything is judged
   */
  private async requireValid(
    actor: AuditActor,
    draft: PolicyDraft,
    changes: PolicyChanges | null,
    caller: Cancellation,
  ): Promise<void> {
    const { federation, accounts } = this.ports
    const issuer = federation.issuers.get(draft.issuerId)
    const key = accounts.key(draft.apiKeyHash)
    const all = policyIssues(draft, actor.organizationId, issuer, key)
    const issues = all.filter(({ loc }) => changesField(changes, loc[1]))
    const { condition } = draft
    if (condition !== null && (changes === null || changes.condition !== undefined)) {
      const defect = await this.ports.conditions.check(condition, actor.organizationId, caller)
      if (defect !== null) {
        issues.push(
          notedIssue(['body', 'condition'], `${defect.reason} (at character ${defect.position + 1})`),
        )
      }
    }
    if (issues.length > 0) throw new Fault('invalid-input', { issues })
  }
}

function changesField(changes: PolicyChanges | null, field: unknown): boolean {
  if (changes === null || changes[field as keyof PolicyChanges] !== undefined) return true
  // Whether there has to be a subject depends on the condition.
  return field === 'subject' && changes.condition !== undefined
}

/** What a new policy has where its input is silent. */
const BLANK_POLICY: PolicyDraft = {
  issuerId: '',
  subject: null,
  audience: '',
  condition: null,
  apiKeyHash: '',
  enabled: true,
  claimChecks: { scopes: null, tokenType: null },
}

/** The part of a policy that changes can reach, after them. */
function mergePolicy(current: PolicyDraft, changes: PolicyChanges): PolicyDraft {
  const { subject, audience, condition, enabled, claim_checks: checks = {} } = changes
  return applyChanges(current, {
    issuerId: changes.issuer_id,
    subject,
    audience,
    condition,
    apiKeyHash: changes.api_key_hash,
    enabled,
    claimChecks: applyChanges(current.claimChecks, { scopes: checks.scopes, tokenType: checks.token_type }),
  })
}

/** The switch is what an auditor looks for; a change that moves it is named after it. */
function auditActionOf(before: FederationPolicy, after: FederationPolicy): AuditAction {
  if (before.enabled === after.enabled) return 'policy.update'
  return after.enabled ? 'policy.enable' : 'policy.pause'
}

function policyAuditRow(actor: AuditActor, action: AuditAction, now: number, policy: FederationPolicy) {
  const { id, issuerId, apiKeyHash } = policy
  return changeAuditRow(actor, action, now, { policyId: id, issuerId, keyHash: apiKeyHash })
}

/** What an administrator decides about a policy. */
export type PolicyDraft = Pick<
  FederationPolicy,
  'issuerId' | 'subject' | 'audience' | 'condition' | 'apiKeyHash' | 'enabled' | 'claimChecks'
>

/**
 * Why a draft cannot be saved in an organization; empty when it can. `issuer` and `key` are the records the draft
 * names, or null. Whether the condition is one is for the pool to say (`ConditionEvaluator.check`).
 */
export function policyIssues(
  draft: PolicyDraft,
  organizationId: string,
  issuer: { readonly organizationId: string } | null,
  key: ApiKey | null,
): ValidationIssue[] {
  const { subject, audience, condition, claimChecks } = draft
  const isOwnIssuer = issuer?.organizationId === organizationId
  // By the field's path on the wire (contract/gateway 10.4).
  const defects: readonly (readonly [field: string, defect: string | null | false])[] = [
    ['issuer_id', !isOwnIssuer && 'must be an issuer of the organization'],
    ['subject', claimTextDefect(subject)],
    ['audience', claimTextDefect(audience)],
    ['claim_checks.scopes', claimTextDefect(claimChecks.scopes)],
    ['claim_checks.token_type', claimTextDefect(claimChecks.tokenType)],
    ['subject', subject === null && condition === null && 'must be set when there is no condition'],
    ['api_key_hash', targetKeyDefect(organizationId, key)],
  ]
  return defects.flatMap(([field, defect]) =>
    defect ? [notedIssue(['body', ...field.split('.')], defect)] : [],
  )
}

function claimTextDefect(text: string | null): string | null {
  if (text === null) return null
  if (text === '') return 'must not be empty'
  return fitsClaimLength(text) ? null : `must have at most ${MAX_CLAIM_CHARS} characters`
}

function targetKeyDefect(organizationId: string, key: ApiKey | null): string | null {
  const isKnown = key !== null && key.organizationId === organizationId && key.deletedAt === null
  if (!isKnown) return 'must be a key of the organization'
  return key.kind === 'workspace' ? null : 'must be a workspace key'
}
