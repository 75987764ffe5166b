const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const COMMA = 0x2c

/** Collects rows into the bytes of one JSON array. */
export class JsonArrayWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(8192)
  #length = 0
  #rows = 0

  /** Empties it for reuse. */
  begin(): this {
    this.#length = 0
    this.#rows = 0
    return this
  }

  get rows(): number {
    return this.#rows
  }

  /** Copies `count` rows that are already separated by commas. */
  add(rows: Uint8Array, count: number): void {
    const need = this.#length + rows.byteLength + 2
    if (need > this.#bytes.length) this.#bytes = growBuffer(this.#bytes, this.#length, need)
    this.#bytes[this.#length++] = this.#rows === 0 ? OPEN_BRACKET : COMMA
    this.#bytes.set(rows, this.#length)
    this.#length += rows.byteLength
    this.#rows += count
  }

  /** The array; a view of bytes that the next `begin` gives away again. */
  end(): Uint8Array {
    if (this.#rows === 0) this.#bytes[this.#length++] = OPEN_BRACKET
    this.#bytes[this.#length++] = CLOSE_BRACKET
    return new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset, this.#length)
  }
}

function growBuffer(bytes: Buffer, used: number, need: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(Math.max(need, bytes.length * 2))
  bytes.copy(larger, 0, 0, used)
  return larger
}
