/** What a management key may do with policies: those of its own organization and no others. */
import type { Cancellation } from '../../base/cancellation.js'
import type { Clock } from '../../base/clock.js'
import { Fault, Issue } from '../../base/fault.js'
import { uuidV7 } from '../../base/ids.js'
import type { AccountStore } from '../../store/account-store.js'
import type { FederationPolicy, FederationStore } from '../../store/federation-store.js'
import type { Conditions } from '../condition.js'
import { type PolicyDraft, policyDefects } from '../policy.js'
import { type Actor, type ChangeAction, changeRow } from './actor.js'

/** A new policy, in the words of the wire (contract/gateway 10.4). */
interface Wish {
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

type Changes = { readonly [K in keyof Wish]?: Wish[K] | undefined }

interface PolicyPorts {
  readonly federation: FederationStore
  readonly accounts: Pick<AccountStore, 'key'>
  readonly conditions: Pick<Conditions, 'checkCondition'>
  readonly clock: Clock
}

/** How often a change is judged anew because another came between. */
const TRIES = 5

export class OwnPolicies {
  constructor(private readonly ports: PolicyPorts) {}

  /** Oldest first. */
  all(organizationId: string): readonly FederationPolicy[] {
    return this.ports.federation.policiesOf(organizationId)
  }

  /** Null when there is none or it is somebody else's: callers cannot tell which. */
  find(organizationId: string, id: string): FederationPolicy | null {
    const policy = this.ports.federation.policy(id)
    return policy?.organizationId === organizationId ? policy : null
  }

  /**
   * Fails with `invalid-input` and every defect, and with `unavailable` when the pool has no place to check the
   * condition.
   */
  async create(actor: Actor, wish: Wish, caller: Cancellation): Promise<FederationPolicy> {
    const draft = draftOf(wish)
    await this.check(actor, draft, null, caller)
    const now = this.now()
    const policy: FederationPolicy = {
      ...draft,
      id: uuidV7(now),
      organizationId: actor.organizationId,
      enabled: wish.enabled ?? true,
      version: 1,
      createdAt: now,
      updatedAt: null,
    }
    await this.ports.federation.addPolicy(policy, row(actor, 'policy.create', now, policy))
    return policy
  }

  /**
   * A member that is absent leaves what it names, `null` takes it away. Null when there is nothing to change. What is
   * checked is the policy that comes out, against the record that is replaced: two changes that are good alone cannot
   * make a bad policy together.
   */
  async change(
    actor: Actor,
    id: string,
    changes: Changes,
    caller: Cancellation,
  ): Promise<FederationPolicy | null> {
    for (let tries = 0; tries < TRIES; tries++) {
      const seen = this.find(actor.organizationId, id)
      if (seen === null) return null
      const wanted = { ...seen, ...merged(seen, changes) }
      if (isSame(seen, wanted)) return seen
      await this.check(actor, wanted, changes, caller)
      const saved = await this.replace(actor, seen, wanted)
      if (saved !== 'overtaken') return saved
    }
    throw new Fault('conflict', { detail: 'the policy is being changed by others' })
  }

  private async replace(
    actor: Actor,
    seen: FederationPolicy,
    wanted: FederationPolicy,
  ): Promise<FederationPolicy | null | 'overtaken'> {
    const now = this.now()
    let overtaken = false
    const saved = await this.ports.federation.changePolicy(
      seen.id,
      (current) => {
        overtaken = current.version !== seen.version
        return overtaken ? current : { ...wanted, updatedAt: now }
      },
      row(actor, actionOf(seen, wanted), now, wanted),
    )
    return overtaken ? 'overtaken' : saved
  }

  /** Tokens it has issued stay good. False when there is nothing to delete. */
  async remove(actor: Actor, id: string): Promise<boolean> {
    const policy = this.find(actor.organizationId, id)
    if (policy === null) return false
    return this.ports.federation.removePolicy(id, row(actor, 'policy.delete', this.now(), policy))
  }

  /**
   * Of a change only what it touches is judged: a policy whose issuer or key is gone can still be paused.
   * @param changes null for a new policy, of which everything is judged
   */
  private async check(
    actor: Actor,
    draft: PolicyDraft,
    changes: Changes | null,
    caller: Cancellation,
  ): Promise<void> {
    const { federation, accounts } = this.ports
    const issuer = federation.issuer(draft.issuerId)
    const key = accounts.key(draft.apiKeyHash)
    const issues = policyDefects(draft, actor.organizationId, issuer, key)
      .filter(({ field }) => touches(changes, field[0]!))
      .map(({ field, note }) => new Issue(['body', ...field], 'other', undefined, note))
    const { condition } = draft
    if (condition !== null && (changes === null || changes.condition !== undefined)) {
      const refusal = await this.ports.conditions.checkCondition(condition, caller)
      if (refusal !== null) issues.push(conditionIssue(refusal.reason, refusal.position))
    }
    if (issues.length > 0) throw new Fault('invalid-input', { issues })
  }

  private now(): number {
    return Math.floor(this.ports.clock.unixSeconds() * 1000)
  }
}

function touches(changes: Changes | null, field: string): boolean {
  if (changes === null || changes[field as keyof Changes] !== undefined) return true
  // Whether there has to be a subject depends on the condition.
  return field === 'subject' && changes.condition !== undefined
}

function conditionIssue(reason: string, position: number): Issue {
  return new Issue(['body', 'condition'], 'other', undefined, `${reason} (at character ${position + 1})`)
}

function draftOf(wish: Wish): PolicyDraft {
  return {
    issuerId: wish.issuer_id,
    subject: wish.subject ?? null,
    audience: wish.audience,
    condition: wish.condition ?? null,
    apiKeyHash: wish.api_key_hash,
    claimChecks: {
      scopes: wish.claim_checks?.scopes ?? null,
      tokenType: wish.claim_checks?.token_type ?? null,
    },
  }
}

/** The part of a policy that changes can reach, after them. */
function merged(current: FederationPolicy, changes: Changes): PolicyDraft & { readonly enabled: boolean } {
  const { claim_checks: checks } = changes
  return {
    issuerId: changes.issuer_id ?? current.issuerId,
    subject: orElse(changes.subject, current.subject),
    audience: changes.audience ?? current.audience,
    condition: orElse(changes.condition, current.condition),
    apiKeyHash: changes.api_key_hash ?? current.apiKeyHash,
    enabled: changes.enabled ?? current.enabled,
    claimChecks: {
      scopes: orElse(checks?.scopes, current.claimChecks.scopes),
      tokenType: orElse(checks?.token_type, current.claimChecks.tokenType),
    },
  }
}

function orElse<T>(asked: T | undefined, current: T): T {
  return asked === undefined ? current : asked
}

function isSame(a: FederationPolicy, b: FederationPolicy): boolean {
  const plain = (Object.keys(a) as (keyof FederationPolicy)[]).filter((name) => name !== 'claimChecks')
  const { scopes, tokenType } = a.claimChecks
  const checks = scopes === b.claimChecks.scopes && tokenType === b.claimChecks.tokenType
  return checks && plain.every((name) => a[name] === b[name])
}

/** The switch is what an auditor looks for; a change that moves it is named after it. */
function actionOf(before: FederationPolicy, after: FederationPolicy): ChangeAction {
  if (before.enabled === after.enabled) return 'policy.update'
  return after.enabled ? 'policy.enable' : 'policy.pause'
}

function row(actor: Actor, action: ChangeAction, now: number, policy: FederationPolicy) {
  const { id, issuerId, apiKeyHash } = policy
  return changeRow(actor, action, now, { policyId: id, issuerId, keyHash: apiKeyHash })
}
