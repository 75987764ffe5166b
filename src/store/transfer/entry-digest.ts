import { hash } from 'node:crypto'

const WORDS = 8
const WORD_BYTES = 4
const BEYOND_WORD = 2 ** 32

/**
 * What a set of entries is told by, in whatever order they come: how many there are, and the sum of their SHA-256,
 * modulo 2^256.
 */
export class EntryDigest {
  /** The sum, least word first. */
  readonly #sum = new Uint32Array(WORDS)
  #count = 0

  get count(): number {
    return this.#count
  }

  add(bytes: Uint8Array | string): void {
    const digest = hash('sha256', bytes, 'buffer')
    let carry = 0
    for (let word = 0; word < WORDS; word++) {
      const added = this.#sum[word]! + digest.readUInt32LE(word * WORD_BYTES) + carry
      this.#sum[word] = added
      carry = added >= BEYOND_WORD ? 1 : 0
    }
    this.#count++
  }

  /** Of all entries so far, in lower-case hex. */
  get hex(): string {
    return Buffer.from(this.#sum.buffer.slice(0)).reverse().toString('hex')
  }
}
