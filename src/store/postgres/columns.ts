/** Columns of many rows as values of one statement, in the forms that cost the least here and in the database. */
import { isUtf8 } from 'node:buffer'

/** Oid of `bigint`. */
const BIGINT = 20
/** Dimensions, flags, type, length and lower bound. */
const HEAD_BYTES = 20
/** Length and value. */
const CELL_BYTES = 12
const VALUE_BYTES = 8
const HIGH_PLACE = 2 ** 32
const FIRST_ROWS = 256
const FIRST_BYTES = 1024
/** Texts that are joined at a time. */
const MOST_WAITING = 64

/** A column of whole numbers: an array of `bigint` in its binary form, so that no digits are written and read. */
export class NumberColumn {
  #bytes = Buffer.allocUnsafe(HEAD_BYTES + FIRST_ROWS * CELL_BYTES)
  #view = viewOf(this.#bytes)
  #end = HEAD_BYTES

  push(value: number): void {
    if (this.#end === this.#bytes.length) this.#grow()
    // What is no number of ours must not keep all that comes behind it from the ledger.
    const whole = Number.isSafeInteger(value) ? value : toWhole(value)
    this.#view.setInt32(this.#end, VALUE_BYTES)
    this.#view.setInt32(this.#end + 4, Math.floor(whole / HIGH_PLACE))
    this.#view.setUint32(this.#end + 8, whole)
    this.#end += CELL_BYTES
  }

  /** Valid until the column is cleared. */
  get value(): Buffer {
    const length = (this.#end - HEAD_BYTES) / CELL_BYTES
    const head = [length === 0 ? 0 : 1, 0, BIGINT, length, 1]
    for (const [at, field] of head.entries()) this.#view.setInt32(4 * at, field)
    // Without dimensions there is none to tell the length of.
    return this.#bytes.subarray(0, length === 0 ? 12 : this.#end)
  }

  clear(): void {
    this.#end = HEAD_BYTES
  }

  #grow(): void {
    const bytes = Buffer.allocUnsafe(HEAD_BYTES + 2 * (this.#bytes.length - HEAD_BYTES))
    this.#bytes.copy(bytes)
    this.#bytes = bytes
    this.#view = viewOf(bytes)
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}

function toWhole(value: number): number {
  const whole = Math.round(value)
  return Number.isSafeInteger(whole) ? whole : 0
}

/**
 * A column of texts without line ends, whose characters are bytes: one text that holds a value per line, which costs no
 * quoting, here or there.
 */
export class TextColumn {
  /** Joined some at a time: all of them would be a text that is moved to where only a full collection frees it. */
  readonly #waiting: string[] = []
  #bytes = Buffer.allocUnsafe(FIRST_BYTES)
  #end = 0

  push(value: string): void {
    this.#waiting.push(value)
    if (this.#waiting.length === MOST_WAITING) this.#write()
  }

  /** Valid until the column is cleared. */
  get value(): Buffer {
    if (this.#waiting.length > 0) this.#write()
    // Without the line end behind the last one.
    const bytes = this.#bytes.subarray(0, Math.max(0, this.#end - 1))
    const text = bytes.includes(0)
      ? Buffer.from(bytes.toString('latin1').replaceAll('\0', '\\u0000'), 'latin1')
      : bytes
    // PostgreSQL takes nothing else, and one bad name must not stop the ledger.
    return isUtf8(text) ? text : Buffer.from(text.toString('utf8'))
  }

  clear(): void {
    this.#waiting.length = 0
    this.#end = 0
  }

  #write(): void {
    const text = `${this.#waiting.join('\n')}\n`
    this.#waiting.length = 0
    const end = this.#end + text.length
    if (end > this.#bytes.length) {
      const bytes = Buffer.allocUnsafe(Math.max(end, 2 * this.#bytes.length))
      this.#bytes.copy(bytes, 0, 0, this.#end)
      this.#bytes = bytes
    }
    this.#bytes.write(text, this.#end, 'latin1')
    this.#end = end
  }
}
