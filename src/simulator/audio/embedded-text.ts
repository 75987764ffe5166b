/**
 * The text of simulated speech inside its sound, where no ear finds it: simulated transcription reads it back. An MP3
 * has it in its ID3 tag; samples, which have no container, in their least significant bits.
 */
import { crc32 } from 'node:zlib'

/** Samples per second of everything that is synthesised (contract/decisions 30). */
export const SPEECH_RATE = 24_000

/** What is found in a recording: its length, and its text where a simulated voice has spoken it. */
interface RecordingContent {
  readonly seconds: number
  readonly text: string | null
}

/** How much of a recording's begin is looked at; enough for the longest text in samples of two channels. */
export const RECORDING_HEAD_BYTES = 2 ** 20
/** Most characters that are spoken at a time, and their bytes in UTF-8. */
export const LONGEST_SPEECH = 4096
const LONGEST_TEXT_BYTES = 3 * LONGEST_SPEECH
/** What is longer counts as this long. */
const MOST_SECONDS = 2 * 60 * 60
/** Samples per second of headerless PCM that is sent for transcription (contract/gateway 6.1). */
const PCM_RATE = 16_000
/** Samples per second of a WAV file that is believed. */
const SLOWEST_RATE = 4_000
const FASTEST_RATE = 192_000
/** No MP3 has fewer in a second (8 kbit/s): one whose tag says otherwise is not ours. */
const FEWEST_MP3_BYTES_PER_SECOND = 1_000
/** A recording that is not looked into is taken for 128 kbit/s. */
const BYTES_PER_SECOND = 16_000

/** Begins the bytes that the samples carry: this mark, the length and the CRC-32 of the text, and the text. */
const MARK = 'slui'
const HEADER_BYTES = 12

/** Language and content descriptor of the lyrics; other MP3 files may have lyrics too. */
const DESCRIPTOR = 'engsimulated speech\0'
const ID3_HEADER_BYTES = 10

/** What `embedInSamples` writes for a text. */
export function encodeForSamples(text: string): Buffer {
  const content = Buffer.from(text)
  const header = Buffer.alloc(HEADER_BYTES)
  header.write(MARK, 'latin1')
  header.writeUInt32BE(content.byteLength, 4)
  header.writeUInt32BE(crc32(content), 8)
  return Buffer.concat([header, content])
}

/** Writes the bits that fall into these samples, one for each; `first` is the number of the first sample. */
export function embedInSamples(samples: Int16Array, first: number, bytes: Uint8Array): void {
  const end = Math.min(samples.length, bytes.byteLength * 8 - first)
  for (let i = 0; i < end; i++) {
    const at = first + i
    samples[i] = (samples[i]! & ~1) | ((bytes[at >> 3]! >> (at & 7)) & 1)
  }
}

/**
 * The tag that goes before the MP3 (ID3v2.4): its length in milliseconds and, as lyrics, its text. All of it is
 * UTF-8.
 */
export function id3Tag(text: string, seconds: number): Buffer {
  const length = id3Part('TLEN', `\x03${Math.round(seconds * 1000)}`)
  const lyrics = id3Part('USLT', `\x03${DESCRIPTOR}${text}`)
  return id3Part('ID3\x04\0\0', Buffer.concat([length, lyrics]), 0)
}

/** A name, the length of the content in four bytes of seven bits, flags, and the content. */
function id3Part(name: string, content: string | Buffer, flagBytes = 2): Buffer {
  const bytes = Buffer.from(content as string)
  const size = [21, 14, 7, 0].map((shift) => (bytes.byteLength >> shift) & 0x7f)
  return Buffer.concat([Buffer.from(name), Buffer.from(size), Buffer.alloc(flagBytes), bytes])
}

/**
 * Reads a recording of the format that it is said to have.
 * @param head its first `RECORDING_HEAD_BYTES`, or all of it
 * @param size bytes of the whole recording
 */
export function readRecording(head: Buffer, size: number, format: string): RecordingContent {
  const { text, seconds } = readContainer(head, size, format.toLowerCase()) ?? estimateRecording(size)
  return { text, seconds: Math.min(seconds, MOST_SECONDS) }
}

