/** What a file is, told by its first bytes. */
import { isUtf8 } from 'node:buffer'

/** First bytes that are looked at. */
export const SNIFFED_BYTES = 4096

interface Signature {
  readonly type: string
  readonly at: number
  readonly bytes: Buffer
  /** A second mark behind the first. */
  readonly also?: { readonly at: number; readonly bytes: Buffer }
}

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')
const mark = (type: string, text: string, at = 0): Signature => ({ type, at, bytes: latin1(text) })
const riff = (type: string, form: string): Signature => ({
  ...mark(type, 'RIFF'),
  also: { at: 8, bytes: latin1(form) },
})

/** More particular ones first. */
const SIGNATURES: readonly Signature[] = [
  mark('application/pdf', '%PDF-'),
  mark('image/png', '\x89PNG\r\n\x1a\n'),
  mark('image/jpeg', '\xff\xd8\xff'),
  mark('image/gif', 'GIF87a'),
  mark('image/gif', 'GIF89a'),
  riff('image/webp', 'WEBP'),
  riff('audio/wav', 'WAVE'),
  mark('audio/mp4', 'ftypM4A', 4),
  mark('video/quicktime', 'ftypqt', 4),
  mark('video/mp4', 'ftyp', 4),
  mark('audio/ogg', 'OggS'),
  mark('audio/flac', 'fLaC'),
  mark('video/webm', '\x1aE\xdf\xa3'),
  mark('audio/mpeg', 'ID3'),
  mark('application/zip', 'PK\x03\x04'),
  mark('application/zip', 'PK\x05\x06'),
  mark('application/gzip', '\x1f\x8b\x08'),
]

/** An MPEG audio frame, layer III, and the rest of AAC's framing, by their sync words. */
function frameType(head: Uint8Array): string | null {
  if (head[0] !== 0xff || head[1] === undefined) return null
  if ((head[1] & 0xf6) === 0xf0) return 'audio/aac'
  return (head[1] & 0xe6) === 0xe2 ? 'audio/mpeg' : null
}

/** The media type of a content; `whole` when the bytes are all of it. What is unknown is `application/octet-stream`. */
export function contentTypeOf(head: Uint8Array, whole: boolean): string {
  const found = SIGNATURES.find(
    ({ at, bytes, also }) =>
      stands(bytes, head, at) && (also === undefined || stands(also.bytes, head, also.at)),
  )
  if (found !== undefined) return found.type
  return frameType(head) ?? (isText(head, whole) ? 'text/plain' : 'application/octet-stream')
}

function stands(bytes: Buffer, head: Uint8Array, at: number): boolean {
  return bytes.equals(head.subarray(at, at + bytes.length))
}

/** Most bytes of a UTF-8 sequence that may be cut off at the end. */
const CUT_OFF = 3

function isText(head: Uint8Array, whole: boolean): boolean {
  if (head.includes(0)) return false
  for (let cut = 0; cut <= (whole ? 0 : CUT_OFF); cut++) {
    if (isUtf8(head.subarray(0, head.length - cut))) return true
  }
  return false
}
