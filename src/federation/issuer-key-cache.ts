/** The public keys of issuers, fetched when they are needed and kept as long as they may be (contract/decisions 15). */
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { type MaybePromise, mapMaybe } from '../base/maybe-promise.js'
import type { FetchJson } from '../upstream/fetch-json.js'
import { FetchShares } from '../upstream/fetch-shares.js'
import { IssuerQuotas } from './issuer-quotas.js'
import { fetchKeySet, type IssuerKeySet, KeySetUnavailable } from './key-set.js'
import type { ExchangeRefusal } from './refusal.js'
import type { ImportedKey, SubjectTokenAlgorithm, VerificationKey } from './verification-key.js'

/** Fetches of keys under way at a time in a worker; also the most connections they need. */
export const MOST_FETCHES = 256

/** Where keys come from: the part of an issuer's record that counts. */
export interface IssuerKeySource {
  readonly id: string
  readonly organizationId: string
  readonly issuerUrl: string
  readonly jwksUrl: string | null
}

const FRESH_MS = 10 * 60_000
const USABLE_MS = 60 * 60_000
/** After a failure, and before the next look for an unknown key. */
const RETRY_PAUSE_MS = 30_000
/** A failure of this age still says how the issuer is; an older one, from before a time without exchanges, does not. */
const FAILURE_RELEVANT_MS = 2 * RETRY_PAUSE_MS
/** From the begin of a fetch, which may have waited for its turn, to its end. */
const DEADLINE_MS = 5_000

const NEVER = Number.NEGATIVE_INFINITY

const TOO_MANY = 'too many fetches of the organization wait'

/** No key set of an issuer can be had. The log is told why in full, the policy tester in the words of `reason`. */
export class IssuerKeysUnavailable extends Fault {
  readonly reason: string

  constructor({ message, detail }: KeySetUnavailable, retryAfter: number) {
    super('unavailable', { retryAfter, detail: `keys of the issuer: ${detail}` })
    this.reason = `keys of the issuer: ${message}`
  }
}

/** What is known of one issuer. Times are those of the monotonic clock. */
class CachedIssuer {
  set: IssuerKeySet | null = null
  /** Begin of the fetch that brought the set, so that a key's age is never taken for less than it is. */
  setAt = NEVER
  triedAt = NEVER
  /** Of the last fetch, unless it went well. */
  failedAt = NEVER
  failure = new KeySetUnavailable('there is no key set')
  pendingFetch: Promise<void> | null = null

  constructor(readonly source: IssuerKeySource) {}

  hasSource({ id, issuerUrl, jwksUrl }: IssuerKeySource): boolean {
    const { source } = this
    return source.id === id && source.issuerUrl === issuerUrl && source.jwksUrl === jwksUrl
  }

  weight(): number {
    return this.set?.keys.reduce((sum, key) => sum + key.weight, 1) ?? 1
  }

  dropKeys(): void {
    if (this.set !== null)
      this.failure = new KeySetUnavailable('its keys had to make room for those of others')
    this.set = null
    this.setAt = NEVER
  }
}

/** How the key set of an issuer was found. */
export interface IssuerCheck {
  /** Null when it was found; otherwise why not, for whoever has saved the issuer. */
  readonly failure: string | null
  /** Milliseconds since it was tried. */
  readonly ageMs: number
  /** The set that exchanges go by; null when there is none, older than the failure where there is one. */
  readonly set: IssuerKeySet | null
}

interface IssuerKeyCacheOptions {
  /** Never rejects and settles in time. */
  readonly fetch: FetchJson
  readonly clock: Clock
  readonly allowLoopback: boolean
}

/**
 * One entry per issuer, by the issuer's id: two issuers of one URL share nothing (contract/decisions 37). An entry
 * has at most one fetch under way, and all exchanges that need its outcome wait for the same one. What is kept and
 * what is fetched at a time is bounded for all issuers together and shared fairly among organizations.
 */
export class IssuerKeyCache {
  private readonly entries = new IssuerQuotas<CachedIssuer>()
  private readonly shares = new FetchShares(MOST_FETCHES)
  /** The last that was used: a busy issuer is not moved behind itself with every exchange. */
  private latest: CachedIssuer | null = null

  constructor(private readonly options: IssuerKeyCacheOptions) {}

  /**
   * The key that a token of this algorithm and `kid` must be signed with; at once when the keys are fresh and it is one
   * that has served before. Fails with `unavailable`, with the seconds to wait, when no key set of the issuer can be had.
   */
  find(
    source: IssuerKeySource,
    alg: SubjectTokenAlgorithm,
    kid: string | null,
  ): MaybePromise<ImportedKey | ExchangeRefusal> {
    const entry = this.entryOf(source)
    return mapMaybe(this.ensureFresh(entry), () => this.findIn(entry, alg, kid))
  }

  /**
   * Fetches the key set anew, unless that was tried within the last half minute. Never rejects. A set that is found
   * serves exchanges from then on.
   */
  async check(source: IssuerKeySource): Promise<IssuerCheck> {
    const entry = this.entryOf(source)
    await (entry.pendingFetch ?? (this.isPausing(entry) ? null : this.startFetch(entry)))
    const { set, setAt, triedAt, failedAt, failure } = entry
    const now = this.now()
    return {
      failure: failedAt === NEVER && set !== null ? null : failure.message,
      ageMs: now - Math.max(triedAt, failedAt),
      set: now - setAt < USABLE_MS ? set : null,
    }
  }

