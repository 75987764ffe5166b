/**
 * A rate limit that several processes keep together. One bank holds the buckets, so the sum of what all of them let
 * through never exceeds the limit, however unevenly calls fall to them; tokens are drawn a few at a time and the
 * answer "empty" is remembered until it changes, so neither a busy caller nor a flood asks the bank per call.
 *
 * Drawn tokens that nobody uses go to waste after a tenth of a second, in which a bucket refills by no more than the
 * limit allows: what is let through beyond it is at most that tenth of a second's worth.
 */
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { Bank, Grant } from './token-bank.js'

/** How long drawn tokens are good. */
const LEASE_MS = 100
/** An empty bucket is asked again after this long at the latest, in case its rule is a slow one. */
const LONGEST_SILENCE_MS = 1_000
/** Names known at a time; beyond it the one that came first goes. */
const MOST_NAMES = 20_000

interface Caller {
  readonly admit: () => void
  readonly refuse: (fault: Fault) => void
}

/** What this process knows of one bucket. Times are those of the monotonic clock. */
class Tab {
  tokens = 0
  goodUntil = Number.NEGATIVE_INFINITY
  /** Until then the bucket is empty, as the bank has said. */
  emptyUntil = Number.NEGATIVE_INFINITY
  /** In which the next token comes; for callers. */
  refillAt = Number.NEGATIVE_INFINITY
  asking = false
  readonly waiting: Caller[] = []
}

export class RateLimiter {
  private readonly tabs = new Map<string, Tab>()

  constructor(
    private readonly bank: Bank,
    private readonly clock: Clock,
  ) {}

  /**
   * Lets one call through: null at once, or a promise. Throws, or rejects with, `rate-limited` and the seconds after
   * which a try makes sense.
   */
  admit(name: string): Promise<void> | null {
    const tab = this.tabOf(name)
    const now = this.clock.monotonicMs()
    if (tab.tokens > 0 && now < tab.goodUntil) {
      tab.tokens--
      return null
    }
    if (!tab.asking && now < tab.emptyUntil) throw limited(tab.refillAt - now)
    return new Promise((admit, refuse) => {
      tab.waiting.push({ admit, refuse })
      if (!tab.asking) void this.ask(name, tab)
    })
  }

  /** Asks until nobody waits; those who come meanwhile are part of the next question. */
  private async ask(name: string, tab: Tab): Promise<void> {
    tab.asking = true
    while (tab.waiting.length > 0) {
      const asked = tab.waiting.length
      this.distribute(tab, asked, await this.bank.take(name, asked))
    }
    tab.asking = false
  }

  private distribute(tab: Tab, asked: number, { granted, emptyForMs }: Grant): void {
    const now = this.clock.monotonicMs()
    const admitted = tab.waiting.splice(0, granted)
    for (const { admit } of admitted) admit()
    tab.tokens = granted - admitted.length
    tab.goodUntil = now + LEASE_MS
    if (granted >= asked) return
    tab.refillAt = now + emptyForMs
    tab.emptyUntil = now + Math.min(emptyForMs, LONGEST_SILENCE_MS)
    // Whoever has come meanwhile would find the bucket as empty.
    for (const { refuse } of tab.waiting.splice(0)) refuse(limited(emptyForMs))
  }

  private tabOf(name: string): Tab {
    let tab = this.tabs.get(name)
    if (tab === undefined) {
      tab = new Tab()
      if (this.tabs.size >= MOST_NAMES) this.tabs.delete(this.tabs.keys().next().value!)
      this.tabs.set(name, tab)
    }
    return tab
  }
}

function limited(ms: number): Fault {
  return new Fault('rate-limited', { retryAfter: Math.max(1, Math.ceil(ms / 1000)) })
}
