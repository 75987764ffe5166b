/**
 * What keys and organizations have used of their limits: once for all replicates, and in each of them by itself from the
 * first call on that may come to something else in one than in another.
 */
import { type CalendarPeriod, periodNumber } from '../../base/utc-period.js'

/** Null where there is no such limit. Money is in nano-dollars. */
export interface SupposedKeyLimits {
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
  readonly concurrent: number | null
  readonly spending: { readonly limit: number; readonly reset: CalendarPeriod | null } | null
}

export const LIMIT_KINDS = ['concurrent', 'requests', 'tokens', 'key_money', 'organization_money'] as const
export type LimitKind = (typeof LIMIT_KINDS)[number]

/** What a call comes to, in one replicate or in all of them. */
export interface LimitedUse {
  readonly totalMs: number
  readonly tokens: number
  readonly cost: number
}

const MINUTE_MS = 60_000

const spreadOut = (one: Float64Array, width: number) => new Float64Array(width).fill(one[0]!)

/** A minute begins with the first call after the last one has ended. */
class MinuteWindow {
  #began = Float64Array.of(Number.NEGATIVE_INFINITY)
  #used = new Float64Array(1)

  constructor(readonly limit: number) {}

  spread(width: number): void {
    this.#began = spreadOut(this.#began, width)
    this.#used = spreadOut(this.#used, width)
  }

  /** Whether so much more fits; what is larger than the limit may have a whole minute for itself. */
  fits(place: number, at: number, amount: number): boolean {
    if (at >= this.#began[place]! + MINUTE_MS) {
      this.#began[place] = at
      this.#used[place] = 0
    }
    return this.#used[place]! + Math.min(amount, this.limit) <= this.limit
  }

  take(place: number, amount: number): void {
    this.#used[place]! += Math.min(amount, this.limit)
  }
}

class RunningCalls {
  /** When those that run will be over. */
  #ends: number[][] = [[]]

  constructor(readonly limit: number) {}

  spread(width: number): void {
    const [ends] = this.#ends
    this.#ends = Array.from({ length: width }, () => [...ends!])
  }

  hasRoom(place: number, at: number): boolean {
    const ends = this.#ends[place]!
    if (ends.length < this.limit) return true
    this.#ends[place] = ends.filter((end) => end > at)
    return this.#ends[place]!.length < this.limit
  }

  take(place: number, endsAt: number): void {
    this.#ends[place]!.push(endsAt)
  }
}

/** What has been spent. */
export class Purse {
  #spent = new Float64Array(1)
  #period = Float64Array.of(-1)

  constructor(readonly reset: CalendarPeriod | null) {}

  get width(): number {
    return this.#spent.length
  }

  spread(width: number): void {
    if (this.width === width) return
    this.#spent = spreadOut(this.#spent, width)
    this.#period = spreadOut(this.#period, width)
  }

  begin(place: number, at: number): void {
    const period = this.reset === null ? 0 : periodNumber(this.reset, at)
    if (period === this.#period[place]) return
    this.#period[place] = period
    this.#spent[place] = 0
  }

  has(place: number, amount: number, limit: number): boolean {
    return this.#spent[place]! + amount <= limit
  }

  take(place: number, amount: number): void {
    this.#spent[place]! += amount
  }
}

export class KeyUse {
  readonly #running: RunningCalls | null
  readonly #requests: MinuteWindow | null
  readonly #tokens: MinuteWindow | null
  readonly #purse: Purse | null
  readonly #money: number
  #width = 1

  constructor({ concurrent, requestsPerMinute, tokensPerMinute, spending }: SupposedKeyLimits) {
    this.#running = concurrent === null ? null : new RunningCalls(concurrent)
    this.#requests = requestsPerMinute === null ? null : new MinuteWindow(requestsPerMinute)
    this.#tokens = tokensPerMinute === null ? null : new MinuteWindow(tokensPerMinute)
    this.#purse = spending === null ? null : new Purse(spending.reset)
    this.#money = spending?.limit ?? Number.POSITIVE_INFINITY
  }

  get width(): number {
    return this.#width
  }

  spread(width: number): void {
    if (this.#width === width) return
    this.#width = width
    for (const use of [this.#running, this.#requests, this.#tokens, this.#purse]) use?.spread(width)
  }

  /** Which limit has no room for a call; null where all have. */
  refuses(place: number, at: number, { tokens, cost }: LimitedUse): LimitKind | null {
    this.#purse?.begin(place, at)
    if (this.#running?.hasRoom(place, at) === false) return 'concurrent'
    if (this.#requests?.fits(place, at, 1) === false) return 'requests'
    if (this.#tokens?.fits(place, at, tokens) === false) return 'tokens'
    return this.#purse?.has(place, cost, this.#money) === false ? 'key_money' : null
  }

  take(place: number, at: number, { totalMs, tokens, cost }: LimitedUse): void {
    this.#running?.take(place, at + totalMs)
    this.#requests?.take(place, 1)
    this.#tokens?.take(place, tokens)
    this.#purse?.take(place, cost)
  }
}
