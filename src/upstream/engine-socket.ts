/**
 * A socket as the HTTP engine uses it, past the streams of Node: what comes is handed on in the turn in which it came,
 * and a request goes out in one piece. The engine pulls with `read` when `readable` is told, and says with `unshift`
 * that it wants no more.
 */
import type { OnReadOpts, Socket } from 'node:net'
import { InterimFilter } from './interim-filter.js'

/** Every socket of the process is read into these bytes, which are copied before another one is. */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024)
/** A body up to this length is copied behind its head; a longer one goes out beside it. */
const LONGEST_JOINED = 16 * 1024

/** Wants to know when the engine has taken all that one read has brought. */
export interface ReadEndListener {
  tellReadEnd(): void
}

type WriteSocket = (chunk: string | Uint8Array, encoding?: BufferEncoding) => boolean

export class EngineSocket {
  readonly filter = new InterimFilter()
  /** What the engine has not taken yet. */
  #unread: Buffer | null = null
  /** The engine wants no more, until it reads again. */
  #isHeld = false
  /** The other side has ended, behind what the engine has not taken. */
  #hasEnd = false
  #isReading = false
  /** Whom the end of the read under way concerns. */
  #listener: ReadEndListener | null = null
  /** Begin of what is written between `cork` and `uncork`. */
  #head: string | null = null

  readonly socket: Socket

  /** `open` makes the socket, which reads as `onread` says. */
  constructor(open: (onread: OnReadOpts) => Socket) {
    const callback = (length: number): boolean => {
      this.#receive(length)
      return !this.#isHeld
    }
    this.socket = open({ buffer: READ_BUFFER, callback })
    this.#attachReader(this.socket)
    this.#attachWriter(this.socket)
    this.#attachEnd(this.socket)
  }

  #receive(length: number): void {
    const bytes = Buffer.allocUnsafe(length)
    READ_BUFFER.copy(bytes, 0, 0, length)
    const passed = this.filter.pass(bytes)
    if (passed === null) return
    this.#unread = this.#unread === null ? passed : Buffer.concat([this.#unread, passed])
    if (this.#isHeld) return
    this.#isReading = true
    try {
      this.socket.emit('readable')
    } finally {
      this.#isReading = false
    }
    const listener = this.#listener
    this.#listener = null
    listener?.tellReadEnd()
  }

  /** At the end of the read under way, where there is one, and in the next tick otherwise: what was held back comes so. */
  awaitReadEnd(listener: ReadEndListener): void {
    if (this.#isReading && this.#listener === null) this.#listener = listener
    else process.nextTick(tellReadEnd, listener)
  }

  #attachReader(socket: Socket): void {
    const read = socket.read.bind(socket) as (size?: number) => null
    const push = socket.push.bind(socket)
    socket.read = (size?: number): Buffer | null => {
      // The stream's own machinery reads with a size of 0, which brings nothing.
      if (size !== undefined) return this.#isHeld ? null : read(size)
      const bytes = this.#unread
      this.#unread = null
      if (bytes !== null || !this.#isHeld) return bytes
      this.#isHeld = false
      if (this.#hasEnd) push(null)
      return read(0)
    }
    socket.unshift = (bytes: Buffer): void => {
      this.#isHeld = true
      if (bytes.length > 0)
        this.#unread = this.#unread === null ? bytes : Buffer.concat([bytes, this.#unread])
    }
    // With `onread` nothing is pushed but the end.
    socket.push = (chunk: null): boolean => {
      this.#hasEnd = this.#isHeld
      return this.#isHeld ? false : push(chunk)
    }
  }

  /**
   * The engine takes a reset of some answers for their end, and ends with an assertion that nobody catches where it has
   * held them back. A request that is still being sent fails so although nothing is read.
   */
  #attachEnd(socket: Socket): void {
    const destroy = socket.destroy.bind(socket)
    socket.destroy = (error?: NodeJS.ErrnoException): Socket =>
      destroy(
        this.#isHeld && error?.code === 'ECONNRESET' ? new Error(error.message, { cause: error }) : error,
      )
  }

  /** Head and body come as two writes, which a stream would gather, and let go of, with more work than a copy is. */
  #attachWriter(socket: Socket): void {
    const write = socket.write.bind(socket) as WriteSocket
    const cork = socket.cork.bind(socket)
    const uncork = socket.uncork.bind(socket)
    const writeBehind = (head: string, body: Uint8Array): boolean => {
      if (head === '') return write(body)
      if (body.length <= LONGEST_JOINED) return write(joined(head, body))
      cork()
      write(head, 'latin1')
      const hasRoom = write(body)
      uncork()
      return hasRoom
    }
    socket.cork = (): void => {
      this.#head = ''
    }
    socket.uncork = (): void => {
      const head = this.#head
      this.#head = null
      if (head !== null && head !== '') write(head, 'latin1')
    }
    socket.write = ((chunk: string | Uint8Array, encoding?: BufferEncoding): boolean => {
      const head = this.#head
      if (head === null) return write(chunk, encoding)
      this.#head = typeof chunk === 'string' ? head + chunk : ''
      return typeof chunk === 'string' ? true : writeBehind(head, chunk)
    }) as Socket['write']
  }
}

function tellReadEnd(listener: ReadEndListener): void {
  listener.tellReadEnd()
}

function joined(head: string, body: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(head.length + body.length)
  bytes.write(head, 'latin1')
  bytes.set(body, head.length)
  return bytes
}
