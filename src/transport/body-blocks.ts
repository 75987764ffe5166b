/** Memory for large bodies, which is given back at once and asked for again without work for the garbage collector. */

/** Most blocks that wait for another body. Without memory, each takes address space only. */
const MOST_KEPT = 32

/**
 * Blocks that grow and shrink. The engine gives a buffer back when it next collects, and collects whenever many bytes of
 * buffers were made: 10 ms and more for each few bodies. A block loses its memory as soon as its body is needed no
 * more, and its address space serves the next one.
 */
export class BodyBlocks {
  /** By the most bytes that a block can hold; few values, those of the routes. */
  readonly #free = new Map<number, ArrayBuffer[]>()

  /** A block of `size` bytes that can come to `most`. */
  take(size: number, most: number): ArrayBuffer {
    const block = this.#free.get(most)?.pop()
    if (block === undefined) return new ArrayBuffer(size, { maxByteLength: most })
    block.resize(size)
    return block
  }

  /**
   * Nobody reads the block any more: every view of it is empty from now on, and for good. A view of a block that only
   * shrinks would see the next body in it, which is another caller's; so a new object takes the address space over.
   */
  giveBack(block: ArrayBuffer): void {
    block.resize(0)
    const empty = structuredClone(block, { transfer: [block] })
    const most = empty.maxByteLength
    const free = this.#free.get(most)
    if (free === undefined) this.#free.set(most, [empty])
    else if (free.length < MOST_KEPT) free.push(empty)
  }
}
