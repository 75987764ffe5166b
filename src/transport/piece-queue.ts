/** The body of a call on its way from a transport to its reader. */
import type { BodyReader, IncomingBody } from './exchange.js'

/** Where the pieces come from. */
interface PieceSource {
  /** Asks for no more until `release`; what is on its way may still come. */
  hold(): void
  release(): void
}

/**
 * Hands pieces through as they come while the reader is ready, and keeps copies while it is not. Nothing is kept
 * beyond what the source still has on its way when it is told to hold.
 */
export class PieceQueue implements IncomingBody {
  readonly length: number | null
  readonly #source: PieceSource
  #reader: BodyReader | null = null
  #kept: Uint8Array[] = []
  #paused = false
  #slowed = false
  #held = false
  /** The source has nothing left to hold back. */
  #exhausted = false
  #complete = false
  #failed = false
  /** The reader has heard its last call, or nobody is to hear anything any more. */
  #over = false
  #flowing = false

  constructor(length: number | null, source: PieceSource) {
    this.length = length
    this.#source = source
  }

  read(reader: BodyReader): void {
    if (this.#reader !== null) throw new TypeError('a body has one reader')
    this.#reader = reader
    if (this.#failed) reader.failed()
    else this.#flow()
  }

  pause(): void {
    if (this.#over) return
    this.#paused = true
    this.#hold()
  }

  slow(): void {
    if (this.#over) return
    this.#slowed = true
    this.#hold()
  }

  resume(): void {
    this.#paused = false
    this.#slowed = false
    this.#flow()
  }

  /** One more piece, borrowed for this call. */
  push(piece: Uint8Array): void {
    if (this.#over || piece.byteLength === 0) return
    if (this.#reader !== null && !this.#paused && this.#kept.length === 0) {
      this.#reader.data(piece, false)
      return
    }
    this.#kept.push(Buffer.from(piece))
    this.#hold()
  }

  /** The next piece is the last one, so there is nothing to hold back any more. */
  exhausted(): void {
    this.#exhausted = true
    this.#release()
  }

  /** That was all of it. */
  complete(): void {
    this.#complete = true
    this.#flow()
  }

  /** The rest will not come. Nothing happens when everything was handed over already. */
  fail(): void {
    if (this.#over) return
    this.#failed = true
    this.drop()
    this.#reader?.failed()
  }

  /** From here on pieces are thrown away and the reader hears nothing. */
  drop(): void {
    this.#over = true
    this.#kept = []
    this.#release()
  }

  #flow(): void {
    // A reader may pause and resume within `data`.
    if (this.#over || this.#flowing || this.#reader === null) return
    this.#flowing = true
    try {
      while (!this.#paused && !this.#over && this.#kept.length > 0)
        this.#reader.data(this.#kept.shift()!, true)
    } finally {
      this.#flowing = false
    }
    if (this.#paused || this.#over) return
    if (this.#complete) {
      this.drop()
      this.#reader.end()
    } else if (!this.#slowed) {
      this.#release()
    }
  }

  #hold(): void {
    if (this.#held || this.#exhausted) return
    this.#held = true
    this.#source.hold()
  }

  #release(): void {
    if (!this.#held) return
    this.#held = false
    this.#source.release()
  }
}
