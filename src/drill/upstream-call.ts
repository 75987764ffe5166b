/** One call that the gateway makes of the faulty provider, and everything that can be done to it, byte by byte. */
import type { Socket } from 'node:net'
import type { Role } from './roles.js'

export type HeaderMap = Readonly<Record<string, string>>

/** Who is asked for what. */
export interface Asked {
  readonly role: Role
  readonly model: string
  readonly streamed: boolean
}

/** Writes what it is told to, not what HTTP allows; no library would send half of an answer. */
export class UpstreamCall {
  /** `performance.now()` */
  readonly at = performance.now()
  /** What its head said, or what it meant by an error within a success; 0 while there is none. */
  status = 0

  constructor(
    readonly asked: Asked,
    private readonly socket: Socket,
  ) {}

  /** The connection is closed, by whomever. */
  get closed(): boolean {
    return this.socket.destroyed
  }

  head(status: number, headers: HeaderMap): void {
    this.status = status
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    this.write(`HTTP/1.1 ${status} Drill\r\n${lines.join('')}\r\n`)
  }

  /** A whole answer with its length. */
  json(status: number, value: unknown, headers: HeaderMap = {}): void {
    this.sized(status, JSON.stringify(value), headers)
  }

  /** A text that is called JSON. `announced` is the length it is said to have, when that is not the true one. */
  sized(status: number, text: string, headers: HeaderMap = {}, announced = Buffer.byteLength(text)): void {
    this.head(status, {
      'content-type': 'application/json',
      ...headers,
      'content-length': String(announced),
    })
    this.write(text)
  }

  /** Head of a body of unknown length. */
  chunkedHead(contentType: string): void {
    this.head(200, { 'content-type': contentType, 'transfer-encoding': 'chunked' })
  }

  chunk(text: string): void {
    this.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`)
  }

  /** An event of a stream; texts go as they are. */
  event(value: unknown): void {
    this.chunk(`data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`)
  }

  endChunks(): void {
    this.write('0\r\n\r\n')
  }

  /** FIN, in the middle of whatever it is. */
  cut(): void {
    this.socket.end()
  }

  /** RST. */
  reset(): void {
    this.socket.resetAndDestroy()
  }

  /** Acts after so many milliseconds, unless the gateway has let go before. */
  later(ms: number, act: () => void): void {
    const timer = setTimeout(act, ms)
    this.socket.once('close', () => clearTimeout(timer))
  }

  private write(text: string): void {
    if (!this.socket.destroyed) this.socket.write(text)
  }
}
