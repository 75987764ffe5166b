/** The samples of an audio file. */
import type { Sound } from './listening.js'
import { decodedMp3 } from './mp3.js'
import { RATE } from './tones.js'

/** Headerless samples that a transcription is sent (contract/gateway 6.1), and those that speech answers with. */
const PCM_RATES = [RATE, 16_000] as const

/** Every sound the bytes may be, the likeliest first; none for formats that are not known here. */
export async function soundsOf(bytes: Uint8Array, format: string): Promise<Sound[]> {
  switch (format.toLowerCase()) {
    case 'pcm':
      return PCM_RATES.map((rate) => ({ samples: samples16(bytes), rate }))
    case 'wav': {
      const sound = wav(bytes)
      return sound === null ? [] : [sound]
    }
    case 'mp3':
    case 'mpga':
    case 'mpeg': {
      const sound = await decodedMp3(bytes)
      return sound === null ? [] : [sound]
    }
    default:
      return []
  }
}

function samples16(bytes: Uint8Array, step = 1): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const count = Math.floor(bytes.byteLength / (2 * step))
  return Float32Array.from({ length: count }, (_, at) => view.getInt16(2 * at * step, true) / 32_768)
}

/** PCM of 16 bits; of several channels the first. */
function wav(bytes: Uint8Array): Sound | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let format: { readonly rate: number; readonly channels: number } | null = null
  for (let at = 12; at + 8 <= bytes.byteLength; ) {
    const name = Buffer.from(bytes.buffer, bytes.byteOffset + at, 4).toString('latin1')
    const size = Math.min(view.getUint32(at + 4, true), bytes.byteLength - at - 8)
    if (name === 'fmt ' && size >= 16) {
      const plain = view.getUint16(at + 8, true) === 1 && view.getUint16(at + 22, true) === 16
      if (!plain) return null
      format = { channels: Math.max(1, view.getUint16(at + 10, true)), rate: view.getUint32(at + 12, true) }
    }
    if (name === 'data' && format !== null && format.rate > 0) {
      return { samples: samples16(bytes.subarray(at + 8, at + 8 + size), format.channels), rate: format.rate }
    }
    at += 8 + size + (size % 2)
  }
  return null
}
