/** What a machine knows of one quota of the bank, and how much of it it should hold. */
import { isMoneyQuota, type QuotaRequest } from './quota.js'
import type { BankClaim, BankReply } from './quota-bank.js'
import type { QuotaLine, QuotaNeed, SupplyOutcome } from './quota-supply.js'

/** Those who wait for a quota. Times are those of the monotonic clock. */
export interface LineNeed extends QuotaNeed {
  readonly done: (outcome: SupplyOutcome) => void
  readonly since: number
  /** The bank is not asked before. */
  at: number
  waitMs: number
  /** What is held does not count before the bank was asked. */
  mustAsk: boolean
}

/**
 * A lease lasts for so long at the rate at which the quota is used, and is filled up when half of it is gone: calls go on
 * for longer without the bank than a machine may serve without it.
 */
const LEASE_MS = 30_000
/** Of a quota whose rate is not known, so many times what is wanted. */
const FIRST_LEASE = 8
/**
 * How old a refusal may be that is given without asking again; it doubles while there is nothing. Places among the
 * calls come back at any moment, the rest of a window or of credits seldom.
 */
const SHORTAGE_MS = 20
const PLACES_SHORTAGE_MOST_MS = 80
const SHORTAGE_MOST_MS = 640
/** Rates are told over at least so long. */
const RATE_MS = 200
/** Quotas of one statement: an account is locked as long as the statement runs. */
const MOST_CLAIMS = 200

export class BankLine implements QuotaLine {
  held = 0
  room = 0
  window = 0
  /** The call-in that the bank has made for this machine; 0 for none. */
  call = 0
  /** The last call-in that has come from others, and the last that can be answered. */
  calledIn = 0
  answered = 0
  /** The next claim gives back what is not used. */
  returning = false
  shortUntil = Number.NEGATIVE_INFINITY
  need: LineNeed | null = null
  capacity = 0
  windowMs = 0
  /** See `BankClaim`. */
  flushed = 0
  /** The bank has not been asked under this limit. */
  #isOther = false
  /** Whether the bank has said what is held. */
  #known = false
  #shortMs = SHORTAGE_MS
  /** In amounts per millisecond. */
  #rate = 0
  #used = 0
  #usedAt: number

  constructor(
    readonly name: string,
    now: number,
  ) {
    this.#usedAt = now
  }

  get isMoney(): boolean {
    return isMoneyQuota(this.name)
  }

  /** Somebody asks for it, under a limit that may be another one than before. */
  ask({ capacity, windowMs }: QuotaRequest): void {
    if (capacity !== this.capacity) {
      this.shortUntil = Number.NEGATIVE_INFINITY
      this.#isOther = true
    }
    this.capacity = capacity
    this.windowMs = windowMs
  }

  isGoodUnder(capacity: number): boolean {
    return capacity === this.capacity && !this.#isOther && this.room >= 0
  }

  /** The bank has been told that nothing is held beyond what is used, and of the limit. */
  wasChecked(): void {
    this.#isOther = false
  }

  /** How large the lease should be. */
  get target(): number {
    return Math.ceil(this.#rate * LEASE_MS)
  }

  /** Whether less than half of what it should be is unused. */
  isLow(unused: number): boolean {
    return unused < this.target / 2
  }

  /** Learns the rate from what is used by now. */
  observe(unused: number, now: number): void {
    const elapsed = now - this.#usedAt
    if (elapsed < RATE_MS) return
    const used = this.held - unused
    this.#rate = (this.#rate + Math.max(0, used - this.#used) / elapsed) / 2
    this.#used = used
    this.#usedAt = now
  }

  /** @param unused see `SuppliedQuotas.unused` */
  claim(unused: number, now: number): BankClaim {
    this.observe(unused, now)
    const { returning } = this
    const spare = returning ? Math.max(0, unused) : 0
    this.held -= spare
    this.returning = false
    const left = Math.max(0, unused - spare)
    const need = this.need !== null && this.need.at <= now ? this.need : null
    const wanted = need === null ? 0 : Math.max(1, need.total - left)
    const least = need === null ? 0 : Math.max(1, need.least - left)
    const { answered } = this
    this.answered = 0
    return {
      name: this.name,
      capacity: this.capacity,
      windowMs: this.windowMs,
      flushed: this.flushed,
      held: this.#known ? this.held : -1,
      owed: Math.max(0, -unused),
      window: this.window,
      wanted,
      least,
      target:
        need === null ? this.#topUp(returning, left) : Math.max(least * FIRST_LEASE, this.target - left),
      call: need?.waits === true ? this.call : 0,
      answered,
    }
  }

  /** What is given back, though there be nothing left of it, is not drawn again with the same claim. */
  #topUp(returning: boolean, left: number): number {
    return !returning && this.need === null && this.isLow(left) ? this.target - left : 0
  }

  /**
   * The bank cannot be told now; it is told of the call-in that was answered the next time. It may have granted something
   * all the same, and wait for a new answer to that call-in.
   */
  unsent(answered: number): void {
    this.answered = Math.max(this.answered, answered)
    this.calledIn = 0
  }

  /** What the bank says. True when it is another window than before. */
  accept({ held, room, window, call, state }: BankReply): boolean {
    const isNew = this.windowMs > 0 && window !== this.window
    // The bank asks for what was drawn after a call-in was answered by the same one, if others still wait for it.
    if (held > this.held) this.calledIn = 0
    this.held = held
    this.room = room
    this.window = window
    this.#known = true
    this.call = state === 'called' ? call : 0
    if (isNew) this.#used = 0
    return isNew
  }

  /** There was no more; for how long that is believed. */
  ranShort(now: number): void {
    this.shortUntil = now + this.#shortMs
    const isOfPlaces = this.windowMs === 0 && !this.isMoney
    this.#shortMs = Math.min(isOfPlaces ? PLACES_SHORTAGE_MOST_MS : SHORTAGE_MOST_MS, this.#shortMs * 2)
  }

  wasServed(): void {
    this.#shortMs = SHORTAGE_MS
    this.shortUntil = Number.NEGATIVE_INFINITY
  }

  /** The bank knows nothing of what is held. */
  forget(): void {
    this.held = 0
    this.#used = 0
    this.#known = false
    this.call = 0
  }
}

/** Says of a quota of which nothing is known here that nothing is held. */
function emptyClaim(name: string, answered: number): BankClaim {
  return {
    ...{ name, capacity: -1, windowMs: 0, flushed: 0, held: -1, owed: 0, window: 0 },
    ...{ wanted: 0, least: 0, target: 0, call: 0, answered },
  }
}

/**
 * What one statement says: of the quotas in `dirty`, by name with the call-ins that they answer, which are taken out of
 * it; and of lines in `busy` that are half used up, or each quota would need a statement of its own soon.
 */
export function collectClaims(
  dirty: Map<string, number>,
  lines: ReadonlyMap<string, BankLine>,
  busy: ReadonlySet<BankLine>,
  claimOf: (line: BankLine) => BankClaim,
): BankClaim[] {
  const claims: BankClaim[] = []
  const spokenOf = new Set<string>()
  for (const [name, call] of dirty) {
    if (claims.length === MOST_CLAIMS) return claims
    dirty.delete(name)
    spokenOf.add(name)
    const line = lines.get(name)
    claims.push(line === undefined ? emptyClaim(name, call) : claimOf(line))
  }
  if (claims.length === 0) return claims
  for (const line of busy) {
    if (claims.length === MOST_CLAIMS) break
    if (spokenOf.has(line.name) || line.need !== null) continue
    const claim = claimOf(line)
    if (claim.target > 0) claims.push(claim)
  }
  return claims
}
