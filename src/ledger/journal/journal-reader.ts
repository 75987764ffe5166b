/** The reading end of a journal: hands out the batches behind a position. */
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import type { JournalPosition } from '../../store/ledger/writable-ledger.js'
import { CONTINUED, HEAD_BYTES, listJournals, segmentPath } from './segment-format.js'

interface JournalChunk {
  /** Whole lines, in their order; a character stands for a byte. */
  readonly lines: readonly string[]
  /** Behind them. */
  readonly position: JournalPosition
  /** How many bytes they have been. */
  readonly bytes: number
  /** There may be more at once: the part was cut off because it is long enough. */
  readonly more: boolean
  /** The segment is gone, and the journal goes on in a later one. */
  readonly missing: boolean
}

/** Most bytes read at a time, unless a single batch is longer. */
const READ_BYTES = 1024 * 1024

export class JournalReader {
  readonly #folder: string
  readonly #journal: string
  #file: { readonly segment: number; readonly handle: number } | null = null
  #buffer = Buffer.allocUnsafe(READ_BYTES)

  constructor(folder: string, journal: string) {
    this.#folder = folder
    this.#journal = journal
  }

  /**
   * What has been written behind `position`, about `most` bytes of it: at least a whole batch. Throws when the file
   * cannot be read.
   */
  read(position: JournalPosition, most = READ_BYTES): JournalChunk {
    const { segment, offset } = position
    const handle = this.#open(segment)
    if (handle === null) return this.#skip(position)
    let length = readSync(handle, this.#buffer, 0, Math.min(most, this.#buffer.length), offset)
    const first = length >= HEAD_BYTES ? this.#buffer.readUInt32LE(0) : 0
    // A length that reaches beyond the file is none: something else has written there.
    const long = first !== CONTINUED && HEAD_BYTES + first > length
    if (long && offset + HEAD_BYTES + first <= fstatSync(handle).size) {
      const whole = HEAD_BYTES + first
      if (whole > this.#buffer.length) this.#buffer = Buffer.allocUnsafe(whole)
      length = readSync(handle, this.#buffer, 0, whole, offset)
    }
    return this.#parse(position, length)
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file.handle)
    this.#file = null
  }

  /** Segments are made one after the other and go only when the ledger has them: it must have been set back. */
  #skip(position: JournalPosition): JournalChunk {
    const segments = listJournals(this.#folder).get(this.#journal) ?? []
    const segment = segments.find((number) => number > position.segment)
    if (segment === undefined) return { lines: [], position, bytes: 0, more: false, missing: false }
    return { lines: [], position: { segment, offset: 0 }, bytes: 0, more: true, missing: true }
  }

  #parse({ segment, offset }: JournalPosition, length: number): JournalChunk {
    const bytes = this.#buffer
    const lines: string[] = []
    let at = 0
    while (at + HEAD_BYTES <= length) {
      const size = bytes.readUInt32LE(at)
      if (size === CONTINUED) {
        return { lines, position: { segment: segment + 1, offset: 0 }, bytes: at, more: true, missing: false }
      }
      if (size === 0) break
      const end = at + HEAD_BYTES + size
      if (end > length) {
        return {
          lines,
          position: { segment, offset: offset + at },
          bytes: at,
          more: lines.length > 0,
          missing: false,
        }
      }
      const payload = bytes.subarray(at + HEAD_BYTES, end)
      if (crc32(payload) !== bytes.readUInt32LE(at + 4)) break
      // One byte, one character: cutting is cheap, and the bytes come out again as they were.
      for (const line of payload.toString('latin1', 0, size - 1).split('\n')) lines.push(line)
      at = end
    }
    return { lines, position: { segment, offset: offset + at }, bytes: at, more: false, missing: false }
  }

  #open(segment: number): number | null {
    if (this.#file?.segment === segment) return this.#file.handle
    const path = segmentPath(this.#folder, this.#journal, segment)
    if (!existsSync(path)) return null
    this.close()
    this.#file = { segment, handle: openSync(path, 'r') }
    return this.#file.handle
  }
}
