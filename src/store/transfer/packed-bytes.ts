/**
 * Byte strings as one parameter of a statement, with where each begins and how long it is: an array of them would go as
 * text, each byte as two characters.
 */
interface PackedBytes {
  readonly content: Buffer
  /** As SQL counts, from 1. */
  readonly begins: readonly number[]
  readonly lengths: readonly number[]
}

export function packBytes(values: readonly Uint8Array[]): PackedBytes {
  const begins: number[] = []
  let at = 1
  for (const value of values) {
    begins.push(at)
    at += value.byteLength
  }
  return { content: Buffer.concat(values), begins, lengths: values.map(({ byteLength }) => byteLength) }
}

/** Byte strings one behind the other, each behind its length, so that no two rows of them are equal by chance. */
export function joinBytes(...values: readonly (Uint8Array | string)[]): Buffer {
  return Buffer.concat(
    values.flatMap((value) => {
      const bytes = typeof value === 'string' ? Buffer.from(value) : value
      const length = Buffer.allocUnsafe(4)
      length.writeUInt32BE(bytes.byteLength)
      return [length, bytes]
    }),
  )
}
