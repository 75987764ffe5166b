/** The body of one call, from the native callbacks to memory or to a reader. Part of the native edge. */
import type { HttpResponse } from 'uWebSockets.js'
import { BodyQueue, type FlowControl } from './body-queue.js'
import type { Route } from './exchange.js'

/** The exchange, as far as its body concerns it. */
export interface BodyOwner {
  isOver(): boolean
  /** Whether the body is wanted: the call is not answered, and not all of the body has come. */
  isReading(): boolean
  /** Whether it is not known yet if the call is admitted. */
  isUndecided(): boolean
  /** The body outgrows the route's limit. */
  onBodyTooLarge(): void
  /** A piece came of a body that is thrown away. */
  onUnwantedPiece(last: boolean): void
  /** All of the body has come. */
  onBodyComplete(): void
  /** Runs a step and keeps what it throws from native code. */
  guarded(step: () => void): void
  /** Code of ours has thrown. */
  onDefect(error: unknown): void
}

/** Counts the body, keeps it or hands it on, and holds its sender back while it must not come. */
export class BodyReceiver implements FlowControl {
  bytes = 0
  /** The sender was let go when it had sent everything: the native clock of ten seconds runs since then. */
  resumedAtEnd = false
  /** Where the route reads the body as a stream. */
  readonly queue: BodyQueue | null
  readonly #pieces: Buffer[] | null
  readonly #res: HttpResponse
  readonly #owner: BodyOwner
  readonly #limit: number
  /** As declared; -1 when the body comes in chunks. */
  readonly #length: number
  #lastCame = false
  #paused = false

  constructor(res: HttpResponse, owner: BodyOwner, route: Route, length: number) {
    this.#res = res
    this.#owner = owner
    this.#limit = route.bodyLimit
    this.#length = length
    this.#pieces = route.readsBody === true ? [] : null
    this.queue = route.readsBody === 'stream' ? new BodyQueue(length < 0 ? null : length, this) : null
    res.onData((chunk, last) => {
      try {
        this.#onData(chunk, last)
      } catch (error) {
        owner.onDefect(error)
      }
    })
  }

  /** What was kept of the body. */
  whole(): Uint8Array {
    const pieces = this.#pieces ?? []
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
  }

  /** The call is admitted or refused: a sender that was held back for that goes on. */
  onDecided(): void {
    if (this.queue === null && this.#paused) this.release()
  }

  /** Rule 11: the native side winds up its clock of ten seconds again behind a handler that has paused. */
  hold(): void {
    this.#paused = true
    if (this.#owner.isOver()) return
    this.#res.pause()
    setImmediate(() => {
      if (this.#paused && !this.#owner.isOver()) this.#owner.guarded(() => this.#res.pause())
    })
  }

  release(): void {
    this.#paused = false
    if (this.#owner.isOver()) return
    this.#res.resume()
    this.resumedAtEnd = this.#lastCame
  }

  /** Rule 3: chunks are borrowed, copied at once and counted against the limit. */
  #onData(chunk: ArrayBuffer, last: boolean): void {
    const owner = this.#owner
    if (owner.isOver()) return
    this.bytes += chunk.byteLength
    // Only a chunked body can get past the limit here: a declared length was judged before a byte was read.
    if (this.bytes > this.#limit && owner.isReading()) {
      this.queue?.fail()
      owner.onBodyTooLarge()
    }
    if (!owner.isReading()) {
      owner.onUnwantedPiece(last)
      return
    }
    this.#lastCame = last
    this.#take(chunk, last)
    if (!last || owner.isOver()) return
    // uWS ends a body early when the peer half-closes; a body shorter than declared is no body.
    if (this.#length >= 0 && this.bytes !== this.#length) {
      this.#res.close()
      return
    }
    owner.onBodyComplete()
  }

  #take(chunk: ArrayBuffer, last: boolean): void {
    if (this.queue !== null) {
      if (last) this.queue.markLastPiece()
      this.queue.push(new Uint8Array(chunk))
      return
    }
    if (this.#pieces !== null && chunk.byteLength > 0) this.#pieces.push(Buffer.from(Buffer.from(chunk)))
    if (!last && !this.#paused && this.#owner.isUndecided()) this.hold()
  }
}
