import type { FileHandle } from 'node:fs/promises'
import type { FileReader } from '../file-store.js'

/** Two of them for each reader: a slow one may cost no more than 256 KiB. */
const PIECE_BYTES = 96 * 1024
const NOTHING = new Uint8Array(0)

/** Reads a part of a content with two buffers of its own: while one piece is sent, the next one is read. */
export function createContentReader(handle: FileHandle, start: number, length: number): FileReader {
  const end = start + length
  let at = start
  /** For the next piece; the other one holds the piece before, or is not there yet. */
  let free = allocateReadBuffer(length)
  let lent: Buffer | null = null
  let ahead: Promise<Uint8Array> | null = null
  let busy: Promise<unknown> = Promise.resolve()

  const readAhead = async (): Promise<Uint8Array> => {
    const left = end - at
    if (left <= 0) return NOTHING
    const buffer = free
    free = lent ?? allocateReadBuffer(left - buffer.length)
    lent = buffer
    const reading = handle.read(buffer, 0, Math.min(buffer.length, left), at)
    busy = reading
    const { bytesRead } = await reading
    at += bytesRead
    return buffer.subarray(0, bytesRead)
  }

  return {
    read: async () => {
      const piece = await (ahead ?? readAhead())
      // The piece before is not looked at any more, so that its buffer takes the one after this.
      ahead = at < end ? readAhead() : Promise.resolve(NOTHING)
      // The next `read` hears of a failure.
      ahead.catch(() => {})
      return piece
    },
    /** A read may be under way when its taker leaves. */
    close: () => {
      void busy
        .catch(() => {})
        .then(() => handle.close())
        .catch(() => {})
    },
  }
}

function allocateReadBuffer(bytes: number): Buffer {
  return Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, Math.max(bytes, 1)))
}
