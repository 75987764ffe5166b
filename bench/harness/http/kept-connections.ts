import { Connection, ConnectionLost } from './connection.js'
import type { HttpResponse } from './raw-connection.js'

/** An answer with the time of its request's sending. */
export interface TimedResponse extends HttpResponse {
  readonly sentAt: number
}

/**
 * Kept connections that take turns, so that every worker gets its share: each request gets the one that has rested
 * longest, or a new one while all are busy.
 */
export class KeptConnections {
  readonly #port: number
  readonly #free: Connection[] = []
  /** Requests without an answer. */
  lost = 0

  constructor(port: number) {
    this.#port = port
  }

  /** With `count` connections from the start on. Faults: ConnectionLost. */
  static async open(port: number, count: number): Promise<KeptConnections> {
    const kept = new KeptConnections(port)
    kept.#free.push(...(await Connection.openAll(port, count)))
    return kept
  }

  /** Null when the request got no answer, which is counted as well. */
  async ask(request: Buffer): Promise<TimedResponse | null> {
    try {
      let connection = this.#free.shift()
      if (!connection?.usable) connection = await Connection.open(this.#port)
      const sentAt = performance.now()
      const answer = await connection.send(request)
      if (connection.usable) this.#free.push(connection)
      return { ...answer, sentAt }
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error
      this.lost++
      return null
    }
  }

  drop(): void {
    for (const connection of this.#free) connection.drop()
  }
}
