/** Gathers a body whose pieces are borrowed. */
export class BoundedTextBody {
  private first: string | null = null
  private pieces: Buffer[] = []
  private size = 0

  /** `expected` is the declared length, or -1: a body that comes in one piece is then never copied. */
  constructor(
    private readonly limit: number,
    private readonly expected: number,
  ) {}

  /** False when the body outgrows the limit; what fits has been taken. */
  push(chunk: Uint8Array): boolean {
    const fits = Buffer.from(
      chunk.buffer,
      chunk.byteOffset,
      Math.min(chunk.byteLength, this.limit - this.size),
    )
    if (this.size === 0 && fits.length === this.expected) this.first = fits.toString()
    else if (fits.length > 0) this.pieces.push(Buffer.from(fits))
    this.size += fits.length
    return fits.length === chunk.byteLength
  }

  /** What has come, as text; bytes that are no UTF-8 become replacement characters. */
  text(): string {
    return this.first ?? Buffer.concat(this.pieces, this.size).toString()
  }
}

/** Declared length of a body, or -1. */
export function contentLengthOf(headers: Readonly<Record<string, string | string[] | undefined>>): number {
  const value = headers['content-length']
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : -1
}
