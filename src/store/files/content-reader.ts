import type { FileHandle } from 'node:fs/promises'
import type { FileReader } from '../file-store.js'

const PIECE_BYTES = 512 * 1024
const NOTHING = new Uint8Array(0)

/** Reads a part of a content with two buffers of its own: while one piece is sent, the next one is read. */
export class ContentReader implements FileReader {
  readonly #handle: FileHandle
  readonly #end: number
  #at: number
  /** For the next piece; the other one holds the piece before, or is not there yet. */
  #free: Buffer
  #lent: Buffer | null = null
  #ahead: Promise<Uint8Array> | null = null
  #busy: Promise<unknown> = Promise.resolve()

  constructor(handle: FileHandle, start: number, length: number) {
    this.#handle = handle
    this.#at = start
    this.#end = start + length
    this.#free = allocateReadBuffer(length)
  }

  async read(): Promise<Uint8Array> {
    const piece = await (this.#ahead ?? this.#readAhead())
    // The piece before is not looked at any more, so that its buffer takes the one after this.
    this.#ahead = this.#at < this.#end ? this.#readAhead() : Promise.resolve(NOTHING)
    // Whoever asks for it hears of it.
    this.#ahead.catch(() => {})
    return piece
  }

  async #readAhead(): Promise<Uint8Array> {
    const left = this.#end - this.#at
    if (left <= 0) return NOTHING
    const buffer = this.#free
    this.#free = this.#lent ?? allocateReadBuffer(left - buffer.length)
    this.#lent = buffer
    const reading = this.#handle.read(buffer, 0, Math.min(buffer.length, left), this.#at)
    this.#busy = reading
    const { bytesRead } = await reading
    this.#at += bytesRead
    return buffer.subarray(0, bytesRead)
  }

  /** A read may be under way when its taker leaves. */
  close(): void {
    void this.#busy
      .catch(() => {})
      .then(() => this.#handle.close())
      .catch(() => {})
  }
}

function allocateReadBuffer(bytes: number): Buffer {
  return Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, Math.max(bytes, 1)))
}
