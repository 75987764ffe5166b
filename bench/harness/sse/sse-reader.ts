/**
 * Reads answers of one connection as they arrive: a head, then a body of events or of anything else. Built for the
 * load side: nothing is copied while events arrive whole, and nothing is parsed beyond what proves them complete.
 */

/** What a reader tells. Bytes are borrowed: valid in the call only. */
export interface AnswerParts {
  head(status: number): void
  /** One event or comment, without the blank line that ends it. */
  event(bytes: Buffer, from: number, to: number): void
  /** The answer is complete by its own framing. */
  ended(closes: boolean): void
}

/** Thrown when the bytes are no HTTP/1.1 answer. */
export class BrokenFraming extends Error {}

type Place = 'head' | 'size' | 'data' | 'data-end' | 'trailer' | 'sized' | 'until-close'

const HEAD_END = Buffer.from('\r\n\r\n')
const EVENT_END = Buffer.from('\n\n')
const NOTHING = Buffer.alloc(0)

const LF = 10
const CR = 13

export class SseReader {
  readonly #parts: AnswerParts
  #place: Place = 'head'
  /** Bytes of the chunk, or of the sized body, still to come. */
  #left = 0
  #size = 0
  #closes = false
  /** The unfinished head or event. */
  #kept: Buffer = NOTHING

  constructor(parts: AnswerParts) {
    this.#parts = parts
  }

  /** Takes the next bytes of the connection. Throws BrokenFraming. */
  feed(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) at = this.#step(bytes, at)
  }

  /** The peer sent its FIN: true when that is how the answer under way ends. */
  endedByClose(): boolean {
    if (this.#place !== 'until-close') return false
    this.#finish(true)
    return true
  }

  #step(bytes: Buffer, at: number): number {
    switch (this.#place) {
      case 'head':
        return this.#head(bytes, at)
      case 'size':
        return this.#chunkSize(bytes, at)
      case 'data':
      case 'sized':
        return this.#body(bytes, at)
      case 'data-end':
        if (bytes[at] === LF) this.#place = 'size'
        return at + 1
      case 'trailer':
        // No trailers are expected: what is left is the one empty line.
        if (bytes[at] === LF) this.#finish(this.#closes)
        else if (bytes[at] !== CR) throw new BrokenFraming('trailers are not expected')
        return at + 1
      case 'until-close':
        this.#events(bytes, at, bytes.length)
        return bytes.length
    }
  }

  #head(bytes: Buffer, at: number): number {
    const all = this.#kept.length === 0 ? bytes.subarray(at) : Buffer.concat([this.#kept, bytes.subarray(at)])
    const end = all.indexOf(HEAD_END)
    if (end < 0) {
      this.#kept = Buffer.from(all)
      return bytes.length
    }
    const earlier = this.#kept.length
    this.#kept = NOTHING
    this.#readHead(all.toString('latin1', 0, end))
    return at + end + HEAD_END.length - earlier
  }

  #readHead(text: string): void {
    const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]
    if (status === undefined) throw new BrokenFraming(`no status line: ${JSON.stringify(text.slice(0, 60))}`)
    this.#closes = /^connection:\s*close\s*$/im.test(text)
    const length = /^content-length:\s*(\d+)\s*$/im.exec(text)?.[1]
    this.#parts.head(Number(status))
    if (/^transfer-encoding:\s*chunked\s*$/im.test(text)) this.#place = 'size'
    else if (length === undefined) this.#place = 'until-close'
    else {
      this.#place = 'sized'
      this.#left = Number(length)
      if (this.#left === 0) this.#finish(this.#closes)
    }
  }

  #chunkSize(bytes: Buffer, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at]!
      if (byte === LF) {
        this.#left = this.#size
        this.#place = this.#size === 0 ? 'trailer' : 'data'
        this.#size = 0
        return at + 1
      }
      if (byte !== CR) this.#size = this.#size * 16 + hexDigit(byte)
    }
    return bytes.length
  }

  #body(bytes: Buffer, from: number): number {
    const to = Math.min(bytes.length, from + this.#left)
    this.#left -= to - from
    this.#events(bytes, from, to)
    if (this.#left > 0) return to
    if (this.#place === 'sized') this.#finish(this.#closes)
    else this.#place = 'data-end'
    return to
  }

  #events(bytes: Buffer, from: number, to: number): void {
    if (this.#kept.length > 0) {
      const joined = Buffer.concat([this.#kept, bytes.subarray(from, to)])
      this.#kept = NOTHING
      this.#events(joined, 0, joined.length)
      return
    }
    let at = from
    while (at < to) {
      const end = bytes.indexOf(EVENT_END, at)
      if (end < 0 || end + EVENT_END.length > to) break
      this.#parts.event(bytes, at, end)
      at = end + EVENT_END.length
    }
    if (at < to) this.#kept = Buffer.from(bytes.subarray(at, to))
  }

  #finish(closes: boolean): void {
    // A body that is no event stream ends without a blank line: it counts as one event.
    const rest = this.#kept
    this.#kept = NOTHING
    this.#place = 'head'
    if (rest.length > 0) this.#parts.event(rest, 0, rest.length)
    this.#parts.ended(closes)
  }
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  const letter = byte | 32
  if (letter >= 97 && letter <= 102) return letter - 87
  throw new BrokenFraming('no chunk size')
}
