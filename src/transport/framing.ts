/**
 * The framing of a request, and its body. uWebSockets.js calls a handler before it has validated Content-Length and
 * Transfer-Encoding, and hands over repeated headers one by one, so this stands in front of everything.
 * The server feeds it the header fields of a request in order and asks for a verdict; what it lets through is received
 * below, as far as it was declared.
 * Rules: contract/decisions 21; RFC 9112 sections 3.2 and 6.3. Part of the native edge; only types of uWebSockets.js.
 */
import type { HttpResponse } from 'uWebSockets.js'
import { BodyQueue, type FlowControl } from './body-queue.js'
import type { Route } from './exchange.js'

/** How a caller asks for the connection to be closed: not at all, with the one word, or within a list. */
export type CloseRequest = 'none' | 'word' | 'listed'

export type FramingVerdict = 'ok' | 'bad-request' | 'length-required'

const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i
const LENGTH = /^[0-9]{1,15}$/
/** What an authority may be made of (RFC 3986 section 3.2.2); it may be empty. */
const HOST = /^[\w.\-~!$&'()*+,;=%:[\]]*$/

export class FramingGuard {
  readonly #allowChunked: boolean
  #hosts = 0
  #types = 0
  #credentials = 0
  #length = ''
  #coding = ''
  #codings = 0
  #malformed = false
  #closeRequest: CloseRequest = 'none'

  /** `allowChunked`: the operator declares that a strict proxy stands in front. */
  constructor(allowChunked: boolean) {
    this.#allowChunked = allowChunked
  }

  reset(): void {
    this.#hosts = 0
    this.#types = 0
    this.#credentials = 0
    this.#codings = 0
    this.#length = ''
    this.#coding = ''
    this.#malformed = false
    this.#closeRequest = 'none'
  }

  /** Takes one header field; `name` in lower case. Told apart by length first: this runs per field. */
  addField(name: string, value: string): void {
    switch (name.length) {
      case 4:
        if (name === 'host') this.#addHost(value)
        return
      case 10:
        if (name === 'connection' && value !== 'keep-alive' && CLOSE.test(value)) {
          this.#closeRequest = value.length === 5 ? 'word' : 'listed'
        }
        return
      case 12:
        if (name === 'content-type') this.#types++
        return
      case 13:
        if (name === 'authorization') this.#credentials++
        return
      case 14:
        if (name === 'content-length') this.#addLength(value)
        return
      case 17:
        if (name === 'transfer-encoding') {
          this.#codings++
          this.#coding = value
        }
    }
  }

  #addHost(value: string): void {
    this.#hosts++
    if (!HOST.test(value)) this.#malformed = true
  }

  #addLength(value: string): void {
    // A second copy, even an equal one, is a repeated singleton; one copy may not be a list either.
    if (this.#length !== '' || !LENGTH.test(value)) this.#malformed = true
    this.#length = value
  }

  verdict(): FramingVerdict {
    if (this.#malformed || this.#hosts !== 1 || this.#types > 1 || this.#credentials > 1) return 'bad-request'
    if (this.#codings > 0) {
      if (this.#length !== '') return 'bad-request'
      if (!this.#allowChunked) return 'length-required'
      if (this.#codings > 1 || this.#coding.toLowerCase() !== 'chunked') return 'bad-request'
    }
    return 'ok'
  }

  /** The caller wants the connection closed behind the answer (RFC 9112 section 9.6). */
  get closeRequest(): CloseRequest {
    return this.#closeRequest
  }

  /**
   * Declared length of the body in bytes: 0 without a declaration, -1 when it comes in chunks, NaN when the
   * declaration is broken, so that the end of the body cannot be known.
   */
  get bodyLength(): number {
    if (this.#length !== '') return this.#malformed ? Number.NaN : Number(this.#length)
    return this.#codings > 0 ? -1 : 0
  }
}

// ── The body ────────────────────────────────────────────────────────────────

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
