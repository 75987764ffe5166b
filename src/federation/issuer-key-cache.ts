/** The public keys of issuers, fetched when they are needed and kept as long as they may be (contract/decisions 15). */
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import type { FetchJson } from '../upstream/fetch-json.js'
import { fetchKeySet, type IssuerKeySet, KeySetUnavailable } from './key-set.js'
import type { ExchangeRefusal } from './refusal.js'
import type { VerificationKey } from './verification-key.js'

/** Where keys come from: the part of an issuer's record that counts. */
export interface IssuerKeySource {
  readonly id: string
  readonly issuerUrl: string
  readonly jwksUrl: string | null
}

const FRESH_MS = 10 * 60_000
const USABLE_MS = 60 * 60_000
/** After a failure, and before the next look for an unknown key. */
const RETRY_PAUSE_MS = 30_000
/** A failure of this age still says how the issuer is; an older one, from before a time without exchanges, does not. */
const FAILURE_RELEVANT_MS = 2 * RETRY_PAUSE_MS
const DEADLINE_MS = 5_000
/** Issuers kept at a time; beyond it the one that was needed longest ago goes. */
const MOST_ISSUERS = 256

const NEVER = Number.NEGATIVE_INFINITY

/** What is known of one issuer. Times are those of the monotonic clock. */
class CachedIssuer {
  set: IssuerKeySet | null = null
  /** Begin of the fetch that brought the set, so that a key's age is never taken for less than it is. */
  setAt = NEVER
  triedAt = NEVER
  /** Of the last fetch, unless it went well. */
  failedAt = NEVER
  failure = 'there is no key set'
  pendingFetch: Promise<void> | null = null

  constructor(readonly source: IssuerKeySource) {}

  hasSource({ id, issuerUrl, jwksUrl }: IssuerKeySource): boolean {
    const { source } = this
    return source.id === id && source.issuerUrl === issuerUrl && source.jwksUrl === jwksUrl
  }
}

interface IssuerKeyCacheOptions {
  /** Counts toward the deadline itself: never rejects and settles in time. */
  readonly fetch: FetchJson
  readonly clock: Clock
  readonly allowLoopback: boolean
}

/**
 * One entry per issuer, by the issuer's id: two issuers of one URL share nothing (contract/decisions 37). An entry
 * has at most one fetch under way, and all exchanges that need its outcome wait for the same one.
 */
export class IssuerKeyCache {
  /** In the order of their last use. */
  private readonly entries = new Map<string, CachedIssuer>()
  /** The last of them: a busy issuer is not moved behind itself with every exchange. */
  private latest: CachedIssuer | null = null

  constructor(private readonly options: IssuerKeyCacheOptions) {}

  /**
   * The key that a token of this algorithm and `kid` must be signed with; at once when the keys are fresh and it is
   * one of them. Fails with `unavailable`, with the seconds to wait, when no key set of the issuer can be had.
   */
  find(
    source: IssuerKeySource,
    alg: string,
    kid: string | null,
  ): MaybePromise<VerificationKey | ExchangeRefusal> {
    const entry = this.entryOf(source)
    const waiting = this.ensureFresh(entry)
    return waiting === null ? this.findIn(entry, alg, kid) : waiting.then(() => this.findIn(entry, alg, kid))
  }

  private findIn(
    entry: CachedIssuer,
    alg: string,
    kid: string | null,
  ): MaybePromise<VerificationKey | ExchangeRefusal> {
    const known = selectKey(this.usableSet(entry), alg, kid)
    if (known !== 'key-unknown') return known
    const looking = this.refetchForUnknownKey(entry)
    if (looking === null) return known
    return looking.then(() => selectKey(this.usableSet(entry), alg, kid))
  }

  private entryOf(source: IssuerKeySource): CachedIssuer {
    let entry = this.latest
    if (entry?.hasSource(source) === true) return entry
    entry = this.entries.get(source.id) ?? null
    this.entries.delete(source.id)
    if (entry?.hasSource(source) !== true) entry = new CachedIssuer(source)
    this.entries.set(source.id, entry)
    if (this.entries.size > MOST_ISSUERS) this.entries.delete(this.entries.keys().next().value!)
    this.latest = entry
    return entry
  }

  /**
   * Sees to it that the set is fresh. The promise to wait for, or null when there is nothing to wait for: the set is
   * fresh, or the last fetch has failed. Once an issuer fails, its old set serves while further tries go on beside,
   * so that a silent issuer delays one round of exchanges and not one in every thirty seconds.
   */
  private ensureFresh(entry: CachedIssuer): Promise<void> | null {
    const now = this.now()
    const age = now - entry.setAt
    if (age < FRESH_MS) return null
    const sinceFailure = now - entry.failedAt
    if (entry.pendingFetch === null && sinceFailure < RETRY_PAUSE_MS) return null
    const fetched = entry.pendingFetch ?? this.startFetch(entry)
    return sinceFailure < FAILURE_RELEVANT_MS && age < USABLE_MS ? null : fetched
  }

  /** Looks for a key the set does not have; null when it is too early for that. */
  private refetchForUnknownKey(entry: CachedIssuer): Promise<void> | null {
    if (entry.pendingFetch !== null) return entry.pendingFetch
    return this.now() - entry.triedAt < RETRY_PAUSE_MS ? null : this.startFetch(entry)
  }

  private usableSet({ set, setAt, failedAt, failure }: CachedIssuer): IssuerKeySet {
    const now = this.now()
    if (set !== null && now - setAt < USABLE_MS) return set
    const retryAfter = Math.max(1, Math.ceil((failedAt + RETRY_PAUSE_MS - now) / 1000))
    throw new Fault('unavailable', { retryAfter, detail: `keys of the issuer: ${failure}` })
  }

  private startFetch(entry: CachedIssuer): Promise<void> {
    const begun = this.now()
    entry.triedAt = begun
    entry.pendingFetch = this.fetchInto(entry, begun).finally(() => {
      entry.pendingFetch = null
    })
    return entry.pendingFetch
  }

  private async fetchInto(entry: CachedIssuer, begun: number): Promise<void> {
    const { fetch, allowLoopback } = this.options
    const timeLeft = (): number => begun + DEADLINE_MS - this.now()
    // A location found within the last ten minutes still holds, unless the last fetch from there went wrong.
    const isKnown = entry.failedAt === NEVER && begun - entry.setAt < FRESH_MS
    const known = isKnown ? entry.set!.location : null
    try {
      entry.set = await fetchKeySet(fetch, entry.source, known, { timeLeft, allowLoopback })
      entry.setAt = begun
      entry.failedAt = NEVER
    } catch (error) {
      // Whatever it was: with an older set at hand nobody waits for this promise.
      entry.failedAt = this.now()
      entry.failure = error instanceof KeySetUnavailable ? error.message : `a defect of ours: ${error}`
    }
  }

  private now(): number {
    return this.options.clock.monotonicMs()
  }
}

/** The one key that fits (RFC 7515 section 6, RFC 8725 section 3.1). */
function selectKey(
  { keys }: IssuerKeySet,
  alg: string,
  kid: string | null,
): VerificationKey | ExchangeRefusal {
  const named = kid === null ? keys : keys.filter((key) => key.kid === kid)
  const [first, second] = named.filter(({ algorithms }) => algorithms.has(alg))
  if (second !== undefined) return kid === null ? 'kid-missing' : 'key-ambiguous'
  if (first !== undefined) return first
  return kid !== null && named.length > 0 ? 'key-algorithm' : 'key-unknown'
}
