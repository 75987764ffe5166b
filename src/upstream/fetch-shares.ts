/** Who may fetch now: all fetches of a worker are bounded, and shared fairly among organizations (contract/decisions 64). */

/** Fetches of one organization that wait for others of it; one more fails. */
const MOST_WAITING = 1024

type Start = () => void

/** For each fetch of an organization so many stay free for others. */
const FREE_FOR_EACH = 3

/**
 * An organization may begin another fetch while three times as many as it has are free. One alone gets a quarter of
 * all, `n` with as much as they want get 1/(n + 3) each: whatever some do, the next organization begins at once, and
 * what comes back at a time for one of them holds the event loop for a moment only.
 */
export class FetchShares {
  private free: number
  private readonly running = new Map<string, number>()
  /** By organization, the one that was served longest ago first. No list is empty. */
  private readonly waiting = new Map<string, Start[]>()

  /** @param most under way at a time, of all organizations; also the most connections they need. */
  constructor(most: number) {
    this.free = most
  }

  /** Runs `fetch`, at once or when it is the organization's turn. False, without running it, when too many wait. */
  async run(organizationId: string, fetch: () => Promise<void>): Promise<boolean> {
    if (!this.mayBegin(organizationId)) {
      const queue = this.waiting.get(organizationId) ?? []
      if (queue.length >= MOST_WAITING) return false
      this.waiting.set(organizationId, queue)
      await new Promise<void>((start) => queue.push(start))
    } else this.begin(organizationId)
    try {
      await fetch()
      return true
    } finally {
      this.end(organizationId)
    }
  }

  private mayBegin(organizationId: string): boolean {
    return (this.running.get(organizationId) ?? 0) * FREE_FOR_EACH < this.free
  }

  private begin(organizationId: string): void {
    this.free--
    this.running.set(organizationId, (this.running.get(organizationId) ?? 0) + 1)
  }

  private end(organizationId: string): void {
    this.free++
    const left = this.running.get(organizationId)! - 1
    if (left > 0) this.running.set(organizationId, left)
    else this.running.delete(organizationId)
    for (const [waiting, queue] of [...this.waiting]) {
      if (!this.mayBegin(waiting)) continue
      this.begin(waiting)
      this.waiting.delete(waiting)
      queue.shift()!()
      if (queue.length > 0) this.waiting.set(waiting, queue)
    }
  }
}
