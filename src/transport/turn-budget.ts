/** How much a turn of the event loop may do. Part of the native edge. */

/** A turn is looked at after so many requests. */
const REQUESTS = 1_000
const TURN_MS = 10

/**
 * Ends turns that last too long (rule 15). uWS reads 512 KiB at a time and runs every request in them before anybody
 * else gets a word: ten thousand small ones. So behind a thousand requests and 10 ms what comes is answered in the next
 * turn. Callers that wait for their answers do not notice. A caller that goes on sending ahead does: behind a request
 * that is not answered yet uWS ends the connection.
 */
export class TurnBudget {
  #requests = 0
  #checkedAt = 0
  #next: Promise<void> | null = null
  readonly #turnMs: number

  constructor(turnMs = TURN_MS) {
    this.#turnMs = turnMs
  }

  /** Takes a request into account; null when it may be answered now, otherwise what it waits for. */
  enter(now: number): Promise<void> | null {
    this.#requests++
    if (this.#requests < REQUESTS) return null
    if (this.#requests === REQUESTS) {
      // Not once in every turn: most have a single request.
      this.#checkedAt = now
      setImmediate(() => {
        this.#requests = 0
        this.#next = null
      })
    }
    if (now - this.#checkedAt < this.#turnMs) return null
    this.#next ??= new Promise((resolve) => setImmediate(resolve))
    return this.#next
  }
}
