/** Bytes of a page to text, in the encoding that its server, or the page itself, names. */

/** A page names its encoding within so many bytes (HTML, "prescan a byte stream"). */
const PRESCAN_BYTES = 1024

/** Never throws: an encoding that nobody knows is read as UTF-8, and what is none becomes replacement characters. */
export function decodePage(bytes: Uint8Array, charset: string | null): string {
  return decoderOf(charset ?? charsetOf(bytes)).decode(bytes)
}

function charsetOf(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, PRESCAN_BYTES))
  const named = /<meta[^>]{1,200}charset\s{0,9}=\s{0,9}["']?([\w:-]{1,40})/i.exec(head.toString('latin1'))
  return named?.[1] ?? 'utf-8'
}

function decoderOf(charset: string): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder()
  }
}
