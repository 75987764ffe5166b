/** A tape that is being recorded: it grows as long as a reader would take it. */
import { formatStream, LONGEST_LINE, LONGEST_TAPE, type TapedStream } from './tape.js'

interface GrowingTapeOptions {
  /** As many are kept. */
  readonly streams: number
  /** Bytes; as many as a tape has that can be read, unless told. */
  readonly bytes?: number
  readonly write: (line: string) => void
  /** Told once, with the reason, when nothing more is kept. */
  readonly onFull: (why: string) => void
}

/** Once a stream has not fitted no other is kept either: a tape of the short ones alone would be a wrong one. */
export class GrowingTape {
  readonly #options: GrowingTapeOptions
  #bytes = 0
  #isFull = false
  /** Streams on the tape. */
  kept = 0
  /** Streams that came and are not on it. */
  passed = 0

  constructor(options: GrowingTapeOptions) {
    this.#options = options
  }

  add(stream: TapedStream): void {
    if (this.#isFull || !this.#keep(stream)) this.passed++
  }

  #keep(stream: TapedStream): boolean {
    const { streams, bytes = LONGEST_TAPE, write } = this.#options
    const line = formatStream(stream)
    const more = Buffer.byteLength(line)
    if (this.kept === streams) return this.#close(`it has ${streams} streams`)
    // What a reader gets is the line without its end.
    if (line.length - 1 > LONGEST_LINE) return this.#close('the next stream is longer than 1 MiB')
    if (this.#bytes + more > bytes) return this.#close(`it has as many bytes as can be read (${bytes})`)
    try {
      write(line)
    } catch (error) {
      return this.#close((error as Error).message)
    }
    this.#bytes += more
    this.kept++
    return true
  }

  #close(why: string): false {
    this.#isFull = true
    this.#options.onFull(why)
    return false
  }
}
