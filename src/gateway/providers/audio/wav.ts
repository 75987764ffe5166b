/** Samples without a head as a WAV file, for services that take files alone. */
import type { AudioFile } from '../../formats/audio.js'

/** `pcm` is signed 16-bit little-endian, mono, at 16 kHz (contract/gateway 6.1). */
export const PCM_SAMPLE_RATE = 16_000
const BYTES_PER_SAMPLE = 2
const HEAD_BYTES = 44

/** The file itself, or samples with the head that makes a WAV file of them. */
export function playableFile(file: AudioFile): AudioFile {
  if (file.format !== 'pcm') return file
  const { bytes } = file
  async function* read(): AsyncIterable<Uint8Array> {
    yield wavHead(bytes.size)
    yield* bytes.read()
  }
  const filename = `${file.filename.replace(/\.[^.]*$/, '')}.wav`
  return { kind: 'bytes', format: 'wav', filename, bytes: { size: HEAD_BYTES + bytes.size, read } }
}

/** RIFF with one `fmt ` and one `data` chunk, of that many bytes of samples. */
function wavHead(bytes: number): Buffer {
  const head = Buffer.alloc(HEAD_BYTES)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(HEAD_BYTES - 8 + bytes, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16) // of this chunk
  head.writeUInt16LE(1, 20) // plain samples
  head.writeUInt16LE(1, 22) // channels
  head.writeUInt32LE(PCM_SAMPLE_RATE, 24)
  head.writeUInt32LE(PCM_SAMPLE_RATE * BYTES_PER_SAMPLE, 28)
  head.writeUInt16LE(BYTES_PER_SAMPLE, 32)
  head.writeUInt16LE(8 * BYTES_PER_SAMPLE, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(bytes, 40)
  return head
}
