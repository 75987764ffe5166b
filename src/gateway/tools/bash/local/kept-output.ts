/** Keeps the head and the tail of an output of any length. */
export class KeptOutput {
  readonly #headBytes: number
  readonly #tailBytes: number
  readonly #head: Buffer[] = []
  #headSize = 0
  /** The last bytes, in pieces of which the oldest go first. */
  readonly #tail: Buffer[] = []
  #tailSize = 0
  #dropped = 0

  /** Three quarters of `maxBytes` are the head's: errors often stand at the end, what was asked for at the beginning. */
  constructor(maxBytes: number) {
    this.#headBytes = Math.ceil((maxBytes * 3) / 4)
    this.#tailBytes = maxBytes - this.#headBytes
  }

  push(piece: Buffer): void {
    const fits = piece.subarray(0, this.#headBytes - this.#headSize)
    if (fits.length > 0) {
      this.#head.push(fits)
      this.#headSize += fits.length
    }
    const rest = piece.subarray(fits.length)
    if (rest.length === 0) return
    this.#tail.push(rest)
    this.#tailSize += rest.length
    while (this.#tailSize - (this.#tail[0]?.length ?? 0) >= this.#tailBytes && this.#tail.length > 1) {
      const oldest = this.#tail.shift()!
      this.#tailSize -= oldest.length
      this.#dropped += oldest.length
    }
  }

  /** As UTF-8; what is none becomes replacement characters. Says how much is missing, where it is missing. */
  text(): string {
    const tail = Buffer.concat(this.#tail)
    const kept = tail.subarray(Math.max(0, tail.length - this.#tailBytes))
    const dropped = this.#dropped + tail.length - kept.length
    const head = Buffer.concat(this.#head)
    if (dropped === 0) return Buffer.concat([head, kept]).toString()
    return `${head.toString()}\n[… ${dropped} bytes are left out …]\n${kept.toString()}`
  }
}
