/**
 * The guard in front of the multipart parser. The parser is lenient: it skips any preamble, cuts off headers that
 * are too long, drops header lines it cannot read and parts without a name. This sees the same bytes first and
 * refuses what the parser would pass over, so that nothing is silently dropped and nothing is waited for at length.
 */
import type { Fault } from '../../base/fault.js'
import { refused } from './refusal.js'

export interface GuardLimits {
  /** Parts of a body, files included. */
  readonly parts: number
  /** Bytes of a part's header block. */
  readonly headerBytes: number
}

/**
 * Bytes in front of the first boundary, and behind the last. RFC 2046 section 5.1.1 would allow any number; no client
 * in use sends more than a line end.
 */
const MOST_PREAMBLE = 1024
const MOST_EPILOGUE = 1024

const CRLF = '\r\n'
const HEADER_END = Buffer.from('\r\n\r\n')
const DASHES = '--'
/** One field per line, nothing folded (RFC 7578 section 4.8 knows three of them). */
const HEADER_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\0]*$/
const NOTHING = Buffer.alloc(0)

type Place = 'preamble' | 'delimiter' | 'header' | 'first-bytes' | 'content' | 'epilogue'

export class MultipartGuard {
  readonly #delimiter: Buffer
  readonly #limits: GuardLimits
  #place: Place = 'preamble'
  /** What was seen and cannot be judged before more has come. The first boundary needs no line end before it. */
  #kept: Buffer = Buffer.from(CRLF)
  #parts = 0
  #epilogue = 0

  constructor(boundary: string, limits: GuardLimits) {
    this.#delimiter = Buffer.from(`${CRLF}${DASHES}${boundary}`, 'latin1')
    this.#limits = limits
  }

  /** Whether the closing boundary has been seen. */
  get closed(): boolean {
    return this.#place === 'epilogue'
  }

  /** Looks at the next bytes of the body. Throws when they, or what came before, cannot be accepted. */
  see(chunk: Buffer): void {
    const data = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk])
    this.#kept = NOTHING
    let at = 0
    while (at >= 0 && this.#place !== 'epilogue') at = this.#step(data, at)
    if (this.#place !== 'epilogue') return
    this.#epilogue += data.length - at
    if (this.#epilogue > MOST_EPILOGUE) throw refused('goes on behind its closing boundary')
  }

  /** Judges what stands at `at` and returns where to go on; -1 when that takes more bytes. */
  #step(data: Buffer, at: number): number {
    switch (this.#place) {
      case 'preamble':
        return this.#preamble(data)
      case 'delimiter':
        return this.#behindDelimiter(data, at)
      case 'header':
        return this.#header(data, at)
      case 'first-bytes':
        return this.#firstBytes(data, at)
      default:
        return this.#content(data, at)
    }
  }

  #preamble(data: Buffer): number {
    const found = data.subarray(0, MOST_PREAMBLE + 2 * this.#delimiter.length).indexOf(this.#delimiter)
    if (
      found > MOST_PREAMBLE + CRLF.length ||
      (found < 0 && data.length > MOST_PREAMBLE + this.#delimiter.length)
    ) {
      throw refused('must begin with its boundary')
    }
    if (found < 0) return this.#keep(data, 0)
    this.#place = 'delimiter'
    return found + this.#delimiter.length
  }

  /** A line end begins a part, two dashes end the body. */
  #behindDelimiter(data: Buffer, at: number): number {
    if (data.length - at < 2) return this.#keep(data, at)
    const behind = data.toString('latin1', at, at + 2)
    if (behind !== CRLF && behind !== DASHES) throw refused('has a boundary without an end of line')
    if (behind === DASHES) {
      this.#place = 'epilogue'
      return at + DASHES.length
    }
    if (++this.#parts > this.#limits.parts) throw refused(`must have at most ${this.#limits.parts} parts`)
    this.#place = 'header'
    return at
  }

  /** `at` is the end of the boundary's own line: an empty header block has nothing else before its empty line. */
  #header(data: Buffer, at: number): number {
    const { headerBytes } = this.#limits
    const end = data.subarray(at, at + headerBytes + HEADER_END.length + CRLF.length).indexOf(HEADER_END)
    if (end < 0) {
      if (data.length - at > headerBytes + HEADER_END.length) throw this.#tooLong()
      return this.#keep(data, at)
    }
    if (end - CRLF.length > headerBytes) throw this.#tooLong()
    const block = data.toString('latin1', at + CRLF.length, at + Math.max(end, CRLF.length))
    if (block.length === 0 || !block.split(CRLF).every((line) => HEADER_LINE.test(line))) {
      throw refused('has a part whose header cannot be read')
    }
    // The parser knows no header block and would take this for the end of the part.
    if (`${CRLF}${block}`.includes(this.#delimiter.toString('latin1'))) {
      throw refused('has a boundary in the header of a part')
    }
    this.#place = 'first-bytes'
    return at + end + CRLF.length
  }

  /** `at` is the empty line: a boundary that uses it as its own leaves the part without an end of its header. */
  #firstBytes(data: Buffer, at: number): number {
    const first = data.subarray(at, at + this.#delimiter.length)
    if (first.equals(this.#delimiter)) throw refused('has a part whose header cannot be read')
    if (first.length < this.#delimiter.length && isBeginning(first, this.#delimiter))
      return this.#keep(data, at)
    this.#place = 'content'
    return at + CRLF.length
  }

  #content(data: Buffer, at: number): number {
    const found = data.indexOf(this.#delimiter, at)
    if (found < 0) return this.#keep(data, this.#openEnd(data, at))
    this.#place = 'delimiter'
    return found + this.#delimiter.length
  }

  /** Where the last bytes may be the beginning of a boundary; the length when they may not. */
  #openEnd(data: Buffer, at: number): number {
    const start = Math.max(at, data.length - this.#delimiter.length + 1)
    for (let i = data.indexOf(CRLF[0]!, start); i >= 0; i = data.indexOf(CRLF[0]!, i + 1)) {
      if (isBeginning(data.subarray(i), this.#delimiter)) return i
    }
    return data.length
  }

  #keep(data: Buffer, from: number): -1 {
    this.#kept = Buffer.from(data.subarray(from))
    return -1
  }

  #tooLong(): Fault {
    return refused(`has a part whose header is longer than ${this.#limits.headerBytes} bytes`)
  }
}

function isBeginning(bytes: Buffer, whole: Buffer): boolean {
  return bytes.equals(whole.subarray(0, bytes.length))
}
