/**
 * Finds where an answer of HTTP/1.1 ends: its head, its framing, and whether the connection stays. One request is under
 * way at a time, so bytes behind an answer are a fault.
 */
import { AnswerHead, BadAnswer, chunkSize } from './answer-head.js'

/** Who wants to see more than where answers end. Bytes are borrowed: valid in the call only. */
interface AnswerParts {
  head?(head: AnswerHead): void
  /** Bytes of the body, without its framing. */
  data?(bytes: Buffer, from: number, to: number): void
}

type Place = 'head' | 'sized' | 'until-close' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailer'

const HEAD_END = Buffer.from('\r\n\r\n')
const MOST_HEAD_BYTES = 64 * 1024
const MOST_SIZE_LINE = 16
const LF = 10
const CR = 13
const NOTHING = Buffer.alloc(0)

export class AnswerFraming {
  /** Whether the answers that follow are to HEAD, and so without a body. */
  answersHead = false
  /** Of the answer that ended last, or of the one under way; 0 before its head. */
  status = 0
  /** Bytes of the body, without its framing. */
  bodyBytes = 0
  /** The connection ends with this answer. */
  closes = false
  readonly #parts: AnswerParts
  #place: Place = 'head'
  #left = 0
  /** The beginning of a head or of the line of a chunk; of an interim answer, nothing. */
  #kept: Buffer | null = null

  constructor(parts: AnswerParts = {}) {
    this.#parts = parts
  }

  /** Whether bytes of an answer have come that is not over yet. */
  get begun(): boolean {
    return this.#place !== 'head' || this.#kept !== null
  }

  /** Takes bytes that are valid during the call only. True when the answer is complete. Faults: BadAnswer. */
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
    const kept = this.#kept ?? NOTHING
    const fresh = at === 0 ? bytes : bytes.subarray(at)
    const all = kept.length === 0 ? fresh : Buffer.concat([kept, fresh])
    const end = all.indexOf(HEAD_END)
    if (end < 0) {
      if (all.length > MOST_HEAD_BYTES) throw new BadAnswer('the head of the answer does not end')
      this.#kept = Buffer.from(all)
      return bytes.length
    }
    this.#readHead(new AnswerHead(all.toString('latin1', 0, end), this.answersHead))
    return at + end + HEAD_END.length - kept.length
  }

  #readHead(head: AnswerHead): void {
    if (head.version !== 'HTTP/1.1') throw new BadAnswer(`an answer of ${head.version}`)
    this.bodyBytes = 0
    // Behind an interim answer the head of the real one follows.
    this.#kept = head.status < 200 ? NOTHING : null
    if (head.status < 200) return
    this.status = head.status
    this.closes = head.closes
    this.#left = head.length
    if (head.framing === 'chunked') this.#place = 'chunk-size'
    else if (head.framing === 'until-close') this.#place = 'until-close'
    else if (head.length > 0) this.#place = 'sized'
    this.#parts.head?.(head)
  }

  #body(bytes: Buffer, at: number): number {
    switch (this.#place) {
      case 'sized':
        return this.#take(bytes, at, 'head')
      case 'chunk':
        return this.#take(bytes, at, 'chunk-end')
      case 'chunk-size':
        return this.#sizeLine(bytes, at)
      case 'chunk-end':
        return this.#lineEnd(bytes, at, 'chunk-size', 'a chunk is longer than it says')
      case 'trailer':
        return this.#lineEnd(bytes, at, 'head', 'trailers are not expected')
      default:
        return this.#data(bytes, at, bytes.length)
    }
  }

  #take(bytes: Buffer, at: number, then: Place): number {
    const to = at + Math.min(this.#left, bytes.length - at)
    this.#left -= to - at
    if (this.#left === 0) this.#place = then
    return this.#data(bytes, at, to)
  }

  #data(bytes: Buffer, from: number, to: number): number {
    this.bodyBytes += to - from
    this.#parts.data?.(bytes, from, to)
    return to
  }

  /** The CR LF behind a chunk and behind the last one; its CR is remembered by what is left. */
  #lineEnd(bytes: Buffer, at: number, then: Place, otherwise: string): number {
    if (bytes[at] !== (this.#left === 0 ? CR : LF)) throw new BadAnswer(otherwise)
    this.#left = this.#left === 0 ? 1 : 0
    if (this.#left === 0) this.#place = then
    return at + 1
  }

  #sizeLine(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(LF, at)
    if (this.#kept !== null || end < 0) return this.#splitSizeLine(bytes, at, end)
    this.#readSize(bytes, at, end)
    return end + 1
  }

  /** The line of a chunk that came in more than one piece. */
  #splitSizeLine(bytes: Buffer, at: number, end: number): number {
    const to = end < 0 ? bytes.length : end + 1
    const line = Buffer.concat([this.#kept ?? NOTHING, bytes.subarray(at, to)])
    if (line.length > MOST_SIZE_LINE) throw new BadAnswer('no chunk size')
    this.#kept = end < 0 ? line : null
    if (end >= 0) this.#readSize(line, 0, line.length - 1)
    return to
  }

  /** The line stands before `end`, where its LF is. */
  #readSize(bytes: Buffer, from: number, end: number): void {
    if (end - 1 < from || bytes[end - 1] !== CR) throw new BadAnswer('no end of a line behind a chunk size')
    const size = chunkSize(bytes, from, end - 1)
    this.#place = size === 0 ? 'trailer' : 'chunk'
    this.#left = size
  }
}
