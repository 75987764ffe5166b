/** What a management key may do: see, make and change the keys of its own organization. */
import { applyChanges } from '../base/changes.js'
import { type Clock, unixMs } from '../base/clock.js'
import { invalidInput } from '../base/fault.js'
import { dollarsToNanos } from '../base/money.js'
import type { Principal } from '../base/principal.js'
import type { AccountStore, ApiKey, KeyRateLimit } from '../store/account-store.js'
import { type ApiKeySpec, addNewKey } from './api-keys.js'

/** Keys in one answer to a list. */
export const KEYS_PER_PAGE = 100

interface KeyListFilter {
  readonly offset: number
  readonly include_disabled: boolean
  readonly workspace_id: string | null
}

type OptionalMembers<T> = { readonly [K in keyof T]?: T[K] | undefined }

type RateLimitInput = OptionalMembers<
  Record<'requests_per_minute' | 'tokens_per_minute' | 'concurrent', number | null>
>

/** What new and changed keys have in common, in the words of the wire (contract/gateway 11.2). Money in dollars. */
type KeyLimitsInput = OptionalMembers<{
  limit: number | null
  limit_reset: ApiKey['limitReset']
  rate_limit: RateLimitInput | null
  include_byok_in_limit: boolean
}>

/** Times are ISO 8601. */
type NewKeyInput = KeyLimitsInput & { readonly name: string } & OptionalMembers<{
    expires_at: string | null
    workspace_id: string
    creator_user_id: string | null
    external: { readonly user: string }
  }>

type KeyChanges = KeyLimitsInput & OptionalMembers<{ name: string; disabled: boolean }>

/**
 * Management keys are not among the keys these operations deal in: they have no workspace, which the wire format
 * insists on, and no management key should be able to shut its owner out. The command line deals in them.
 */
export class KeyService {
  readonly #accounts: AccountStore
  readonly #clock: Clock

  constructor(accounts: AccountStore, clock: Clock) {
    this.#accounts = accounts
    this.#clock = clock
  }

  list(caller: Principal, { offset, include_disabled, workspace_id }: KeyListFilter): ApiKey[] {
    return this.#accounts
      .keysOf(caller.organizationId)
      .filter((key) => isKeyOfCaller(key, caller) && (include_disabled || !key.disabled))
      .filter((key) => workspace_id === null || key.workspaceId === workspace_id)
      .slice(offset, offset + KEYS_PER_PAGE)
  }

  /**
   * Null when there is none, when it is deleted, or when it belongs to another organization: callers cannot tell
   * which.
   */
  find(caller: Principal, hash: string): ApiKey | null {
    const key = this.#accounts.key(hash)
    return key !== null && key.deletedAt === null && isKeyOfCaller(key, caller) ? key : null
  }

  /** The new key's record and its plaintext. Fails with `invalid-input` when the workspace is not the caller's. */
  async create(caller: Principal, wanted: NewKeyInput): Promise<{ record: ApiKey; key: string }> {
    const spec = keySpecOf(caller, wanted, this.#workspaceIdFor(caller, wanted.workspace_id))
    return await addNewKey(this.#accounts, spec, unixMs(this.#clock))
  }

  change(caller: Principal, hash: string, changes: KeyChanges): Promise<ApiKey | null> {
    return this.#change(caller, hash, (current) => applyKeyChanges(current, changes, unixMs(this.#clock)))
  }

  /** Null when there is nothing to delete. */
  remove(caller: Principal, hash: string): Promise<ApiKey | null> {
    return this.#change(caller, hash, (current) => ({ ...current, deletedAt: unixMs(this.#clock) }))
  }

  async #change(
    caller: Principal,
    hash: string,
    change: (current: ApiKey) => ApiKey,
  ): Promise<ApiKey | null> {
    // Whose key it is never changes, so it may be asked before the transaction.
    return this.find(caller, hash) === null ? null : this.#accounts.changeKey(hash, change)
  }

  /** The asked one, or the organization's first. */
  #workspaceIdFor(caller: Principal, asked: string | undefined): string {
    const found =
      asked === undefined
        ? this.#accounts.workspacesOf(caller.organizationId)[0]
        : this.#accounts.workspace(asked)
    if (found?.organizationId === caller.organizationId) return found.id
    throw invalidInput(['body', 'workspace_id'], 'is no workspace of this organization')
  }
}

function isKeyOfCaller(key: ApiKey, caller: Principal): boolean {
  return key.organizationId === caller.organizationId && key.workspaceId !== null
}

function keySpecOf(caller: Principal, wanted: NewKeyInput, workspaceId: string): ApiKeySpec {
  const creatorUserId = wanted.creator_user_id ?? null
  return {
    kind: creatorUserId === null ? 'workspace' : 'personal',
    name: wanted.name,
    organizationId: caller.organizationId,
    workspaceId,
    creatorUserId,
    expiresAt: wanted.expires_at == null ? null : Date.parse(wanted.expires_at),
    limit: dollarsToNanos(wanted.limit ?? null),
    limitReset: wanted.limit_reset ?? null,
    rateLimit: mergeRateLimit(NO_RATES, wanted.rate_limit ?? null),
    includeByokInLimit: wanted.include_byok_in_limit ?? false,
    externalUser: wanted.external?.user ?? null,
  }
}

/** A member that is absent leaves what it names; `null` takes a limit away. */
function applyKeyChanges(current: ApiKey, changes: KeyChanges, now: number): ApiKey {
  if (Object.values(changes).every((value) => value === undefined)) return current
  const { name, disabled, limit, limit_reset: limitReset, rate_limit: rateLimit } = changes
  return applyChanges(current, {
    name,
    disabled,
    limit: limit === undefined ? undefined : dollarsToNanos(limit),
    limitReset,
    rateLimit: rateLimit === undefined ? undefined : mergeRateLimit(current.rateLimit ?? NO_RATES, rateLimit),
    includeByokInLimit: changes.include_byok_in_limit,
    updatedAt: now,
  })
}

const NO_RATES: KeyRateLimit = { requestsPerMinute: null, tokensPerMinute: null, concurrent: null }

/** Null when nothing of it limits anything. */
function mergeRateLimit(current: KeyRateLimit, wanted: RateLimitInput | null): KeyRateLimit | null {
  if (wanted === null) return null
  const next = applyChanges(current, {
    requestsPerMinute: wanted.requests_per_minute,
    tokensPerMinute: wanted.tokens_per_minute,
    concurrent: wanted.concurrent,
  })
  return Object.values(next).every((each) => each === null) ? null : next
}