/** Null for what is not looked into, or is not what it is said to be. */
function readContainer(head: Buffer, size: number, format: string): RecordingContent | null {
  switch (format) {
    case 'pcm':
      return readPcm(head, size)
    case 'wav':
      return readWav(head, size)
    case 'mp3':
    case 'mpga':
    case 'mpeg':
      return readId3(head, size)
    default:
      return null
  }
}

function estimateRecording(size: number): RecordingContent {
  return { text: null, seconds: size / BYTES_PER_SECOND }
}

/** The text in 16-bit samples, of which one begins every `stride` bytes; null for none, or a damaged one. */
function textInSamples(bytes: Buffer, stride: number): string | null {
  const header = bytesInSamples(bytes, stride, 0, HEADER_BYTES)
  if (header === null || header.toString('latin1', 0, 4) !== MARK) return null
  const length = header.readUInt32BE(4)
  const content = length > LONGEST_TEXT_BYTES ? null : bytesInSamples(bytes, stride, HEADER_BYTES, length)
  return content !== null && crc32(content) === header.readUInt32BE(8) ? spokenText(content.toString()) : null
}

/** What no voice can have said is no text. */
function spokenText(text: string): string | null {
  return text.length <= LONGEST_SPEECH ? text : null
}

function bytesInSamples(bytes: Buffer, stride: number, from: number, count: number): Buffer | null {
  if ((from + count) * 8 * stride > bytes.byteLength) return null
  const found = Buffer.alloc(count)
  for (let bit = 0; bit < count * 8; bit++) {
    found[bit >> 3]! |= (bytes[(from * 8 + bit) * stride]! & 1) << (bit & 7)
  }
  return found
}

function readPcm(head: Buffer, size: number): RecordingContent {
  const text = textInSamples(head, 2)
  return { text, seconds: size / 2 / (text === null ? PCM_RATE : SPEECH_RATE) }
}

/** PCM of 16 bits, of several channels the first; null for any other. */
function readWav(head: Buffer, size: number): RecordingContent | null {
  let stride = 0
  let rate = 0
  for (let at = 12; at + 8 <= head.byteLength; ) {
    const name = head.toString('latin1', at, at + 4)
    const length = Math.min(head.readUInt32LE(at + 4), size - at - 8)
    const chunk = head.subarray(at + 8, at + 8 + length)
    if (name === 'fmt ' && chunk.byteLength >= 16) {
      if (chunk.readUInt16LE(0) !== 1 || chunk.readUInt16LE(14) !== 16) return null
      rate = chunk.readUInt32LE(4)
      if (rate < SLOWEST_RATE || rate > FASTEST_RATE) return null
      stride = 2 * Math.max(1, chunk.readUInt16LE(2))
    }
    if (name === 'data' && rate > 0) {
      return { text: textInSamples(chunk, stride), seconds: length / stride / rate }
    }
    at += 8 + length + (length % 2)
  }
  return null
}

/** The tag of a simulated voice; null where there is none. */
function readId3(head: Buffer, size: number): RecordingContent | null {
  if (head.toString('latin1', 0, 4) !== 'ID3\x04') return null
  const length = head.subarray(6, ID3_HEADER_BYTES).reduce((value, byte) => value * 128 + (byte & 0x7f), 0)
  // Others have pictures in theirs.
  if (length > 2 * LONGEST_TEXT_BYTES) return null
  const tag = head.toString('utf8', ID3_HEADER_BYTES, ID3_HEADER_BYTES + length)
  const at = tag.indexOf(DESCRIPTOR)
  const [, milliseconds] = /^TLEN\D*(\d{1,9})USLT/.exec(tag) ?? []
  if (at < 0 || milliseconds === undefined) return null
  const seconds = Number(milliseconds) / 1000
  const text = tag.slice(at + DESCRIPTOR.length)
  return seconds * FEWEST_MP3_BYTES_PER_SECOND > size || text.length > LONGEST_TEXT_BYTES
    ? null
    : { text, seconds }
}
