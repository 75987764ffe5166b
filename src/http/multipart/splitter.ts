/**
 * Takes a multipart body apart (RFC 2046 section 5.1, RFC 7578) in one pass, wherever it is cut. Strict on purpose:
 * what a lenient reader would skip or take for two different things is refused, and nothing is waited for at length.
 */
import type { Fault } from '../../base/fault.js'
import { multipartFault, type PartHeader, type PartHeaderLines, readPartHeader } from './part-header.js'

/** Hears of the parts, in their order. */
export interface PartListener {
  onPartBegin(header: PartHeader): void
  /** Bytes of the part that has begun, borrowed for the call; never empty. */
  onPartData(bytes: Buffer): void
  onPartEnd(): void
}

/**
 * Bytes in front of the first boundary, and behind the last. RFC 2046 section 5.1.1 would allow any number; no client
 * in use sends more than a line end.
 */
const MOST_PREAMBLE = 1024
const MOST_EPILOGUE = 1024

/** Most bytes of a part's header block. */
const HEADER_BYTES = 8 * 1024

const CRLF = '\r\n'
const HEADER_END = Buffer.from('\r\n\r\n')
const DASHES = '--'
/** One field per line, nothing folded (RFC 7578 section 4.8 knows three of them). */
const HEADER_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\r\n\0]*)$/
const NOTHING = Buffer.alloc(0)

type SplitterState = 'preamble' | 'delimiter' | 'header' | 'first-bytes' | 'content' | 'epilogue'

export class MultipartSplitter {
  readonly #delimiter: Buffer
  /** Most parts of a body, files included. */
  readonly #mostParts: number
  readonly #listener: PartListener
  #state: SplitterState = 'preamble'
  /** What was seen and cannot be judged before more has come. The first boundary needs no line end before it. */
  #kept: Buffer = Buffer.from(CRLF)
  #parts = 0
  #epilogue = 0

  constructor(boundary: string, mostParts: number, listener: PartListener) {
    this.#delimiter = Buffer.from(`${CRLF}${DASHES}${boundary}`, 'latin1')
    this.#mostParts = mostParts
    this.#listener = listener
  }

  /** Whether the closing boundary has been seen. */
  get closed(): boolean {
    return this.#state === 'epilogue'
  }

