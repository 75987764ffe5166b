/**
 * Limits that keys and organizations might have had, applied to calls in the order in which they came. Tokens and money
 * are set aside by guesses of which the ledger tells nothing, so that what a call comes to stands for them.
 */
import {
  KeyUse,
  LIMIT_KINDS,
  type LimitedUse,
  type LimitKind,
  Purse,
  type SupposedKeyLimits,
} from './limit-use.js'

export interface SupposedLimits {
  /** By the hash of a key or how it begins; `*` for all others. */
  readonly keys: ReadonlyMap<string, SupposedKeyLimits>
  /** Credits from the begin of the time on, by the id of an organization; `*` for all others. */
  readonly credits: ReadonlyMap<string, number>
}

export const NO_SUPPOSED_LIMITS: SupposedLimits = Object.freeze({ keys: new Map(), credits: new Map() })

const ALL_OTHERS = '*'

export interface LimitedCall {
  readonly keyHash: string
  readonly organizationId: string
  /** When it came, Unix milliseconds. */
  readonly at: number
}

/** Entries of limits that are not what they seem to be. */
export interface OddEntries {
  /** No call was one of theirs. */
  readonly unmet: readonly string[]
  /** Begins of hashes that more than one key has. */
  readonly ambiguous: readonly string[]
}

export class LimitTrial {
  readonly #limits: SupposedLimits
  readonly #replicates: number
  readonly #uses = new Map<string, KeyUse>()
  readonly #purses = new Map<string, Purse>()
  /** Which entry a key falls under, by its hash; null where none. */
  readonly #entries = new Map<string, string | null>()
  /** Of entries of keys, the longest first. */
  readonly #lengths: readonly number[]
  readonly #organizations = new Set<string>()

  constructor(limits: SupposedLimits, replicates: number) {
    this.#limits = limits
    const begins = [...limits.keys.keys()].filter((entry) => entry !== ALL_OTHERS)
    this.#lengths = [...new Set(begins.map(({ length }) => length))].sort((one, other) => other - one)
    this.#replicates = replicates
  }

  /** A call of the time, whatever comes of it. */
  meet({ keyHash, organizationId }: Pick<LimitedCall, 'keyHash' | 'organizationId'>): void {
    if (this.#limits.keys.size > 0) this.#entryOf(keyHash)
    if (this.#limits.credits.size > 0)
      this.#organizations.add(this.#limits.credits.has(organizationId) ? organizationId : ALL_OTHERS)
  }

  oddEntries(): OddEntries {
    const { keys, credits } = this.#limits
    /** How many keys fall under each entry. */
    const met = new Map<string, number>()
    for (const entry of this.#entries.values()) if (entry !== null) met.set(entry, (met.get(entry) ?? 0) + 1)
    const unmetKeys = [...keys.keys()].filter((entry) => !met.has(entry))
    const unmetOrganizations = [...credits.keys()].filter((id) => !this.#organizations.has(id))
    const repeated = [...keys.keys()].filter((entry) => entry !== ALL_OTHERS && (met.get(entry) ?? 0) > 1)
    return {
      unmet: [
        ...unmetKeys.map((entry) => `keys.${entry}`),
        ...unmetOrganizations.map((id) => `organizations.${id}`),
      ],
      ambiguous: repeated.map((entry) => `keys.${entry}`),
    }
  }

  /** Whether what has become of the calls before it is the same in all replicates, as far as limits of it go. */
  isSame(call: LimitedCall): boolean {
    const { use, purse } = this.#of(call)
    return (use === null || use.width === 1) && (purse === null || purse.width === 1)
  }

  /** Which limits there are for it. */
  kindsOf({ keyHash, organizationId }: LimitedCall): readonly LimitKind[] {
    const limits = this.#limitsOf(keyHash)
    return LIMIT_KINDS.filter((kind) => {
      if (kind === 'organization_money') return this.#creditsOf(organizationId) !== null
      if (limits === null) return false
      if (kind === 'concurrent') return limits.concurrent !== null
      if (kind === 'requests') return limits.requestsPerMinute !== null
      return kind === 'tokens' ? limits.tokensPerMinute !== null : limits.spending !== null
    })
  }

  /**
   * Takes what a call needs of all its limits, or of none, and tells which has no room for it. `replicate`: null for all
   * of them, as long as they are the same.
   */
  admit(call: LimitedCall, used: LimitedUse, replicate: number | null): LimitKind | null {
    const { use, purse } = this.#of(call)
    if (replicate !== null) {
      use?.spread(this.#replicates)
      purse?.spread(this.#replicates)
    }
    const place = replicate ?? 0
    const refused = use?.refuses(place, call.at, used) ?? null
    if (refused !== null) return refused
    const credits = this.#creditsOf(call.organizationId)
    if (purse?.has(place, used.cost, credits!) === false) return 'organization_money'
    use?.take(place, call.at, used)
    purse?.take(place, used.cost)
    return null
  }

  #of({ keyHash, organizationId }: LimitedCall): {
    readonly use: KeyUse | null
    readonly purse: Purse | null
  } {
    const limits = this.#limitsOf(keyHash)
    return {
      use: limits === null ? null : madeOnce(this.#uses, keyHash, () => new KeyUse(limits)),
      purse:
        this.#creditsOf(organizationId) === null
          ? null
          : madeOnce(this.#purses, organizationId, () => new Purse(null)),
    }
  }

  #limitsOf(keyHash: string): SupposedKeyLimits | null {
    const entry = this.#entryOf(keyHash)
    return entry === null ? null : this.#limits.keys.get(entry)!
  }

  /** The one that says most of the hash: one look-up for each length that entries have, however many they are. */
  #entryOf(keyHash: string): string | null {
    const { keys } = this.#limits
    if (keys.size === 0) return null
    return madeOnce(this.#entries, keyHash, () => {
      for (const length of this.#lengths) {
        const begin = keyHash.slice(0, length)
        if (keys.has(begin)) return begin
      }
      return keys.has(ALL_OTHERS) ? ALL_OTHERS : null
    })
  }

  #creditsOf(organizationId: string): number | null {
    return this.#limits.credits.get(organizationId) ?? this.#limits.credits.get(ALL_OTHERS) ?? null
  }
}

function madeOnce<T>(all: Map<string, T>, name: string, make: () => T): T {
  const known = all.get(name)
  if (known !== undefined) return known
  const made = make()
  all.set(name, made)
  return made
}
