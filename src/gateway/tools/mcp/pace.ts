/** How much a server may say: each of its messages is work for the thread that serves all callers. */

const LINES_A_SECOND = 2_000
const SECOND_MS = 1_000
const NEWLINE = 0x0a

/** Counts the lines that a connection brings: a message has one, an event two or more. */
export class Pace {
  #since = Number.NEGATIVE_INFINITY
  #lines = 0

  /** Takes a piece that has come. Milliseconds for which nothing more is to be read; 0 where there is room. */
  take(piece: Uint8Array, nowMs: number): number {
    if (nowMs - this.#since >= SECOND_MS) {
      this.#since = nowMs
      this.#lines = 0
    }
    for (let at = piece.indexOf(NEWLINE); at >= 0; at = piece.indexOf(NEWLINE, at + 1)) this.#lines++
    return this.#lines <= LINES_A_SECOND ? 0 : this.#since + SECOND_MS - nowMs
  }
}
