/** Bodies that are read as a whole. */
import { StringDecoder } from 'node:string_decoder'

/**
 * Gathers a body whose pieces are borrowed, as a text. Of large bodies there is never more than one copy beside the
 * text: the bytes in one piece where their length is declared, else the text itself as it grows.
 */
export class BoundedTextBody {
  readonly #limit: number
  readonly #expected: number
  #text = ''
  #bytes: Buffer | null = null
  #decoder: StringDecoder | null = null
  #size = 0

  /** `expected` is the declared length, or -1: a body that comes in one piece is then never copied. */
  constructor(limit: number, expected: number) {
    this.#limit = expected > 0 ? Math.min(limit, expected) : limit
    this.#expected = expected
  }

  /** False when the body outgrows the limit; what fits has been taken. */
  push(chunk: Uint8Array): boolean {
    const bytes = Buffer.isBuffer(chunk)
      ? chunk
      : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const room = this.#limit - this.#size
    const fits = bytes.length <= room ? bytes : bytes.subarray(0, room)
    if (this.#size === 0 && fits.length === this.#expected) this.#text = fits.toString()
    else if (this.#expected === this.#limit) {
      this.#bytes ??= Buffer.allocUnsafe(this.#expected)
      this.#bytes.set(fits, this.#size)
    } else {
      this.#decoder ??= new StringDecoder()
      this.#text += this.#decoder.write(fits)
    }
    this.#size += fits.length
    return fits.length === chunk.byteLength
  }

  /** What has come, as text; bytes that are no UTF-8 become replacement characters. Once. */
  text(): string {
    const text = this.#text
    const bytes = this.#bytes
    // Whoever has the text may outlive this for long, and this is kept as long as its call.
    this.#text = ''
    this.#bytes = null
    return bytes === null ? text + (this.#decoder?.end() ?? '') : bytes.toString('utf8', 0, this.#size)
  }
}

/** Declared length of a body, or -1. */
export function contentLengthOf(headers: Readonly<Record<string, string | string[] | undefined>>): number {
  const value = headers['content-length']
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : -1
}
