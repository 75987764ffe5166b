/** The body of one call on the native server: how it is taken in, and when its sender is held back. */
import type { HttpResponse } from 'uWebSockets.js'
import type { FaultKind } from '../base/fault.js'
import { LARGE_BYTES } from '../base/large-turns.js'
import { BodyQueue, type FlowControl } from './body-queue.js'
import { NO_BYTES } from './copied-request.js'
import type { BodyAccount, HttpCall, Route } from './exchange.js'
import { KeptBody } from './kept-body.js'
import type { LargeBodies } from './large-bodies.js'
import type { PacedSender, ReadingBudget } from './reading-budget.js'

/** The call, as far as its body concerns it. */
export interface BodyOwner extends HttpCall {
  /** Bytes of the body that have come so far. */
  bytesIn: number
  isOver(): boolean
  /** Whether the body is still wanted. */
  isReading(): boolean
  /** Whether it is not known yet if the call is admitted. */
  isUndecided(): boolean
  onBodyComplete(): void
  onBodyRefused(kind: FaultKind): void
  /** There is no memory for what has come. */
  onNoRoom(kind: FaultKind): void
  /** Whether the connection ends behind the answer. */
  readonly endsConnection: boolean
  /** A piece of a body that is thrown away. */
  onUnwantedPiece(last: boolean): void
  /** Whether the call waits for its caller. */
  setWaiting(waits: boolean): void
  guarded(step: () => void): void
  onDefect(error: unknown): void
}

/** Why a sender is held back: nobody wants more of the body now, or not in this turn of the event loop. */
const UNWANTED = 1
const TURN_IS_FULL = 2

/** What a body counts that is read as a stream: its reader keeps a part of it, and the native side another. */
const STREAMED_BYTES = 512 * 1024

/** Counts the body, keeps it or hands it on, and holds its sender back while it must not come. */
export class BodyReceiver implements FlowControl, PacedSender {
  /** The sender was let go when it had sent everything: the native clock of ten seconds runs since then. */
  resumedAtEnd = false
  /** Where the route reads the body as a stream. */
  readonly queue: BodyQueue | null
  /** Where the route reads the body as a whole. */
  readonly #kept: KeptBody | null
  /** Of a body that is read as a stream. */
  #account: BodyAccount | null = null
  readonly #route: Route
  #complete = false
  readonly #res: HttpResponse
  readonly #exchange: BodyOwner
  /** As declared; -1 when the body comes in chunks. */
  readonly #length: number
  /** As far as is known. */
  readonly #isLarge: boolean
  #lastCame = false
  /** Why the sender is held back: a sum of the reasons. */
  #holds = 0
  readonly #reading: ReadingBudget

  constructor(
    res: HttpResponse,
    exchange: BodyOwner,
    route: Route,
    { reading, blocks }: LargeBodies,
    length: number,
  ) {
    this.#res = res
    this.#exchange = exchange
    this.#route = route
    this.#reading = reading
    this.#length = length
    this.#isLarge = length < 0 || length >= LARGE_BYTES
    this.#kept = route.readsBody === true ? new KeptBody(exchange, route, blocks, length) : null
    exchange.setWaiting(true)
    this.queue = route.readsBody === 'stream' ? new BodyQueue(length < 0 ? null : length, this) : null
    res.onData((chunk, last) => {
      try {
        this.#onData(chunk, last)
      } catch (error) {
        exchange.onDefect(error)
      }
    })
  }

  /** What was kept of the body. */
  whole(): Uint8Array {
    return this.#kept?.whole() ?? NO_BYTES
  }

