/** Token buckets by name, one process's. They have no holders: tokens are used up when they are granted. */
import type { Clock } from '../base/clock.js'
import { grantableAmount, type QuotaGrant, type QuotaRequest } from './quota.js'

/** A request that refills what it asks for. */
type TokenRequest = QuotaRequest & Required<Pick<QuotaRequest, 'refillPerMs'>>

interface TokenBucket {
  level: number
  /** Up to when it has been refilled; of the monotonic clock. */
  refilledAt: number
}

/** How long tokens are good: unused ones go to waste, no more than refill in that time. */
export const TOKEN_LIFE_MS = 100
/** Buckets kept at a time, about 100 bytes each; beyond it the one used longest ago is forgotten, hence full. */
const MAX_BUCKETS = 100_000

export function isTokenRequest(request: QuotaRequest): request is TokenRequest {
  return request.refillPerMs !== undefined
}

export class TokenBuckets {
  readonly #clock: Clock
  /** In the order of their last use. */
  readonly #buckets = new Map<string, TokenBucket>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  take(request: TokenRequest): QuotaGrant {
    const { wanted, refillPerMs } = request
    const bucket = this.#refilled(request)
    const granted = grantableAmount(bucket.level, wanted)
    bucket.level -= granted
    return {
      granted,
      epoch: 0,
      resetInMs: granted < wanted ? (1 - bucket.level) / refillPerMs : TOKEN_LIFE_MS,
    }
  }

  get size(): number {
    return this.#buckets.size
  }

  #refilled({ name, capacity, refillPerMs }: TokenRequest): TokenBucket {
    const now = this.#clock.monotonicMs()
    const bucket = this.#buckets.get(name) ?? { level: capacity, refilledAt: now }
    bucket.level = Math.min(capacity, bucket.level + (now - bucket.refilledAt) * refillPerMs)
    bucket.refilledAt = now
    this.#buckets.delete(name)
    this.#buckets.set(name, bucket)
    if (this.#buckets.size > MAX_BUCKETS) this.#buckets.delete(this.#buckets.keys().next().value!)
    return bucket
  }
}
