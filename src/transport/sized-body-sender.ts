/** Sends a body of known size that is read piece by piece. Part of the native edge; only types of uWebSockets.js. */
import type { HttpResponse } from 'uWebSockets.js'
import type { SizedResponseBody } from './exchange.js'

/** What the exchange lets its sending know, and is told by it. */
interface SendProgress {
  /** Nothing may touch the native response any more. */
  isClosed(): boolean
  /** So many bytes of the body were handed to the socket so far. */
  onProgress(bytes: number): void
  /** All of them were. */
  onEnd(): void
  /** Code of ours threw inside a callback of the native side. */
  onDefect(error: unknown): void
}

/**
 * One piece at a time: the next is read when the socket has taken the one before, while the kernel still sends from
 * its own buffer. So a slow reader costs one piece of memory, whatever the size of the body.
 */
export class SizedBodySender {
  readonly #res: HttpResponse
  readonly #body: SizedResponseBody
  readonly #progress: SendProgress
  /** Bytes the socket did not take, and the offset of the first of them. */
  #rest: Uint8Array | null = null
  #restAt = 0
  #onTaken: (() => void) | null = null

  constructor(res: HttpResponse, body: SizedResponseBody, progress: SendProgress) {
    this.#res = res
    this.#body = body
    this.#progress = progress
  }

  /** Rejects when the body cannot be read; what was announced cannot be sent then. */
  async send(): Promise<void> {
    this.#res.onWritable((offset) => {
      try {
        return this.#onWritable(offset)
      } catch (error) {
        this.#progress.onDefect(error)
        return true
      }
    })
    const source = await this.#body.open()
    try {
      while (!this.#progress.isClosed()) {
        const piece = await source.read()
        if (this.#progress.isClosed()) return
        if (piece.byteLength === 0) throw new Error('a body ended before its announced size')
        if (!this.#offer(piece)) await this.#untilTaken()
      }
    } finally {
      source.close()
    }
  }

  /** The response is over: nobody will take the rest. */
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
      if (this.#reportProgress(done) || ok) return
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
    const settled = this.#reportProgress(done)
    if (settled || ok) {
      this.#rest = null
      this.#wake()
    }
    return settled || ok
  }

  #reportProgress(done: boolean): boolean {
    if (done) this.#progress.onProgress(this.#body.size)
    else this.#progress.onProgress(this.#res.getWriteOffset())
    if (done) this.#progress.onEnd()
    return done
  }

  #wake(): void {
    this.#onTaken?.()
    this.#onTaken = null
  }
}
