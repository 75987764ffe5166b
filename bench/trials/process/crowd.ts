import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from '../../harness/http/connection.js'
import { readItemRequest } from '../requests.js'

const HALF_HEADER = 'GET /api/v1/items/1 HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Never-Finished: '
const HALF_BODY =
  'POST /api/v1/items HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 200\r\n\r\n' +
  '{"name":"never finished","description":"'

/** Connections that asked once and then rest. */
export class IdleCrowd {
  readonly #connections: Connection[] = []

  /** How many of them the server still keeps. */
  get alive(): number {
    return this.#connections.filter((connection) => connection.usable).length
  }

  /** Adds `count` connections, each with one answered request. Faults: ConnectionLost. */
  async gather(port: number, count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const connection = await Connection.open(port)
      this.#connections.push(connection)
      await connection.send(readItemRequest(1))
    }
  }

  /** Closes all of them. */
  closeAll(): void {
    for (const connection of this.#connections) connection.drop()
    this.#connections.length = 0
  }
}

interface HalfSentRequest {
  readonly socket: Socket
  readonly kind: 'header' | 'body'
  readonly sentAt: number
  closedAt: number | null
}

/** Requests that begin and never end: half a header block, or a body that stops half-way. */
export class HalfSentRequests {
  readonly #all: HalfSentRequest[] = []

  /** Sends `count` beginnings of each kind, each on a connection of its own. Faults: the socket's error. */
  async send(port: number, count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      await this.#begin(port, 'header', HALF_HEADER)
      await this.#begin(port, 'body', HALF_BODY)
    }
  }

  get total(): number {
    return this.#all.length
  }

  /** How many of them the server still keeps open. */
  get open(): number {
    return this.#all.filter((one) => one.closedAt === null).length
  }

  /** Waits until the server has closed all of them, at most until the youngest is `limitMs` old. */
  async awaitClosed(limitMs: number): Promise<void> {
    const last = Math.max(0, ...this.#all.map((one) => one.sentAt)) + limitMs
    while (this.open > 0 && performance.now() < last) await sleep(50)
  }

  /** The longest the server kept one of a kind, milliseconds; those still open count as kept until now. */
  longestKept(kind: HalfSentRequest['kind']): number {
    const now = performance.now()
    const kept = this.#all.filter((one) => one.kind === kind).map((one) => (one.closedAt ?? now) - one.sentAt)
    return Math.max(0, ...kept)
  }

  /** Closes those that are left. */
  drop(): void {
    for (const { socket } of this.#all) socket.destroy()
  }

  #begin(port: number, kind: HalfSentRequest['kind'], text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      socket.once('error', reject)
      socket.once('connect', () => {
        const one: HalfSentRequest = { socket, kind, sentAt: performance.now(), closedAt: null }
        this.#all.push(one)
        socket.removeListener('error', reject)
        // A reset is one of the ways in which the server may end it; 'close' follows and is what counts.
        socket.on('error', () => {})
        socket.on('close', () => (one.closedAt = performance.now()))
        socket.resume()
        socket.write(text, () => resolve())
      })
    })
  }
}
