/** What an audio file is, by its name, its media type and its first bytes. */
import { contentTypeOf } from '../../base/content-type.js'

interface AudioContainer {
  /** The formats that it holds, as callers name them. */
  readonly names: readonly string[]
  /** What its first bytes tell. */
  readonly types: readonly string[]
  /** Whether every file of the kind begins so; of the others some do not. */
  readonly strict: boolean
}

const AUDIO_CONTAINERS: readonly AudioContainer[] = [
  { names: ['wav'], types: ['audio/wav'], strict: true },
  { names: ['flac'], types: ['audio/flac'], strict: true },
  { names: ['ogg', 'oga', 'opus'], types: ['audio/ogg'], strict: true },
  { names: ['webm'], types: ['video/webm'], strict: true },
  { names: ['m4a', 'mp4'], types: ['audio/mp4', 'video/mp4', 'video/quicktime'], strict: false },
  { names: ['mp3', 'mpga', 'mpeg'], types: ['audio/mpeg'], strict: false },
]

/** Bytes of the beginning that tell a container. */
const HEAD_BYTES = 16

function containerOf(bytes: Uint8Array): AudioContainer | undefined {
  const type = contentTypeOf(bytes.subarray(0, HEAD_BYTES), false)
  return AUDIO_CONTAINERS.find(({ types }) => types.includes(type))
}

/** What the first bytes of a file say that it is; null when they say nothing. */
export function formatOfBytes(bytes: Uint8Array): string | null {
  return containerOf(bytes)?.names[0] ?? null
}

/** What a file that calls itself `format` really is, or that it is none; null when nothing speaks against it. */
export function formatMismatch(format: string, bytes: Uint8Array): string | null {
  const declared = AUDIO_CONTAINERS.find(({ names }) => names.includes(format.toLowerCase()))
  const found = containerOf(bytes)
  if (declared === undefined || declared === found) return null
  if (found !== undefined) return `is said to be ${format} and is ${found.names[0]}`
  return declared.strict ? `is said to be ${format} and is not` : null
}

const EXTENSION = /\.([A-Za-z0-9][A-Za-z0-9+_-]{0,15})$/

/** The ending of a name or a path, in lower case; null when it has none. */
export function extensionOf(name: string): string | null {
  return EXTENSION.exec(name)?.[1]?.toLowerCase() ?? null
}

/** Media types whose second half is no file ending. */
const FORMATS: Readonly<Record<string, string>> = {
  'audio/mpeg': 'mp3',
  'audio/mp4': 'm4a',
  'audio/x-m4a': 'm4a',
  'audio/x-wav': 'wav',
  'audio/vnd.wave': 'wav',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
}

export function formatOfMediaType(mediaType: string): string | null {
  const known = FORMATS[mediaType]
  if (known !== undefined) return known
  const [kind, format = ''] = mediaType.split('/')
  return kind === 'audio' && EXTENSION.test(`.${format}`) ? format : null
}

/** Bytes of base64 text (RFC 4648 section 4), with or without padding; null when it is none. */
export function decodeBase64(text: string): Buffer | null {
  // Node's decoder skips what it does not know: the text is base64 when it comes out as it went in.
  const bytes = Buffer.from(text, 'base64')
  const unpadded = text.endsWith('=') ? text.replace(/={1,2}$/, '') : text
  const length = Math.ceil((bytes.byteLength * 4) / 3)
  if (bytes.byteLength === 0 || length !== unpadded.length || unpadded.length % 4 === 1) return null
  return /[^A-Za-z0-9+/]/.test(unpadded) ? null : bytes
}
