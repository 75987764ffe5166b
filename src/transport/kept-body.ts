/** A whole body while it comes, and what it takes of the memory for bodies. */
import type { FaultKind } from '../base/fault.js'
import { LARGE_BYTES } from '../base/large-turns.js'
import type { BodyBlocks } from './body-blocks.js'
import { NO_BYTES } from './copied-request.js'
import type { BodyAccount, HttpCall, Route } from './exchange.js'

/** The first room of a body that comes in pieces; each further one is twice as large. */
const FIRST_ROOM = 1024
/**
 * A complete body from this size on counts until its call is over: what is made of it is as large as itself. And it
 * lies in a block that is given back at once, where its length is known from the beginning.
 */
const BLOCK_BYTES = 2 ** 20

/**
 * Grows as bytes come, whatever length was declared, and holds them in one buffer: pieces of a few bytes each would
 * take many times their size. A body that comes in one piece and waits for nothing is read before the native side takes
 * its bytes back, so it is neither copied nor counted.
 */
export class KeptBody {
  readonly #call: HttpCall
  readonly #route: Route
  readonly #blocks: BodyBlocks
  /** Most bytes it can come to. */
  readonly #most: number
  readonly #isDeclared: boolean
  readonly #isDeclaredLarge: boolean
  #bytes: Uint8Array = NO_BYTES
  /** Below `#bytes` of a large body. */
  #block: ArrayBuffer | null = null
  #size = 0
  #account: BodyAccount | null = null
  #charged = 0

  /** @param length as declared; -1 when the body comes in chunks */
  constructor(call: HttpCall, route: Route, blocks: BodyBlocks, length: number) {
    this.#call = call
    this.#route = route
    this.#blocks = blocks
    this.#isDeclared = length >= 0
    this.#isDeclaredLarge = length > BLOCK_BYTES
    this.#most = length < 0 ? route.bodyLimit : length
  }

  /**
   * Takes a piece, borrowed for this call. Not null when there is no room for it.
   * @param isCounted whether the caller is known, on whose account it goes
   */
  add(chunk: ArrayBuffer, last: boolean, isCounted: boolean): FaultKind | null {
    const size = this.#size + chunk.byteLength
    if (last && this.#size === 0) {
      const piece = new Uint8Array(chunk)
      const isAnsweredNow = isCounted && this.#isDeclared && size < LARGE_BYTES
      // Out of a slab: a block of memory for each of them costs three times as much, and this one is soon done with.
      if (size > 0) this.#bytes = isAnsweredNow ? piece : Buffer.from(piece)
      this.#size = size
      return isCounted && size >= LARGE_BYTES ? this.charge() : null
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

  /** The complete body. A large one is good, and counts, until `free`: it waits for its turn. */
  whole(): Uint8Array {
    const whole = this.#bytes.subarray(0, this.#size)
    if (this.#block === null && this.#size < LARGE_BYTES) this.close()
    return whole
  }

  /** Nothing is made of it any more. */
  close(): void {
    this.#freeBytes()
    this.#account?.close()
    this.#account = null
  }

  /** Its bytes are needed no more; what was made of many is on the account until `close`. */
  free(): void {
    if (this.#size < BLOCK_BYTES) this.close()
    else this.#freeBytes()
  }

  #freeBytes(): void {
    this.#bytes = NO_BYTES
    if (this.#block !== null) this.#blocks.giveBack(this.#block)
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
    if (this.#account !== null && (this.#isDeclaredLarge || room > BLOCK_BYTES)) {
      this.#block = this.#blocks.take(room, Math.max(room, this.#route.bodyLimit))
      this.#bytes = new Uint8Array(this.#block)
    } else {
      // A slab of Node's would be kept by the smallest body in it.
      this.#bytes = Buffer.allocUnsafeSlow(room)
    }
    this.#bytes.set(before)
  }
}
