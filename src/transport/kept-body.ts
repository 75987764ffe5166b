/** A whole body while it comes, and what it takes of the memory for bodies. */
import type { FaultKind } from '../base/fault.js'
import type { BodyAccount, HttpCall, Route } from './exchange.js'
import { NO_BYTES } from './native-call.js'

/** The first room of a body that comes in pieces; each further one is twice as large. */
const FIRST_ROOM = 1024
/**
 * A complete body from this size on counts until its call is over: what is made of it is as large as itself. And while
 * it comes it lies in a block that can be given back at once: the engine gives back a buffer when it next collects, and
 * a server that has become idle does not.
 */
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
  /** Below `#bytes` of a large body. */
  #block: ArrayBuffer | null = null
  #size = 0
  #account: BodyAccount | null = null
  #charged = 0

  /** @param length as declared; -1 when the body comes in chunks */
  constructor(call: HttpCall, route: Route, length: number) {
    this.#call = call
    this.#route = route
    this.#most = length < 0 ? route.bodyLimit : length
  }

  /**
   * Takes a piece, borrowed for this call. Not null when there is no room for it.
   * @param isCounted whether the caller is known, on whose account it goes
   */
  add(chunk: ArrayBuffer, last: boolean, isCounted: boolean): FaultKind | null {
    const size = this.#size + chunk.byteLength
    if (last && this.#size === 0) {
      if (size > 0) this.#bytes = new Uint8Array(chunk.slice(0))
      this.#size = size
      return null
    }
    const room = size > this.#bytes.byteLength ? this.#roomFor(size) : this.#bytes.byteLength
    const refusal = isCounted ? this.charge(room) : null
    if (refusal !== null) return refusal
    if (room > this.#bytes.byteLength) this.#growTo(room)
    this.#bytes.set(new Uint8Array(chunk), this.#size)
    this.#size = size
    return null
  }

  /** Puts what it takes on the account of its caller. Not null when there is no room for it. */
  charge(room = this.#bytes.byteLength): FaultKind | null {
    const more = room - this.#charged
    if (more === 0 || this.#route.bodies === undefined) return null
    this.#account ??= this.#route.bodies.open(this.#call)
    const refusal = this.#account.take(more)
    if (refusal === null) this.#charged = room
    return refusal
  }

  /** The complete body. */
  whole(): Uint8Array {
    const come = this.#bytes.subarray(0, this.#size)
    const whole = this.#block === null ? come : Uint8Array.from(come)
    this.#free()
    if (this.#size < LARGE_BODY) this.close()
    return whole
  }

  /** Its bytes are needed no more. */
  close(): void {
    this.#free()
    this.#account?.close()
    this.#account = null
  }

  #free(): void {
    this.#bytes = NO_BYTES
    this.#block?.resize(0)
    this.#block = null
  }

  #roomFor(size: number): number {
    const room = Math.max(FIRST_ROOM, this.#bytes.byteLength)
    const doubled = room * 2 ** Math.ceil(Math.log2(Math.max(1, size / room)))
    return Math.min(Math.max(size, this.#most), doubled)
  }

  #growTo(room: number): void {
    if (this.#block !== null) {
      this.#block.resize(room)
      return
    }
    const before = this.#bytes.subarray(0, this.#size)
    // A body without an account has no bound of number, and each block takes mappings of the process.
    if (room > LARGE_BODY && this.#account !== null) {
      this.#block = new ArrayBuffer(room, { maxByteLength: Math.max(room, this.#most) })
      this.#bytes = new Uint8Array(this.#block)
    } else {
      // A slab of Node's would be kept by the smallest body in it.
      this.#bytes = Buffer.allocUnsafeSlow(room)
    }
    this.#bytes.set(before)
  }
}