  private findIn(
    entry: CachedIssuer,
    alg: SubjectTokenAlgorithm,
    kid: string | null,
  ): MaybePromise<ImportedKey | ExchangeRefusal> {
    return mapMaybe(selectKey(this.usableSet(entry), alg, kid), (known) => {
      const looking = known === 'key-unknown' ? this.refetchForUnknownKey(entry) : null
      return looking === null ? known : looking.then(() => selectKey(this.usableSet(entry), alg, kid))
    })
  }

  private entryOf(source: IssuerKeySource): CachedIssuer {
    let entry = this.latest
    if (entry?.hasSource(source) === true) return entry
    entry = this.entries.get(source)
    if (entry?.hasSource(source) !== true) entry = new CachedIssuer(source)
    this.entries.keep(entry)
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
    if (entry.pendingFetch === null && this.isPausing(entry)) return null
    const fetched = entry.pendingFetch ?? this.startFetch(entry)
    return sinceFailure < FAILURE_RELEVANT_MS && age < USABLE_MS ? null : fetched
  }

  /** Looks for a key the set does not have; null when it is too early for that. */
  private refetchForUnknownKey(entry: CachedIssuer): Promise<void> | null {
    if (entry.pendingFetch !== null) return entry.pendingFetch
    return this.isPausing(entry) ? null : this.startFetch(entry)
  }

  /** Whether the last fetch is too fresh for another one; also when the keys it brought had to make room since. */
  private isPausing({ triedAt, failedAt }: CachedIssuer): boolean {
    return this.now() - Math.max(triedAt, failedAt) < RETRY_PAUSE_MS
  }

  private usableSet({ set, setAt, triedAt, failedAt, failure }: CachedIssuer): IssuerKeySet {
    const now = this.now()
    if (set !== null && now - setAt < USABLE_MS) return set
    const again = Math.max(triedAt, failedAt) + RETRY_PAUSE_MS
    const retryAfter = Math.max(1, Math.ceil((again - now) / 1000))
    throw new IssuerKeysUnavailable(failure, retryAfter)
  }

  private startFetch(entry: CachedIssuer): Promise<void> {
    const fetched = this.shares.run(entry.source.organizationId, () => this.fetchInto(entry))
    entry.pendingFetch = fetched.then((hasRun) => {
      entry.pendingFetch = null
      if (!hasRun) this.noteFailure(entry, new KeySetUnavailable(TOO_MANY))
      // Unless it has been changed or forgotten meanwhile; and its keys may have made room for others.
      if (this.entries.get(entry.source) === entry) this.entries.keep(entry)
    })
    return entry.pendingFetch
  }

  private async fetchInto(entry: CachedIssuer): Promise<void> {
    const { fetch, allowLoopback } = this.options
    const begun = this.now()
    const timeLeft = (): number => begun + DEADLINE_MS - this.now()
    // A location found within the last ten minutes still holds, unless the last fetch from there went wrong.
    const isKnown = entry.failedAt === NEVER && begun - entry.setAt < FRESH_MS
    const known = isKnown ? entry.set!.location : null
    entry.triedAt = begun
    try {
      entry.set = await fetchKeySet(fetch, entry.source, known, { timeLeft, allowLoopback })
      entry.setAt = begun
      entry.failedAt = NEVER
    } catch (error) {
      // Whatever it was: with an older set at hand nobody waits for this promise.
      const isExpected = error instanceof KeySetUnavailable
      this.noteFailure(entry, isExpected ? error : new KeySetUnavailable('a defect of ours', `${error}`))
    }
  }

  private noteFailure(entry: CachedIssuer, failure: KeySetUnavailable): void {
    entry.failedAt = this.now()
    entry.failure = failure
  }

  private now(): number {
    return this.options.clock.monotonicMs()
  }
}

/** Keys that may fit one token at the same time, and are imported to see which does. */
const MOST_CANDIDATES = 8

/** The one key that fits (RFC 7515 section 6, RFC 8725 section 3.1). */
function selectKey(
  { keys }: IssuerKeySet,
  alg: SubjectTokenAlgorithm,
  kid: string | null,
): MaybePromise<ImportedKey | ExchangeRefusal> {
  const named = kid === null ? keys : keys.filter((key) => key.kid === kid)
  const candidates = named.filter((key) => key.alg === alg)
  return mapMaybe(importAll(candidates.slice(0, MOST_CANDIDATES)), (imported) => {
    const [first, second] = imported.filter((key) => key !== null)
    if (second !== undefined || candidates.length > MOST_CANDIDATES) {
      return kid === null ? 'kid-missing' : 'key-ambiguous'
    }
    if (first !== undefined) return first
    return kid !== null && candidates.length < named.length ? 'key-algorithm' : 'key-unknown'
  })
}

/** At once when each of them has been imported before; null stands for one that turned out to be of no use. */
function importAll(keys: readonly VerificationKey[]): MaybePromise<readonly (ImportedKey | null)[]> {
  const imports = keys.map((key) => key.import())
  const areAtHand = imports.every((each): each is ImportedKey | null => !(each instanceof Promise))
  return areAtHand ? imports : Promise.all(imports)
}