  /** Puts what the body takes on the account of its caller. Not null when there is no room for it. */
  charge(): FaultKind | null {
    if (this.#kept !== null) return this.#kept.charge()
    if (this.queue === null || this.#route.bodies === undefined) return null
    this.#account = this.#route.bodies.open(this.#exchange)
    return this.#account.take(STREAMED_BYTES)
  }

  /** Nobody reads the complete body any more, but the call that came of it goes on. */
  freeBytes(): void {
    this.#kept?.free()
  }

  /** Nothing of the body is needed any more. */
  giveBack(): void {
    this.#kept?.close()
    this.#account?.close()
    this.#account = null
  }

  onSettled(): void {
    this.giveBack()
    this.#onComplete()
  }

  /** The call is admitted or refused: a sender that was held back for that goes on. */
  onDecided(): void {
    if (this.queue === null) this.release()
  }

  /** On whose account the body comes; '' where nobody counts it. */
  get caller(): string {
    return this.#route.bodies?.open(this.#exchange).caller ?? ''
  }

  isOver(): boolean {
    return this.#exchange.isOver()
  }

  holdForTurn(): boolean {
    if ((this.#holds & TURN_IS_FULL) !== 0) return false
    this.#hold(TURN_IS_FULL)
    return true
  }

  releaseForTurn(): void {
    this.#exchange.guarded(() => this.#release(TURN_IS_FULL))
  }

  hold(): void {
    this.#hold(UNWANTED)
  }

  release(): void {
    this.#release(UNWANTED)
  }

  /** Rule 11: the native side winds up its clock of ten seconds again behind a handler that has paused. */
  #hold(reason: number): void {
    this.#holds |= reason
    if (this.#exchange.isOver()) return
    this.#res.pause()
    setImmediate(() => {
      if (this.#holds !== 0 && !this.#exchange.isOver()) this.#exchange.guarded(() => this.#res.pause())
    })
  }

  #release(reason: number): void {
    if ((this.#holds & reason) === 0) return
    this.#holds -= reason
    if (this.#holds !== 0 || this.#exchange.isOver()) return
    this.#res.resume()
    this.resumedAtEnd = this.#lastCame
  }

  /** Rule 3: chunks are borrowed, read or copied at once and counted against the limit. */
  #onData(chunk: ArrayBuffer, last: boolean): void {
    const exchange = this.#exchange
    if (exchange.isOver()) return
    exchange.bytesIn += chunk.byteLength
    if (this.#isLarge) this.#reading.spend(this, chunk.byteLength, last)
    if (last) {
      this.#lastCame = true
      // It may have been held back in this very turn, and the connection goes on behind this call.
      this.#release(TURN_IS_FULL)
    }
    // Only a chunked body can get past the limit here: a declared length was judged before a byte was read.
    if (exchange.bytesIn > this.#route.bodyLimit && exchange.isReading()) {
      this.queue?.fail()
      exchange.onBodyRefused('payload-too-large')
    }
    if (!exchange.isReading()) {
      exchange.onUnwantedPiece(last)
      return
    }
    this.#take(chunk, last)
    if (!last || exchange.isOver()) return
    // There was no room for the last piece.
    if (!exchange.isReading()) exchange.onUnwantedPiece(last)
    else if (this.#length >= 0) {
      // uWS ends a body early when the peer half-closes; a body shorter than declared is no body.
      if (exchange.bytesIn !== this.#length) this.#res.close()
      else this.#finish()
    } else this.#finishChunked()
  }

  /**
   * Rule 14: what uWS takes for the end of the chunks need not be one: its parser knows neither extensions nor
   * trailers. In the turn that follows, whatever stood behind in the same read has made uWS close the connection.
   */
  #finishChunked(): void {
    const exchange = this.#exchange
    if (!exchange.endsConnection) this.#finish()
    else
      setImmediate(() => {
        if (exchange.isReading()) exchange.guarded(() => this.#res.cork(() => this.#finish()))
      })
  }

  #finish(): void {
    this.#onComplete()
    this.#exchange.onBodyComplete()
  }

  #onComplete(): void {
    if (this.#complete) return
    this.#complete = true
    this.#account?.close()
    this.#exchange.setWaiting(false)
  }

  #take(chunk: ArrayBuffer, last: boolean): void {
    if (this.queue !== null) {
      if (last) this.queue.markLastPiece()
      this.queue.push(new Uint8Array(chunk))
      return
    }
    const refusal = this.#kept?.add(chunk, last, !this.#exchange.isUndecided()) ?? null
    if (refusal !== null) this.#exchange.onNoRoom(refusal)
    if (!last && (this.#holds & UNWANTED) === 0 && this.#exchange.isUndecided()) this.hold()
  }
}
