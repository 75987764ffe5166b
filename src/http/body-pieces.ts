/** A body that is read as a stream, as an iteration: for code that waits between two pieces. */
import { Fault } from '../base/fault.js'
import type { IncomingBody } from '../transport/exchange.js'

/** Bytes that may wait before the sender is held back. */
const MOST_WAITING = 256 * 1024

/**
 * The pieces of a body in their order, as copies that are the taker's own. Takes the body's one reader. While the
 * taker is busy, pieces wait up to a bound, and then the sender does. Throws a `bad-request` when the rest will not
 * come; nobody waits for the answer then.
 */
export async function* piecesOf(body: IncomingBody): AsyncGenerator<Buffer, void, void> {
  const waiting = new Waiting(body)
  body.read(waiting)
  for (;;) {
    const piece = waiting.take()
    if (piece !== null) yield piece
    else if (waiting.over) return
    else await waiting.more()
  }
}

class Waiting {
  #pieces: Buffer[] = []
  #bytes = 0
  #paused = false
  #ended = false
  #failed = false
  #wake: (() => void) | null = null

  constructor(private readonly body: IncomingBody) {}

  data(piece: Uint8Array, own: boolean): void {
    this.#pieces.push(
      own ? Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength) : Buffer.from(piece),
    )
    this.#bytes += piece.byteLength
    if (this.#bytes >= MOST_WAITING && !this.#paused) {
      this.#paused = true
      this.body.pause()
    }
    this.#tell()
  }

  end(): void {
    this.#ended = true
    this.#tell()
  }

  failed(): void {
    this.#failed = true
    this.#pieces = []
    this.#tell()
  }

  take(): Buffer | null {
    if (this.#failed) throw new Fault('bad-request', { detail: 'the body ended early' })
    const piece = this.#pieces.shift() ?? null
    if (piece !== null) this.#bytes -= piece.byteLength
    if (this.#paused && this.#pieces.length === 0) {
      this.#paused = false
      this.body.resume()
    }
    return piece
  }

  get over(): boolean {
    return this.#ended && this.#pieces.length === 0
  }

  more(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#failed || this.#ended || this.#pieces.length > 0) resolve()
      else this.#wake = resolve
    })
  }

  #tell(): void {
    this.#wake?.()
    this.#wake = null
  }
}
