/** Takes interim answers (1xx, RFC 9110 section 15.2) out of what is read, because the HTTP engine breaks off on some. */
/** `HTTP/1.1 103` */
const STATUS_AT = 9
const STATUS_END = 12
const BEGIN = Buffer.from('HTTP/1.')
const HEAD_END = Buffer.from('\r\n\r\n')
const ONE = 0x31
const ZERO = 0x30
/** As much of interim heads as is read away before one answer; what is longer is left to the engine. */
const MOST_BYTES = 16 * 1024

/** Stands between a socket and its reader. */
export class InterimFilter {
  /** Something has come since the last request. */
  heard = false
  /** The head of an answer is due; from its first bytes on all goes through. */
  #awaitsHead = true
  /** The begin of a head that is not decided yet. */
  #held: Buffer | null = null
  #skipped = 0

  /** What of the bytes is for the reader; null while it is not known, or nothing. */
  pass(bytes: Buffer): Buffer | null {
    this.heard = true
    return this.#awaitsHead ? this.#withoutInterim(bytes) : bytes
  }

  /** A request goes out. */
  expectAnswer(): void {
    this.heard = false
    this.#awaitsHead = true
    this.#held = null
    this.#skipped = 0
  }

  #withoutInterim(chunk: Buffer): Buffer | null {
    let bytes = this.#held === null ? chunk : Buffer.concat([this.#held, chunk])
    this.#held = null
    while (bytes.length > 0) {
      const end = isUndecided(bytes) ? -1 : interimEnd(bytes)
      if (end === 0 || this.#skipped + (end < 0 ? bytes.length : end) > MOST_BYTES) {
        this.#awaitsHead = false
        return bytes
      }
      if (end < 0) {
        this.#held = bytes
        return null
      }
      this.#skipped += end
      bytes = bytes.subarray(end)
    }
    return null
  }
}

/** Whether these may be the first bytes of a status line, and too few to tell the status. */
function isUndecided(bytes: Buffer): boolean {
  return bytes.length < STATUS_END && bytes.subarray(0, BEGIN.length).equals(BEGIN.subarray(0, bytes.length))
}

/** Length of the interim head that these bytes begin with: 0 where it is none, -1 where its end has not come. */
function interimEnd(bytes: Buffer): number {
  if (bytes[STATUS_AT] !== ONE || !bytes.subarray(0, BEGIN.length).equals(BEGIN)) return 0
  // 101 is an answer: nobody here has asked for another protocol, and the engine says so.
  if (bytes[STATUS_AT + 1] === ZERO && bytes[STATUS_AT + 2] === ONE) return 0
  const at = bytes.indexOf(HEAD_END)
  return at < 0 ? -1 : at + HEAD_END.length
}
