/** The body of a call on its way from a transport to its reader. */
import type { BodyReader, IncomingBody } from './exchange.js'

/** Where the pieces come from. */
export interface FlowControl {
  /** Asks for no more until `release`; what is on its way may still come. */
  hold(): void
  release(): void
}

/** Hands pieces through as they come, and keeps copies of those that come before there is a reader. */
export class BodyQueue implements IncomingBody {
  readonly length: number | null
  readonly #source: FlowControl
  #reader: BodyReader | null = null
  #kept: Uint8Array[] = []
  #paused = false
  #held = false
  /** The source has nothing left to hold back. */
  #lastPieceCame = false
  #complete = false
  #failed = false
  /** The reader has had its last call. */
  #closed = false

  constructor(length: number | null, source: FlowControl) {
    this.length = length
    this.#source = source
  }

  read(reader: BodyReader): void {
    if (this.#reader !== null) throw new TypeError('a body has one reader')
    this.#reader = reader
    if (this.#failed) reader.onFailure()
    while (!this.#closed && this.#kept.length > 0) reader.onData(this.#kept.shift()!, true)
    if (this.#complete) this.markComplete()
    else if (!this.#paused) this.#release()
  }

  pause(): void {
    if (this.#closed) return
    this.#paused = true
    this.#hold()
  }

  resume(): void {
    this.#paused = false
    if (this.#reader !== null) this.#release()
  }

  /** One more piece, borrowed for this call. */
  push(piece: Uint8Array): void {
    if (this.#closed || piece.byteLength === 0) return
    if (this.#reader !== null) {
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
    if (this.#closed || this.#reader === null) return
    this.discard()
    this.#reader.onEnd()
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
