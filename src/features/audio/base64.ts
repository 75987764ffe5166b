/** Bytes of base64 text (RFC 4648 section 4), with or without padding; null when it is none. */
export function decodeBase64(text: string): Buffer | null {
  // Node's decoder skips what it does not know: the text is base64 when it comes out as it went in.
  const bytes = Buffer.from(text, 'base64')
  const unpadded = text.endsWith('=') ? text.replace(/={1,2}$/, '') : text
  const length = Math.ceil((bytes.byteLength * 4) / 3)
  if (bytes.byteLength === 0 || length !== unpadded.length || unpadded.length % 4 === 1) return null
  return /[^A-Za-z0-9+/]/.test(unpadded) ? null : bytes
}
