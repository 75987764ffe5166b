/** Text from bytes that may be anything. */
import { isAscii, isUtf8, transcode } from 'node:buffer'

/** From here on the detour over UTF-16 pays, and up to there its second copy does not hurt. */
const TRANSCODED = { from: 16 * 1024, to: 8 * 1024 * 1024 }

/** The text of UTF-8; null for anything else. Prompts are long: the engine's own decoder takes twice the time. */
export function decodeUtf8(bytes: Buffer): string | null {
  if (isAscii(bytes)) return bytes.toString('latin1')
  if (!isUtf8(bytes)) return null
  const { length } = bytes
  if (length < TRANSCODED.from || length > TRANSCODED.to) return bytes.toString()
  return transcode(bytes, 'utf8', 'utf16le').toString('utf16le')
}
