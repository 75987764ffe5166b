/**
 * Memory for bytes on their way to a disk, used again and again: a fresh buffer costs the kernel more (its pages have
 * to be found and cleared) than the copy into it, and stays until the collector comes by.
 */

export const BLOCK_BYTES = 256 * 1024
/** Blocks that are kept while nobody needs them: 8 MiB. */
const MAX_IDLE_BLOCKS = 32

/** Blocks of one size. Not cleared: whoever takes one reads only what they have written. */
export class BlockPool {
  readonly #idle: Buffer[] = []

  acquire(): Buffer {
    return this.#idle.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES)
  }

  /** Once nothing reads or writes it any more. */
  release(block: Buffer): void {
    if (this.#idle.length < MAX_IDLE_BLOCKS) this.#idle.push(block)
  }
}
