/** One call that the gateway makes of the faulty provider, and everything that can be done to it, byte by byte. */

import type { Socket } from 'node:net'
import { resetSocket } from '../base/reset-socket.js'
import type { EndpointRole } from './roles.js'

export type HeaderFields = Readonly<Record<string, string>>

/** The endpoint, the model and the mode that the gateway asked for. */
export interface ProviderRequest {
  readonly role: EndpointRole
  readonly model: string
  readonly streamed: boolean
}

/** Writes what it is told to, not what HTTP allows; no library would send half of an answer. */
export class ProviderCall {
  /** What its head said, or what it meant by an error within a success; 0 while there is none. */
  status = 0

  readonly request: ProviderRequest
  readonly #socket: Socket

  /** `onReused`: its connection has served a call before. */
  constructor(
    request: ProviderRequest,
    socket: Socket,
    readonly onReused: boolean,
  ) {
    this.request = request
    this.#socket = socket
  }

  /** The connection is closed, by either side. */
  get closed(): boolean {
    return this.#socket.destroyed
  }

  writeHead(status: number, headers: HeaderFields): void {
    this.status = status
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    this.#write(`HTTP/1.1 ${status} Drill\r\n${lines.join('')}\r\n`)
  }

  /** A whole answer with its length. */
  writeJson(status: number, value: unknown, headers: HeaderFields = {}): void {
    this.writeSizedJson(status, JSON.stringify(value), headers)
  }

  /** A text that is called JSON. `announced` is the length it is said to have, when that is not the true one. */
  writeSizedJson(
    status: number,
    text: string,
    headers: HeaderFields = {},
    announced = Buffer.byteLength(text),
  ): void {
    this.writeHead(status, {
      'content-type': 'application/json',
      ...headers,
      'content-length': String(announced),
    })
    this.#write(text)
  }

  /** Head of a body of unknown length. */
  writeChunkedHead(contentType: string): void {
    this.writeHead(200, { 'content-type': contentType, 'transfer-encoding': 'chunked' })
  }

  writeChunk(text: string): void {
    this.#write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`)
  }

  /** An event of a stream; texts go as they are. */
  writeEvent(value: unknown): void {
    this.writeChunk(`data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`)
  }

  writeLastChunk(): void {
    this.#write('0\r\n\r\n')
  }

  /** FIN, even in the middle of an answer. */
  closeConnection(): void {
    this.#socket.end()
  }

  /** RST. */
  resetConnection(): void {
    resetSocket(this.#socket)
  }

  /** Acts after so many milliseconds, unless the gateway has let go before. */
  afterDelay(ms: number, act: () => void): void {
    const timer = setTimeout(act, ms)
    this.#socket.once('close', () => clearTimeout(timer))
  }

  #write(text: string): void {
    if (!this.#socket.destroyed) this.#socket.write(text)
  }
}
