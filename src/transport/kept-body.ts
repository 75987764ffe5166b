/** A whole body while it comes, and what it takes of the memory for bodies. */
import type { FaultKind } from '../base/fault.js'
import type { BodyAccount, HttpCall, Route } from './exchange.js'
import { NO_BYTES } from './native-call.js'

/** The first room of a body that comes in pieces; each further one is twice as large. */
const FIRST_ROOM = 1024
/** A complete body from this size on counts until its call is over: what is made of it is as large as itself. */
const LARGE_BODY = 2 ** 20

/**
 * Grows as bytes come, whatever length was declared, and holds them in one buffer: pieces of a few bytes each would
 * take many times their size. A body that comes in one piece is handed on in the same turn, so it is not counted.
 */
export class KeptBody {
  readonly #call: HttpCall
  readonly #route: Route
  /** Most bytes it can come to. */
  readonly #most: number
  #bytes: Uint8Array = NO_BYTES
  #size = 0
  #account: BodyAccount | null = null
  #charged = 0

  /** @param length as declared; -1 when the body comes in chunks */
  constructor(call: HttpCall, route: Route, length: number) {
    this.#call = call
    this.#route = route
    this.#most = length < 0 ? route.bodyLimit : length
  }

  /** Takes a piece, borrowed for this call. */
  add(chunk: ArrayBuffer, last: boolean): void {
    const { byteLength } = chunk
    if (byteLength === 0) return
    const size = this.#size + byteLength
    if (last && this.#size === 0) this.#bytes = new Uint8Array(chunk.slice(0))
    else {
      if (size > this.#bytes.byteLength) this.#growTo(size)
      this.#bytes.set(new Uint8Array(chunk), this.#size)
    }
    this.#size = size
  }

  /** Puts what it takes on the account of its caller, who is known. Not null when there is no room for it. */
  charge(): FaultKind | null {
    const more = this.#bytes.byteLength - this.#charged
    if (more === 0 || this.#route.bodies === undefined) return null
    this.#account ??= this.#route.bodies.open(this.#call)
    const refusal = this.#account.take(more)
    if (refusal === null) this.#charged += more
    return refusal
  }

  /** The complete body. */
  whole(): Uint8Array {
    const whole = this.#bytes.subarray(0, this.#size)
    this.#bytes = NO_BYTES
    if (this.#size < LARGE_BODY) this.close()
    return whole
  }

  /** Its bytes are needed no more. */
  close(): void {
    this.#bytes = NO_BYTES
    this.#account?.close()
    this.#account = null
  }

  #growTo(size: number): void {
    const room = Math.max(FIRST_ROOM, this.#bytes.byteLength)
    const doubled = room * 2 ** Math.ceil(Math.log2(Math.max(1, size / room)))
    // A slab of Node's would be kept by the smallest body in it.
    const bytes = Buffer.allocUnsafeSlow(Math.min(Math.max(size, this.#most), doubled))
    bytes.set(this.#bytes.subarray(0, this.#size))
    this.#bytes = bytes
  }
}
