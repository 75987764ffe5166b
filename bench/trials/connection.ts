import { connect, type Socket } from 'node:net'
import { type Answer, GarbledAnswer, ResponseReader } from './response-reader.js'

/** How a connection was lost, as the client saw it. */
export type LossKind = 'refused' | 'reset' | 'closed' | 'timeout' | 'garbled' | 'dropped'

/** A request (or a connect) that got no complete answer. */
export class ConnectionLost extends Error {
  constructor(
    readonly kind: LossKind,
    /** Bytes of the answer that had arrived. */
    readonly bytes: number,
    detail: string,
  ) {
    super(detail)
  }
}

const CONNECT_TIMEOUT_MS = 3_000
const ANSWER_TIMEOUT_MS = 15_000

function lossKind(error: NodeJS.ErrnoException): LossKind {
  if (error.code === 'ECONNREFUSED') return 'refused'
  return error.code === 'ETIMEDOUT' ? 'timeout' : 'reset'
}

interface Waiter {
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: ConnectionLost) => void
}

/**
 * One keep-alive connection to 127.0.0.1 that carries one request at a time (no pipelining).
 * It never retries and never reconnects: what happened to a request is exactly what its promise says.
 */
export class Connection {
  readonly #socket: Socket
  readonly #reader = new ResponseReader()
  #waiter: Waiter | null = null
  #usable = true
  #onIdleEnd: (() => void) | null = null

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk) => this.#data(chunk))
    socket.on('end', () => this.#ended())
    socket.on('error', (error) => this.#lose(lossKind(error), error.message))
    socket.on('close', () => this.#lose('closed', 'the connection closed'))
    socket.on('timeout', () => this.#lose('timeout', 'no answer in time'))
  }

  /** Opens a connection. Faults: ConnectionLost, also after `timeoutMs`. */
  static open(port: number, timeoutMs = CONNECT_TIMEOUT_MS): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      const fail = (kind: LossKind, detail: string): void => {
        socket.destroy()
        reject(new ConnectionLost(kind, 0, detail))
      }
      socket.setTimeout(timeoutMs, () => fail('timeout', 'no connection in time'))
      socket.once('error', (error) => fail(lossKind(error), error.message))
      socket.once('connect', () => {
        socket.removeAllListeners()
        socket.setTimeout(0)
        resolve(new Connection(socket))
      })
    })
  }

  /** False once the server announced or made the end of this connection, or a request on it failed. */
  get usable(): boolean {
    return this.#usable
  }

  /** True while a request waits for its answer. */
  get busy(): boolean {
    return this.#waiter !== null
  }

  /** Calls `listener` once when the connection ends while no request is under way. */
  onIdleEnd(listener: () => void): void {
    this.#onIdleEnd = listener
  }

  /**
   * Sends one request and resolves with its complete answer.
   * Faults: ConnectionLost when the connection ends, the answer is garbled, or nothing moves for `timeoutMs`.
   */
  send(request: Buffer, timeoutMs = ANSWER_TIMEOUT_MS): Promise<Answer> {
    if (this.#waiter) throw new Error('a request is already under way on this connection')
    if (!this.#usable) return Promise.reject(new ConnectionLost('closed', 0, 'the connection is not usable'))
    // 'HEAD ' starts with the byte 0x48; no other method in use does.
    this.#reader.expect(request[0] === 0x48)
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject }
      this.#socket.setTimeout(timeoutMs)
      this.#socket.write(request)
    })
  }

  /** Ends the connection at once from this side; a waiting request is lost as 'dropped'. */
  drop(): void {
    this.#lose('dropped', 'dropped by the client')
  }

  #data(chunk: Buffer): void {
    if (!this.#waiter) {
      this.#lose('garbled', `${chunk.length} bytes that answer no request`)
      return
    }
    try {
      const answer = this.#reader.feed(chunk)
      if (answer) this.#answered(answer)
    } catch (error) {
      if (!(error instanceof GarbledAnswer)) throw error
      this.#lose('garbled', error.message)
    }
  }

  #ended(): void {
    const answer = this.#waiter ? this.#reader.end() : null
    if (answer) this.#answered(answer)
    else this.#lose('closed', 'the server closed the connection')
  }

  #answered(answer: Answer): void {
    const waiter = this.#waiter
    this.#waiter = null
    this.#socket.setTimeout(0)
    if (answer.closes) {
      this.#usable = false
      this.#socket.destroy()
    }
    waiter?.resolve(answer)
  }

  #lose(kind: LossKind, detail: string): void {
    const wasUsable = this.#usable
    this.#usable = false
    const waiter = this.#waiter
    this.#waiter = null
    this.#socket.destroy()
    if (waiter) waiter.reject(new ConnectionLost(kind, this.#reader.pending, detail))
    else if (wasUsable && kind !== 'dropped') this.#onIdleEnd?.()
  }
}

/** One request on a connection of its own; null when it got no complete answer within `timeoutMs` per step. */
export async function askFresh(port: number, request: Buffer, timeoutMs = 2_000): Promise<Answer | null> {
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
