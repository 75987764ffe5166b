/**
 * Finds where an answer of HTTP/1.1 ends, and nothing else: status, framing, and whether the connection stays. Bodies
 * are counted and thrown away. One request is under way at a time, so bytes behind an answer are a fault.
 */

/** Thrown when the bytes are no HTTP/1.1 answer. */
export class BadAnswer extends Error {}

type Place = 'head' | 'sized' | 'until-close' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailer'

const HEAD_END = Buffer.from('\r\n\r\n')
const MOST_HEAD_BYTES = 64 * 1024
const LF = 10
const CR = 13
const ZERO = 48

export class AnswerFraming {
  /** Of the answer that ended last, or of the one under way; 0 before its head. */
  status = 0
  /** Bytes of the body, without its framing. */
  bodyBytes = 0
  /** The connection ends with this answer. */
  closes = false
  #place: Place = 'head'
  #left = 0
  #size = 0
  #kept: Buffer | null = null

  /** Whether bytes of an answer have come that is not over yet. */
  get begun(): boolean {
    return this.#place !== 'head' || this.#kept !== null
  }

  /** Takes bytes that are valid during the call only. True when the answer is complete. Throws BadAnswer. */
  feed(bytes: Buffer): boolean {
    for (let at = 0; at < bytes.length; ) {
      at = this.#place === 'head' ? this.#head(bytes, at) : this.#body(bytes, at)
      if (this.#place !== 'head' || this.#kept !== null) continue
      if (at < bytes.length) throw new BadAnswer(`${bytes.length - at} bytes behind the answer`)
      return true
    }
    return false
  }

  /** The peer closed: true when that is how the answer under way ends. */
  endedByClose(): boolean {
    if (this.#place !== 'until-close') return false
    this.#place = 'head'
    this.closes = true
    return true
  }

  #head(bytes: Buffer, at: number): number {
    const earlier = this.#kept?.length ?? 0
    const fresh = at === 0 ? bytes : bytes.subarray(at)
    const all = this.#kept === null ? fresh : Buffer.concat([this.#kept, fresh])
    const end = all.indexOf(HEAD_END)
    if (end < 0) {
      if (all.length > MOST_HEAD_BYTES) throw new BadAnswer('the head of the answer does not end')
      this.#kept = Buffer.from(all)
      return bytes.length
    }
    this.#kept = null
    this.#readHead(all.toString('latin1', 0, end))
    return at + end + HEAD_END.length - earlier
  }

  #readHead(head: string): void {
    // "HTTP/1.1 200": the digits stand at 9, 10 and 11.
    const status = Number(head.slice(9, 12))
    if (!head.startsWith('HTTP/1.1 ') || !(status >= 100 && status <= 999)) {
      throw new BadAnswer(`no status line: ${JSON.stringify(head.slice(0, 60))}`)
    }
    const lower = head.toLowerCase()
    this.bodyBytes = 0
    if (status < 200) {
      // An interim answer: the head of the real one follows.
      this.#kept = Buffer.alloc(0)
      return
    }
    this.status = status
    this.closes = /\r\nconnection:[ \t]*close/.test(lower)
    if (/\r\ntransfer-encoding:[ \t]*chunked/.test(lower)) this.#place = 'chunk-size'
    else this.#sized(status, lower)
  }

  #sized(status: number, lower: string): void {
    const length = /\r\ncontent-length:[ \t]*(\d+)/.exec(lower)?.[1]
    if (status === 204 || status === 304) return
    if (length === undefined) this.#place = 'until-close'
    else if (Number(length) > 0) {
      this.#place = 'sized'
      this.#left = Number(length)
    }
  }

  #body(bytes: Buffer, at: number): number {
    switch (this.#place) {
      case 'sized':
        return this.#take(bytes, at, 'head')
      case 'chunk':
        return this.#take(bytes, at, 'chunk-end')
      case 'chunk-size':
        return this.#chunkSize(bytes, at)
      case 'chunk-end':
        if (bytes[at] === LF) this.#place = 'chunk-size'
        return at + 1
      case 'trailer':
        if (bytes[at] === LF) this.#place = 'head'
        else if (bytes[at] !== CR) throw new BadAnswer('trailers are not expected')
        return at + 1
      default:
        this.bodyBytes += bytes.length - at
        return bytes.length
    }
  }

  #take(bytes: Buffer, at: number, then: Place): number {
    const taken = Math.min(this.#left, bytes.length - at)
    this.#left -= taken
    this.bodyBytes += taken
    if (this.#left === 0) this.#place = then
    return at + taken
  }

  #chunkSize(bytes: Buffer, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at]!
      if (byte === LF) {
        this.#place = this.#size === 0 ? 'trailer' : 'chunk'
        this.#left = this.#size
        this.#size = 0
        return at + 1
      }
      if (byte !== CR) this.#size = this.#size * 16 + hexDigit(byte)
    }
    return bytes.length
  }
}

function hexDigit(byte: number): number {
  if (byte >= ZERO && byte <= 57) return byte - ZERO
  const letter = byte | 32
  if (letter >= 97 && letter <= 102) return letter - 87
  throw new BadAnswer('no chunk size')
}
