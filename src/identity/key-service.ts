/**
 * What callers may do with keys: management with all of its organization, an admin with those of its workspaces, a
 * member with its own (contract/directory 5).
 */
import { applyChanges } from '../base/changes.js'
import { type Clock, unixMs } from '../base/clock.js'
import { Fault, invalidInput } from '../base/fault.js'
import { foldCase } from '../base/fold-case.js'
import { dollarsToNanos } from '../base/money.js'
import type { Principal } from '../base/principal.js'
import { TurnSlices } from '../base/turn-slices.js'
import type { AccountStore, ApiKey, KeyRateLimit } from '../store/account-store.js'
import { type ApiKeySpec, addNewKey } from './api-keys.js'
import { loosens } from './key-tightening.js'
import { type People, personLetsCount } from './people.js'
import { type Reach, reachOf, roleIn } from './reach.js'

/** Keys in one answer to a list. */
export const KEYS_PER_PAGE = 100
/** Records that are read at once. */
const READ_AT_ONCE = 50

interface KeyListFilter {
  readonly offset: number
  readonly include_disabled: boolean
  readonly workspace_id: string | null
  readonly q: string | null
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

const NOT_BY_BOUNDED_KEY = new Fault('forbidden', {
  note: 'A key that has limits or an end cannot create keys',
})
const NOT_FOR_OTHERS = new Fault('forbidden', { note: 'Members can create keys of their own only' })
const ONLY_TIGHTER = new Fault('forbidden', {
  note: 'Only an admin of the workspace can loosen the limits of a key or enable it, by a key without limits or end',
})

/**
 * Management keys are not among the keys these operations deal in: they have no workspace, which the wire format
 * insists on, and no management key should be able to shut its owner out. The command line deals in them.
 */
export class KeyService {
  readonly #accounts: AccountStore
  readonly #clock: Clock
  readonly #people: People

  constructor(accounts: AccountStore, clock: Clock, people: People) {
    this.#accounts = accounts
    this.#clock = clock
    this.#people = people
  }

  /** Whether a key counts follows from the roles of its person, so all keys before the page are looked at, in turns. */
  async list(caller: Principal, asked: KeyListFilter): Promise<ApiKey[]> {
    const { offset, include_disabled, workspace_id } = asked
    const part = foldCase(asked.q ?? '')
    const reach = reachOf(caller, this.#people.roles)
    const slices = new TurnSlices()
    const page: ApiKey[] = []
    let passed = 0
    for (const key of this.#keysOf(caller.organizationId)) {
      if (slices.isOver) await slices.next()
      if (!mayManage(reach, key) || (workspace_id !== null && key.workspaceId !== workspace_id)) continue
      if (!key.hash.startsWith(part) && !foldCase(key.name).includes(part)) continue
      const shown = this.#asItCounts(key)
      if (shown.disabled && !include_disabled) continue
      if (passed++ >= offset) page.push(shown)
      if (page.length === KEYS_PER_PAGE) break
    }
    return page
  }

  *#keysOf(organizationId: string): Generator<ApiKey> {
    for (let last: ApiKey | null = null; ; ) {
      const keys = this.#accounts.keysPageOf(organizationId, last, READ_AT_ONCE)
      yield* keys
      if (keys.length < READ_AT_ONCE) return
      last = keys.at(-1)!
    }
  }

  /** Null when there is none, when it is deleted, or when it is out of the caller's reach: nobody can tell which. */
  find(caller: Principal, hash: string): ApiKey | null {
    const key = this.#find(reachOf(caller, this.#people.roles), hash)
    return key && this.#asItCounts(key)
  }

