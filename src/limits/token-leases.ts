/**
 * Token buckets that machines share: a machine takes tokens in advance and hands them to its workers. Where the bank is
 * away, a bucket of the machine's own stands in, so that there is a limit all the same.
 */
import type { Clock } from '../base/clock.js'
import type { QuotaGrant, QuotaRequest } from './quota.js'
import type { BankTokenClaim, BankTokens, QuotaBank } from './quota-bank.js'
import { isTokenRequest, TOKEN_LIFE_MS, TokenBuckets } from './token-buckets.js'

type TokenRequest = QuotaRequest & Required<Pick<QuotaRequest, 'refillPerMs'>>

interface TokenLease {
  tokens: number
  /** From then on they are void. */
  validUntil: number
  /** Until then the bucket has none. */
  emptyUntil: number
}

interface WaitingRequest {
  readonly request: TokenRequest
  readonly answer: (grant: QuotaGrant | null) => void
}

/** Tokens in advance go to waste after that time. */
const LEASE_MS = 5_000
const MOST_LEASES = 100_000
/** How old a refusal may be: a bucket may refill sooner than its rate says when the limit changes. */
const SHORTAGE_MS = 1_000

export class TokenLeases {
  readonly #clock: Clock
  readonly #bank: Pick<QuotaBank, 'takeTokens'>
  readonly #own: TokenBuckets
  readonly #leases = new Map<string, TokenLease>()
  #waiting: WaitingRequest[] = []
  #asking = false

  constructor(clock: Clock, bank: Pick<QuotaBank, 'takeTokens'>) {
    this.#clock = clock
    this.#bank = bank
    this.#own = new TokenBuckets(clock)
  }

  take(request: QuotaRequest, answer: (grant: QuotaGrant | null) => void): void {
    const grant = isTokenRequest(request) ? this.#fromLease(request) : null
    if (grant !== null || !isTokenRequest(request)) {
      answer(grant)
      return
    }
    this.#waiting.push({ request, answer })
    if (!this.#asking) void this.#ask()
  }

  /** Null when the bank has to be asked. */
  #fromLease({ name, wanted, refillPerMs }: TokenRequest, wasAsked = false): QuotaGrant | null {
    const lease = this.#leases.get(name)
    if (lease === undefined) return null
    const now = this.#clock.monotonicMs()
    if (now >= lease.validUntil) lease.tokens = 0
    // None in advance, which one worker might not use and another would need.
    const granted = Math.min(lease.tokens, wanted)
    if (granted >= wanted) {
      lease.tokens -= granted
      return { granted, epoch: 0, resetInMs: TOKEN_LIFE_MS }
    }
    if (now >= lease.emptyUntil && !wasAsked) return null
    lease.tokens -= granted
    const emptyMs = lease.emptyUntil - now
    return { granted, epoch: 0, resetInMs: emptyMs > 0 ? emptyMs : 1 / refillPerMs }
  }

  async #ask(): Promise<void> {
    this.#asking = true
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const asked = this.#waiting.splice(0)
      const tokens = await this.#bank.takeTokens(this.#claims(asked)).catch(() => null)
      if (tokens !== null) this.#book(tokens, asked)
      for (const { request, answer } of asked) {
        answer((tokens === null ? null : this.#fromLease(request, true)) ?? this.#own.take(request))
      }
    }
    this.#asking = false
  }

  #book(tokens: readonly BankTokens[], asked: readonly WaitingRequest[]): void {
    const now = this.#clock.monotonicMs()
    const rules = new Map(asked.map(({ request }) => [request.name, request]))
    for (const { name, granted, level } of tokens) {
      const before = this.#leases.get(name)
      const kept = before === undefined || now >= before.validUntil ? 0 : before.tokens
      const { refillPerMs } = rules.get(name)!
      const emptyMs = level < 1 ? Math.min(SHORTAGE_MS, (1 - level) / refillPerMs) : 0
      this.#leases.delete(name)
      this.#leases.set(name, {
        tokens: kept + granted,
        validUntil: now + LEASE_MS,
        emptyUntil: now + emptyMs,
      })
      if (this.#leases.size > MOST_LEASES) this.#leases.delete(this.#leases.keys().next().value!)
    }
  }

  /** One claim for each bucket: what all who wait for it want beyond what is here. */
  #claims(asked: readonly WaitingRequest[]): readonly BankTokenClaim[] {
    const wanted = new Map<string, number>()
    for (const { request } of asked) {
      wanted.set(request.name, (wanted.get(request.name) ?? 0) + request.wanted)
    }
    const rules = new Map(asked.map(({ request }) => [request.name, request]))
    return [...wanted].map(([name, amount]) => {
      const { capacity, refillPerMs } = rules.get(name)!
      const here = this.#leases.get(name)?.tokens ?? 0
      return { name, capacity, refillPerMs, wanted: Math.max(1, amount - here) }
    })
  }
}
