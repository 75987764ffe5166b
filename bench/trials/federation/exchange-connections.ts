import type { HttpResponse } from '../../harness/http/connection.js'
import { Connection, ConnectionLost } from '../../harness/http/connection.js'

/** An answer with the time from the sending to its end. */
interface TimedResponse {
  readonly answer: HttpResponse
  readonly sentAt: number
  readonly ms: number
}

/**
 * Kept connections that take turns, so that every worker gets its share: who asks gets the one that has rested longest,
 * or a new one while all are busy.
 */
export class ExchangeConnections {
  readonly #port: number
  readonly #free: Connection[] = []
  /** Requests without an answer. */
  lost = 0

  private constructor(port: number) {
    this.#port = port
  }

  /** Opens `count` connections. Faults: ConnectionLost. */
  static async open(port: number, count: number): Promise<ExchangeConnections> {
    const lanes = new ExchangeConnections(port)
    for (let i = 0; i < count; i++) lanes.#free.push(await Connection.open(port))
    return lanes
  }

  /** Null when the request got no answer, which is counted as well. */
  async ask(request: Buffer): Promise<TimedResponse | null> {
    try {
      let connection = this.#free.shift()
      if (!connection?.usable) connection = await Connection.open(this.#port)
      const sentAt = performance.now()
      const answer = await connection.send(request)
      const ms = performance.now() - sentAt
      if (connection.usable) this.#free.push(connection)
      return { answer, sentAt, ms }
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
