/** Part of the native edge; it imports only types from uWebSockets.js. */
import type { HttpResponse } from 'uWebSockets.js'

/**
 * Keeps what stands behind the last answer of a connection from being run.
 *
 * uWS ends a connection when it has parsed all that it has read. A request that it meets before that makes it call the
 * handler, and forget the close. The answer in front cannot be pushed out first: it lies in the buffer that uWS sends
 * when it has parsed everything. So the handler leaves the request behind unanswered and closes in the next turn, when
 * the answer is on its way; at a further request uWS itself closes at once, because one is still unanswered.
 */
export class PipelineCutoff {
  /** Address of the caller whose connection ends as soon as uWS has parsed what it has read; null for none. */
  #peer: ArrayBuffer | null = null

  /** Whether a request may stand behind a last answer. False for all but a few; asked per request. */
  get awaitsClose(): boolean {
    return this.#peer !== null
  }

  /**
   * The answer that is written next is the last of its connection. It is small, so uWS closes it before it reads from any
   * other; for the case that the socket is full the caller's address is kept, and the turn is the limit.
   */
  closeBehind(res: HttpResponse): void {
    const peer = res.getRemoteAddress()
    this.#peer = peer
    setImmediate(() => {
      if (this.#peer === peer) this.#peer = null
    })
  }

  /** uWS has closed a connection, or the answer waits for its reader and uWS closes at the next request behind it. */
  clear(): void {
    this.#peer = null
  }

  /** Takes a request that stands behind a last answer, and ends its connection; false for any other. */
  discard(res: HttpResponse): boolean {
    const peer = this.#peer
    this.#peer = null
    if (peer === null || !Buffer.from(peer).equals(Buffer.from(res.getRemoteAddress()))) return false
    let closed = false
    res.onAborted(() => {
      closed = true
    })
    setImmediate(() => {
      if (!closed) res.close()
    })
    return true
  }
}
