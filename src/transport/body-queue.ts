/** The body of a call on its way from a transport to its reader. */
import type { BodyReader, IncomingBody } from './exchange.js'

/** Where the pieces come from. */
export interface FlowControl {
  /** Asks for no more until `release`; what is on its way may still come. */
  hold(): void
  release(): void
}

/**
 * Hands pieces through as they come while the reader is ready, and keeps copies while it is not. Nothing is kept
 * beyond what the source still has on its way when it is told to hold.
 */
export class BodyQueue implements IncomingBody {
  readonly length: number | null
  readonly #source: FlowControl
  #reader: BodyReader | null = null
  #kept: Uint8Array[] = []
  #paused = false
  #throttled = false
  #held = false
  /** The source has nothing left to hold back. */
  #lastPieceCame = false
  #complete = false
  #failed = false
  /** The reader has had its last call. */
  #closed = false
  #delivering = false

  constructor(length: number | null, source: FlowControl) {
    this.length = length
    this.#source = source
  }

  read(reader: BodyReader): void {
    if (this.#reader !== null) throw new TypeError('a body has one reader')
    this.#reader = reader
    if (this.#failed) reader.onFailure()
    else this.#deliver()
  }

  pause(): void {
    if (this.#closed) return
    this.#paused = true
    this.#hold()
  }

  throttle(): void {
    if (this.#closed) return
    this.#throttled = true
    this.#hold()
  }

  resume(): void {
    this.#paused = false
    this.#throttled = false
    this.#deliver()
  }

  /** One more piece, borrowed for this call. */
  push(piece: Uint8Array): void {
    if (this.#closed || piece.byteLength === 0) return
    if (this.#reader !== null && !this.#paused && this.#kept.length === 0) {
      this.#reader.onData(piece, false)
      return
    }
    this.#kept.push(Buffer.from(piece))
    this.#hold()
  }

  /** The next piece is the last one, so there is nothing to hold back any more. */
  markLastPiece(): void {
    this.#lastPieceCame = true
    this.#release()
  }

  /** That was all of it. */
  markComplete(): void {
    this.#complete = true
    this.#deliver()
  }

  /** The rest will not come. Nothing happens when everything was handed over already. */
  fail(): void {
    if (this.#closed) return
    this.#failed = true
    this.discard()
    this.#reader?.onFailure()
  }

  /** From here on pieces are thrown away and the reader hears nothing. */
  discard(): void {
    this.#closed = true
    this.#kept = []
    this.#release()
  }

  #deliver(): void {
    // A reader may pause and resume within `data`.
    if (this.#closed || this.#delivering || this.#reader === null) return
    this.#delivering = true
    try {
      while (!this.#paused && !this.#closed && this.#kept.length > 0)
        this.#reader.onData(this.#kept.shift()!, true)
    } finally {
      this.#delivering = false
    }
    if (this.#paused || this.#closed) return
    if (this.#complete) {
      this.discard()
      this.#reader.onEnd()
    } else if (!this.#throttled) {
      this.#release()
    }
  }

  #hold(): void {
    if (this.#held || this.#lastPieceCame) return
    this.#held = true
    this.#source.hold()
  }

  #release(): void {
    if (!this.#held) return
    this.#held = false
    this.#source.release()
  }
}
