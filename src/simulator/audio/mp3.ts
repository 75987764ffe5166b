/** MP3, from and to samples. The only importer of the encoder and of the decoder. */
import { MPEGDecoder } from 'mpg123-decoder'
import { createMp3Encoder } from 'wasm-media-encoders'
import type { Sound } from './listening.js'
import { RATE } from './tones.js'

const KBITS = 64
/** Bytes decoded in one turn of the loop. */
const PIECE = 32 * 1024

/** The samples as MP3, mono, at 64 kbit/s, as they come. */
export async function* encodedMp3(pieces: Iterable<Int16Array>): AsyncGenerator<Uint8Array> {
  const encoder = await createMp3Encoder()
  encoder.configure({ sampleRate: RATE, channels: 1, bitrate: KBITS })
  for (const piece of pieces) {
    // What the encoder answers is a view into its own memory, good until the next call.
    const bytes = encoder.encode([Float32Array.from(piece, (sample) => sample / 32_768)])
    if (bytes.byteLength > 0) yield Uint8Array.from(bytes)
  }
  const rest = encoder.finalize()
  if (rest.byteLength > 0) yield Uint8Array.from(rest)
}

/** Null for what is no MP3. Gives the loop a turn between pieces. */
export async function decodedMp3(bytes: Uint8Array): Promise<Sound | null> {
  const decoder = new MPEGDecoder()
  await decoder.ready
  try {
    const parts: Float32Array[] = []
    let rate = 0
    for (let at = 0; at < bytes.byteLength; at += PIECE) {
      const { channelData, sampleRate } = decoder.decode(bytes.subarray(at, at + PIECE))
      if (channelData[0] !== undefined && channelData[0].length > 0) parts.push(channelData[0])
      rate = sampleRate || rate
      await new Promise((resolve) => setImmediate(resolve))
    }
    return parts.length === 0 ? null : { samples: joined(parts), rate }
  } finally {
    decoder.free()
  }
}

function joined(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
