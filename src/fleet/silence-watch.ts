/**
 * How long other machines have been silent: the granter's side of the revocation barrier (contract/fleet 3.1). Nothing
 * but counters is compared, and nothing but the own monotonic clock counts: nobody's time of day matters.
 */
import type { MachineBeat, PresentMachine } from '../store/membership.js'

/** The clocks of two machines may differ so much in their rates before one is believed silent that still serves. */
export const EXPIRY_FACTOR = 1.2

interface Watched extends PresentMachine {
  /** When this counter was first read. */
  readonly since: number
}

export class SilenceWatch {
  readonly #mostGapMs: number
  #watched = new Map<string, Watched>()
  #readAt = Number.NEGATIVE_INFINITY

  /** @param periodMs how often beats are read */
  constructor(periodMs: number) {
    this.#mostGapMs = 3 * periodMs
  }

  /** The counters of all others, read no later than `now`. */
  observe(others: readonly PresentMachine[], now: number): void {
    const hadGap = this.#hasGap(now)
    this.#readAt = now
    this.#watched = new Map(
      others.map(({ name, epoch, beat, stalenessMs }) => {
        const known = hadGap ? undefined : this.#watched.get(name)
        const since = known?.epoch === epoch && known.beat === beat ? known.since : now
        return [name, { name, epoch, beat, stalenessMs, since }]
      }),
    )
  }

  /** Those that cannot be serving any more by what they had confirmed, if their counters still stand as they were read. */
  silent(now: number): readonly MachineBeat[] {
    if (this.#hasGap(now)) return []
    return [...this.#watched.values()]
      .filter(({ since, stalenessMs }) => now - since >= stalenessMs * EXPIRY_FACTOR)
      .map(({ name, epoch, beat }) => ({ name, epoch, beat }))
  }

  /**
   * Who was frozen or could not read itself has not seen anybody being silent meanwhile; after a database that was away
   * for all, everybody gets the time to beat again.
   */
  #hasGap(now: number): boolean {
    return now - this.#readAt > this.#mostGapMs
  }
}