  /** Takes the next bytes of the body, borrowed for the call. Throws when they, or what came before, are refused. */
  push(piece: Buffer): void {
    const data = this.#withKept(piece)
    let at = 0
    while (at >= 0 && this.#state !== 'epilogue') at = this.#step(data, at)
    if (this.#state !== 'epilogue') return
    this.#epilogue += data.length - at
    if (this.#epilogue > MOST_EPILOGUE) throw multipartFault('goes on behind its closing boundary')
  }

  /** With what was kept in front. In a content, which may be long, only the seam is copied and looked at first. */
  #withKept(piece: Buffer): Buffer {
    const kept = this.#kept
    if (kept.length === 0) return piece
    this.#kept = NOTHING
    const reach = this.#delimiter.length
    if (this.#state !== 'content' || piece.length <= reach) return Buffer.concat([kept, piece])
    const seam = Buffer.concat([kept, piece.subarray(0, reach)])
    const found = seam.indexOf(this.#delimiter)
    if (found >= 0 && found < kept.length) return Buffer.concat([kept, piece])
    this.#listener.onPartData(kept)
    return piece
  }

  /** Judges what stands at `at` and returns where to go on; -1 when that takes more bytes. */
  #step(data: Buffer, at: number): number {
    switch (this.#state) {
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
      throw multipartFault('must begin with its boundary')
    }
    if (found < 0) return this.#keep(data, 0)
    this.#state = 'delimiter'
    return found + this.#delimiter.length
  }

  /** A line end begins a part, two dashes end the body. */
  #behindDelimiter(data: Buffer, at: number): number {
    if (data.length - at < 2) return this.#keep(data, at)
    const behind = data.toString('latin1', at, at + 2)
    if (behind !== CRLF && behind !== DASHES) throw multipartFault('has a boundary without an end of line')
    if (behind === DASHES) {
      this.#state = 'epilogue'
      return at + DASHES.length
    }
    if (++this.#parts > this.#mostParts) throw multipartFault(`must have at most ${this.#mostParts} parts`)
    this.#state = 'header'
    return at
  }

  /** `at` is the end of the boundary's own line: an empty header block has nothing else before its empty line. */
  #header(data: Buffer, at: number): number {
    const end = data.subarray(at, at + HEADER_BYTES + HEADER_END.length + CRLF.length).indexOf(HEADER_END)
    if (end < 0) {
      if (data.length - at > HEADER_BYTES + HEADER_END.length) throw this.#tooLong()
      return this.#keep(data, at)
    }
    if (end - CRLF.length > HEADER_BYTES) throw this.#tooLong()
    const block = data.toString('latin1', at + CRLF.length, at + Math.max(end, CRLF.length))
    const lines = parseHeaderBlock(block)
    // Other readers would take this for the end of the part.
    if (`${CRLF}${block}`.includes(this.#delimiter.toString('latin1'))) {
      throw multipartFault('has a boundary in the header of a part')
    }
    this.#listener.onPartBegin(readPartHeader(lines))
    this.#state = 'first-bytes'
    return at + end + CRLF.length
  }

  /** `at` is the empty line: a boundary that uses it as its own leaves the part without an end of its header. */
  #firstBytes(data: Buffer, at: number): number {
    const first = data.subarray(at, at + this.#delimiter.length)
    if (first.equals(this.#delimiter)) throw unreadableHeader()
    if (first.length < this.#delimiter.length && isPrefix(first, this.#delimiter)) return this.#keep(data, at)
    this.#state = 'content'
    return at + CRLF.length
  }

  #content(data: Buffer, at: number): number {
    const found = data.indexOf(this.#delimiter, at)
    const end = found < 0 ? this.#openEnd(data, at) : found
    if (end > at) this.#listener.onPartData(data.subarray(at, end))
    if (found < 0) return this.#keep(data, end)
    this.#state = 'delimiter'
    this.#listener.onPartEnd()
    return found + this.#delimiter.length
  }

  /** Where the last bytes may be the beginning of a boundary; the length when they may not. */
  #openEnd(data: Buffer, at: number): number {
    const start = Math.max(at, data.length - this.#delimiter.length + 1)
    for (let i = data.indexOf(CRLF[0]!, start); i >= 0; i = data.indexOf(CRLF[0]!, i + 1)) {
      if (isPrefix(data.subarray(i), this.#delimiter)) return i
    }
    return data.length
  }

  #keep(data: Buffer, from: number): -1 {
    this.#kept = from === data.length ? NOTHING : Buffer.from(data.subarray(from))
    return -1
  }

  #tooLong(): Fault {
    return multipartFault(`has a part whose header is longer than ${HEADER_BYTES} bytes`)
  }
}

/** Fields by their names in lower case; blanks around a value are not part of it (RFC 9110 section 5.5). */
function parseHeaderBlock(block: string): PartHeaderLines {
  const fields = new Map<string, string[]>()
  for (const line of block.split(CRLF)) {
    const [, name = '', value = ''] = HEADER_LINE.exec(line) ?? []
    if (name === '') throw unreadableHeader()
    const lines = fields.get(name.toLowerCase())
    if (lines === undefined) fields.set(name.toLowerCase(), [value.trim()])
    else lines.push(value.trim())
  }
  return fields
}

function unreadableHeader(): Fault {
  return multipartFault('has a part whose header cannot be read')
}

function isPrefix(bytes: Buffer, whole: Buffer): boolean {
  return bytes.equals(whole.subarray(0, bytes.length))
}
