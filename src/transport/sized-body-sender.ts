/** Sends a body of known size that is read piece by piece. Part of the native edge; only types of uWebSockets.js. */
import type { HttpResponse } from 'uWebSockets.js'
import type { SizedResponseBody } from './exchange.js'

/** The exchange, as far as the sending of its answer concerns it. */
export interface SendingOwner {
  /** Nothing may touch the native response any more. */
  isOver(): boolean
  /** So many bytes of a body of known size were handed to the socket so far. */
  onBytesSent(bytes: number): void
  /** The answer has ended; `aborted` when not all of it was handed to the socket. */
  settle(aborted: boolean): void
  /** Runs a step and keeps what it throws from native code. */
  guarded(step: () => void): void
  /** Code of ours has thrown. */
  onDefect(error: unknown): void
}

/**
 * Rule 5: sends what the socket did not take of a body, from its offset and when it can take more. The caller's bytes
 * may only be borrowed for this turn (an LMDB page, say), so the rest is copied.
 */
export function sendRest(res: HttpResponse, body: Uint8Array, owner: SendingOwner): void {
  const sent = res.getWriteOffset()
  const rest = Buffer.from(body.subarray(sent))
  owner.onBytesSent(sent)
  res.onWritable((offset) => {
    let taken = true
    owner.guarded(() => {
      const [ok, done] = res.tryEnd(rest.subarray(offset - sent), body.byteLength)
      taken = ok
      reportProgress(res, body.byteLength, done, owner)
    })
    return taken
  })
}

/** Passes on whether the body is done, and how much of it the socket has. */
function reportProgress(res: HttpResponse, size: number, done: boolean, owner: SendingOwner): boolean {
  owner.onBytesSent(done ? size : res.getWriteOffset())
  if (done) owner.settle(false)
  return done
}

/**
 * One piece at a time: the next is read when the socket has taken the one before, while the kernel still sends from
 * its own buffer. So a slow reader costs one piece of memory, whatever the size of the body.
 */
export class SizedBodySender {
  readonly #res: HttpResponse
  readonly #body: SizedResponseBody
  readonly #owner: SendingOwner
  /** Bytes the socket did not take, and the offset of the first of them. */
  #rest: Uint8Array | null = null
  #restAt = 0
  #onTaken: (() => void) | null = null

  constructor(res: HttpResponse, body: SizedResponseBody, owner: SendingOwner) {
    this.#res = res
    this.#body = body
    this.#owner = owner
  }

  /** Rejects when the body cannot be read; what was announced cannot be sent then. */
  async send(): Promise<void> {
    this.#res.onWritable((offset) => {
      try {
        return this.#onWritable(offset)
      } catch (error) {
        this.#owner.onDefect(error)
        return true
      }
    })
    const source = await this.#body.open()
    try {
      while (!this.#owner.isOver()) {
        const piece = await source.read()
        if (this.#owner.isOver()) return
        if (piece.byteLength === 0) throw new Error('a body ended before its announced size')
        if (!this.#offer(piece)) await this.#untilTaken()
      }
    } finally {
      source.close()
    }
  }

  /** The response is over: the rest cannot be sent. */
  stop(): void {
    this.#rest = null
    this.#wake()
  }

  /** True when the socket took the whole piece. */
  #offer(piece: Uint8Array): boolean {
    let taken = true
    this.#res.cork(() => {
      const before = this.#res.getWriteOffset()
      const [ok, done] = this.#res.tryEnd(piece, this.#body.size)
      if (reportProgress(this.#res, this.#body.size, done, this.#owner) || ok) return
      this.#restAt = this.#res.getWriteOffset()
      this.#rest = piece.subarray(this.#restAt - before)
      taken = false
    })
    return taken
  }

  #untilTaken(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#rest === null) resolve()
      else this.#onTaken = resolve
    })
  }

  /** The bytes of the rest stay good: the next piece is read only when they are taken. */
  #onWritable(offset: number): boolean {
    const rest = this.#rest
    if (rest === null) return true
    const [ok, done] = this.#res.tryEnd(rest.subarray(offset - this.#restAt), this.#body.size)
    const settled = reportProgress(this.#res, this.#body.size, done, this.#owner)
    if (settled || ok) {
      this.#rest = null
      this.#wake()
    }
    return settled || ok
  }

  #wake(): void {
    this.#onTaken?.()
    this.#onTaken = null
  }
}
