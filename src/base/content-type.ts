/** What a file is, told by its first bytes. */
import { isUtf8 } from 'node:buffer'

/** First bytes that are looked at. */
export const SNIFFED_BYTES = 4096

interface MagicBytes {
  readonly type: string
  readonly at: number
  readonly bytes: Buffer
  /** A second mark behind the first. */
  readonly also?: { readonly at: number; readonly bytes: Buffer }
}

const latin1Bytes = (text: string): Buffer => Buffer.from(text, 'latin1')
const signature = (type: string, text: string, at = 0): MagicBytes => ({ type, at, bytes: latin1Bytes(text) })
const riffSignature = (type: string, form: string): MagicBytes => ({
  ...signature(type, 'RIFF'),
  also: { at: 8, bytes: latin1Bytes(form) },
})

/** More particular ones first. */
const SIGNATURES: readonly MagicBytes[] = [
  signature('application/pdf', '%PDF-'),
  signature('image/png', '\x89PNG\r\n\x1a\n'),
  signature('image/jpeg', '\xff\xd8\xff'),
  signature('image/gif', 'GIF87a'),
  signature('image/gif', 'GIF89a'),
  riffSignature('image/webp', 'WEBP'),
  riffSignature('audio/wav', 'WAVE'),
  signature('audio/mp4', 'ftypM4A', 4),
  signature('video/quicktime', 'ftypqt', 4),
  signature('video/mp4', 'ftyp', 4),
  signature('audio/ogg', 'OggS'),
  signature('audio/flac', 'fLaC'),
  signature('video/webm', '\x1aE\xdf\xa3'),
  signature('audio/mpeg', 'ID3'),
  signature('application/zip', 'PK\x03\x04'),
  signature('application/zip', 'PK\x05\x06'),
  signature('application/gzip', '\x1f\x8b\x08'),
]

/** An MPEG audio frame, layer III, and the rest of AAC's framing, by their sync words. */
function mpegFrameType(head: Uint8Array): string | null {
  if (head[0] !== 0xff || head[1] === undefined) return null
  if ((head[1] & 0xf6) === 0xf0) return 'audio/aac'
  return (head[1] & 0xe6) === 0xe2 ? 'audio/mpeg' : null
}

/** The media type of a content; `whole` when the bytes are all of it. What is unknown is `application/octet-stream`. */
export function contentTypeOf(head: Uint8Array, whole: boolean): string {
  const found = SIGNATURES.find(
    ({ at, bytes, also }) =>
      hasBytesAt(bytes, head, at) && (also === undefined || hasBytesAt(also.bytes, head, also.at)),
  )
  if (found !== undefined) return found.type
  return mpegFrameType(head) ?? (isText(head, whole) ? 'text/plain' : 'application/octet-stream')
}

function hasBytesAt(bytes: Buffer, head: Uint8Array, at: number): boolean {
  return bytes.equals(head.subarray(at, at + bytes.length))
}

/** Most bytes of a UTF-8 sequence that may be cut off at the end. */
const MAX_CUT_OFF_BYTES = 3

function isText(head: Uint8Array, whole: boolean): boolean {
  if (head.includes(0)) return false
  for (let cut = 0; cut <= (whole ? 0 : MAX_CUT_OFF_BYTES); cut++) {
    if (isUtf8(head.subarray(0, head.length - cut))) return true
  }
  return false
}
