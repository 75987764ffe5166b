/** Single requests on connections of 127.0.0.1: what happened to each is exactly what its promise says. */
import { type HttpResponse, RawConnection, type RequestLoss } from './raw-connection.js'

/** How a connection was lost, as the client saw it. */
export type ConnectionLossKind = RequestLoss | 'dropped'

/** A request (or a connect) that got no complete answer. */
export class ConnectionLost extends Error {
  constructor(
    readonly kind: ConnectionLossKind,
    /** Bytes of the answer that had arrived. */
    readonly bytes: number,
    detail: string,
  ) {
    super(detail)
  }
}

const CONNECT_TIMEOUT_MS = 3_000
const ANSWER_TIMEOUT_MS = 15_000

interface PendingResponse {
  readonly resolve: (answer: HttpResponse) => void
  readonly reject: (error: ConnectionLost) => void
}

/** One keep-alive connection that carries one request at a time (no pipelining). It never retries, never reconnects. */
export class Connection {
  readonly #raw: RawConnection
  #pending: PendingResponse | null = null
  #usable = true
  #onIdleEnd: (() => void) | null = null

  private constructor(
    port: number,
    timeoutMs: number,
    opened: () => void,
    failed: (why: ConnectionLost) => void,
  ) {
    let settled = false
    this.#raw = new RawConnection(
      { address: '127.0.0.1', port },
      {
        opened: (lane) => {
          settled = true
          lane.setIdleTimeout(0)
          opened()
        },
        answered: (lane) => this.#answered(lane.response!),
        lost: (_lane, why, detail) => {
          if (settled) this.#lost(why, detail)
          else failed(new ConnectionLost(why, 0, detail))
        },
      },
      { keepsAnswers: true },
    )
    this.#raw.setIdleTimeout(timeoutMs)
  }

  /** Opens a connection. Faults: ConnectionLost, also after `timeoutMs`. */
  static open(port: number, timeoutMs = CONNECT_TIMEOUT_MS): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const connection = new Connection(port, timeoutMs, () => resolve(connection), reject)
    })
  }

  /** Opens `count` connections one after the other. Faults: ConnectionLost. */
  static async openAll(port: number, count: number): Promise<Connection[]> {
    const all: Connection[] = []
    for (let i = 0; i < count; i++) all.push(await Connection.open(port))
    return all
  }

  /** False once the server announced or made the end of this connection, or a request on it failed. */
  get usable(): boolean {
    return this.#usable
  }

  /** True while a request waits for its answer. */
  get busy(): boolean {
    return this.#pending !== null
  }

  /** Calls `listener` once when the connection ends while no request is under way. */
  onIdleEnd(listener: () => void): void {
    this.#onIdleEnd = listener
  }

  /**
   * Sends one request, whole or in pieces, and resolves with its complete answer.
   * Faults: ConnectionLost when the connection ends, the answer is garbled, or nothing moves for `timeoutMs`.
   */
  send(request: Buffer | readonly Buffer[], timeoutMs = ANSWER_TIMEOUT_MS): Promise<HttpResponse> {
    if (this.#pending !== null) throw new Error('a request is already under way on this connection')
    if (!this.#usable) return Promise.reject(new ConnectionLost('closed', 0, 'the connection is not usable'))
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject }
      this.#raw.setIdleTimeout(timeoutMs)
      if (Buffer.isBuffer(request)) this.#raw.send(request, null)
      else this.#raw.send(request[0]!, request.slice(1))
    })
  }

  /** Ends the connection at once from this side; a waiting request is lost as 'dropped'. */
  drop(): void {
    this.#raw.close()
    this.#lost('dropped', 'dropped by the client')
  }

  #answered(answer: HttpResponse): void {
    const waiter = this.#pending
    this.#pending = null
    this.#raw.setIdleTimeout(0)
    if (answer.closes) this.#usable = false
    waiter?.resolve(answer)
  }

  #lost(kind: ConnectionLossKind, detail: string): void {
    const wasUsable = this.#usable
    this.#usable = false
    const waiter = this.#pending
    this.#pending = null
    if (waiter !== null) waiter.reject(new ConnectionLost(kind, this.#raw.received, detail))
    else if (wasUsable && kind !== 'dropped') this.#onIdleEnd?.()
  }
}

/** One request on a connection of its own; null when it got no complete answer within `timeoutMs` per step. */
export async function requestOnce(
  port: number,
  request: Buffer,
  timeoutMs = 2_000,
): Promise<HttpResponse | null> {
  let connection: Connection | undefined
  try {
    connection = await Connection.open(port, timeoutMs)
    return await connection.send(request, timeoutMs)
  } catch (error) {
    if (error instanceof ConnectionLost) return null
    throw error
  } finally {
    connection?.drop()
  }
}
