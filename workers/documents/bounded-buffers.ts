/**
 * Bounds what a PDF may unpack. The decompressors of the PDF library double a typed array until the stream ends, and
 * typed arrays do not count toward the heap of a thread: ten megabytes of PDF would become ten gigabytes.
 */

const LARGEST_BUFFER = 16 * 1024 * 1024
/** Of all buffers of a document, one after the other. */
const MOST_BYTES = 256 * 1024 * 1024

let left = MOST_BYTES

/** A new document begins. */
export function resetBufferBudget(): void {
  left = MOST_BYTES
}

/**
 * Puts a bound on `Uint8Array` in this thread. The native decompressor, which the library prefers where there is one, is
 * taken away, because its pieces are not made here. To be called before the library is loaded.
 */
export function boundBuffers(): void {
  Reflect.deleteProperty(globalThis, 'DecompressionStream')
  globalThis.Uint8Array = new Proxy(Uint8Array, {
    construct(target, args, newTarget) {
      const [length] = args as unknown[]
      if (typeof length === 'number') {
        if (length > LARGEST_BUFFER || length > left) throw new RangeError('a PDF that unpacks to too much')
        left -= length
      }
      return Reflect.construct(target, args, newTarget)
    },
  })
}
