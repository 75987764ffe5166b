import type { FileHandle } from 'node:fs/promises'
import type { FileReading } from '../file-store.js'

const PIECE_BYTES = 256 * 1024
const NOTHING = new Uint8Array(0)

/** Reads a stretch of a content with one buffer of its own. */
export class ContentReading implements FileReading {
  readonly #handle: FileHandle
  readonly #buffer: Buffer
  #at: number
  readonly #end: number
  #busy: Promise<unknown> = Promise.resolve()

  constructor(handle: FileHandle, start: number, length: number) {
    this.#handle = handle
    this.#at = start
    this.#end = start + length
    this.#buffer = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, Math.max(length, 1)))
  }

  async read(): Promise<Uint8Array> {
    const wanted = Math.min(this.#buffer.length, this.#end - this.#at)
    if (wanted <= 0) return NOTHING
    const reading = this.#handle.read(this.#buffer, 0, wanted, this.#at)
    this.#busy = reading
    const { bytesRead } = await reading
    this.#at += bytesRead
    return this.#buffer.subarray(0, bytesRead)
  }

  /** A read may be under way when its taker leaves. */
  close(): void {
    void this.#busy
      .catch(() => {})
      .then(() => this.#handle.close())
      .catch(() => {})
  }
}
