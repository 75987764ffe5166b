/** Token buckets by name, for one process to keep and all others to draw from (contract/decisions 36). */
import type { Clock } from '../base/clock.js'

export interface BucketRule {
  /** Calls per minute in the long run; 0 means that there is no limit. */
  readonly perMinute: number
  /** Calls that may come at once after a silence. */
  readonly burst: number
}

/** What a draw has brought. */
export interface Grant {
  /** Tokens; fewer than were asked for when the bucket is empty now, more when it is far from that. */
  readonly granted: number
  /** Until there is a token again, in milliseconds; 0 when there may be more. */
  readonly emptyForMs: number
}

/** Where tokens come from. Never rejects. */
export interface Bank {
  /** Draws `wanted` tokens, at least 1, from the bucket of that name. */
  take(name: string, wanted: number): Grant | Promise<Grant>
}

interface Bucket {
  level: number
  at: number
}

/** Buckets kept at a time, about 100 bytes each; beyond it the one that was used longest ago is forgotten, hence full. */
const MOST_BUCKETS = 100_000
/** One part in so many of what is left is granted in advance, which spares most of the asking. */
const ADVANCE = 32
const MINUTE_MS = 60_000

export class TokenBank implements Bank {
  private readonly buckets = new Map<string, Bucket>()
  private readonly perMs: number

  constructor(
    private readonly rule: BucketRule,
    private readonly clock: Clock,
  ) {
    this.perMs = rule.perMinute / MINUTE_MS
  }

  take(name: string, wanted: number): Grant {
    const bucket = this.bucketOf(name)
    const advance = Math.floor((bucket.level - wanted) / ADVANCE)
    const granted = Math.min(Math.floor(bucket.level), wanted + Math.max(0, advance))
    bucket.level -= granted
    const emptyForMs = granted < wanted ? (1 - bucket.level) / this.perMs : 0
    return { granted, emptyForMs }
  }

  /** Buckets that are kept at the moment. */
  get size(): number {
    return this.buckets.size
  }

  private bucketOf(name: string): Bucket {
    const now = this.clock.monotonicMs()
    const { burst } = this.rule
    const bucket = this.buckets.get(name) ?? { level: burst, at: now }
    bucket.level = Math.min(burst, bucket.level + (now - bucket.at) * this.perMs)
    bucket.at = now
    // The order of the map is the order of last use.
    this.buckets.delete(name)
    this.buckets.set(name, bucket)
    if (this.buckets.size > MOST_BUCKETS) this.buckets.delete(this.buckets.keys().next().value!)
    return bucket
  }
}