  /**
   * The new key's record and its plaintext. Fails with `invalid-input` when the workspace is not the caller's or who it
   * is for has no role there, with `forbidden` when it is for somebody the caller may not make keys for.
   */
  async create(caller: Principal, wanted: NewKeyInput): Promise<{ record: ApiKey; key: string }> {
    if (this.#isBounded(caller)) throw NOT_BY_BOUNDED_KEY
    const reach = reachOf(caller, this.#people.roles)
    const workspaceId = this.#workspaceIdFor(caller, reach, wanted.workspace_id)
    const holder = this.#holderFor(reach, workspaceId, wanted.creator_user_id)
    const spec = keySpecOf(caller, wanted, workspaceId, holder)
    const { record, key } = await addNewKey(this.#accounts, spec, unixMs(this.#clock))
    return { record: this.#asItCounts(record), key }
  }

  /**
   * Null when there is nothing to change. What a member changes on its key, what a key changes on itself and what a key
   * with limits or an end changes on any may only make it narrower: fails with `forbidden` otherwise.
   */
  async change(caller: Principal, hash: string, changes: KeyChanges): Promise<ApiKey | null> {
    const reach = reachOf(caller, this.#people.roles)
    const found = this.#find(reach, hash)
    if (found === null) return null
    const isAdmin = roleIn(reach, found.workspaceId!) === 'admin'
    const mayLoosen = isAdmin && hash !== caller.keyHash && !this.#isBounded(caller)
    const apply = (current: ApiKey): ApiKey => applyKeyChanges(current, changes, unixMs(this.#clock))
    let isRefused = false
    const changed = await this.#accounts.changeKey(hash, (current) => {
      const next = apply(current)
      isRefused = !mayLoosen && loosens(current, next)
      return isRefused ? current : next
    })
    if (isRefused) throw ONLY_TIGHTER
    return changed && this.#asItCounts(changed)
  }

  /** Null when there is nothing to delete. */
  async remove(caller: Principal, hash: string): Promise<ApiKey | null> {
    // Whose key it is never changes, so it may be asked before the transaction.
    if (this.#find(reachOf(caller, this.#people.roles), hash) === null) return null
    return this.#accounts.changeKey(hash, (current) => ({ ...current, deletedAt: unixMs(this.#clock) }))
  }

  #find(reach: Reach, hash: string): ApiKey | null {
    const key = this.#accounts.key(hash)
    return key !== null && key.deletedAt === null && mayManage(reach, key) ? key : null
  }

  /** The key of a person who lets it count no more is shown as disabled; nothing is written into it. */
  #asItCounts(key: ApiKey): ApiKey {
    return key.disabled || personLetsCount(key, this.#people) ? key : { ...key, disabled: true }
  }

  /** Otherwise who has a key with a limit would make itself one without, or two would free each other. */
  #isBounded({ kind, keyHash, limits }: Principal): boolean {
    if (kind === 'management' || kind === 'member') return false
    return limits !== undefined || this.#accounts.key(keyHash)?.expiresAt !== null
  }

  /** The asked one, or the first in reach. */
  #workspaceIdFor({ organizationId }: Principal, reach: Reach, asked: string | undefined): string {
    const found =
      asked === undefined
        ? this.#accounts.workspacesOf(organizationId).find(({ id }) => roleIn(reach, id) !== null)
        : this.#accounts.workspace(asked)
    if (found?.organizationId === organizationId && roleIn(reach, found.id) !== null) return found.id
    throw invalidInput(['body', 'workspace_id'], 'is no workspace of this organization')
  }

  /** Whose the new key is; null for a key of the workspace. */
  #holderFor(reach: Reach, workspaceId: string, asked: string | null | undefined): string | null {
    if (reach.workspaces === 'all') return asked ?? null
    if (roleIn(reach, workspaceId) === 'member') {
      if (asked !== undefined && asked !== reach.userId) throw NOT_FOR_OTHERS
      return reach.userId
    }
    if (asked == null || this.#people.roles.roleOf(workspaceId, asked) !== null) return asked ?? null
    throw invalidInput(['body', 'creator_user_id'], 'has no role in this workspace')
  }
}

function mayManage(reach: Reach, { organizationId, workspaceId, creatorUserId }: ApiKey): boolean {
  if (organizationId !== reach.organizationId || workspaceId === null) return false
  const role = roleIn(reach, workspaceId)
  return role === 'admin' || (role === 'member' && creatorUserId !== null && creatorUserId === reach.userId)
}

function keySpecOf(
  caller: Principal,
  wanted: NewKeyInput,
  workspaceId: string,
  creatorUserId: string | null,
): ApiKeySpec {
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
