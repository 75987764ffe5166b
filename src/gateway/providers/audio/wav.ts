/** Samples without a head as a WAV file, for services that take files alone. */
import type { AudioFile } from '../../formats/audio.js'
import { WAV_HEAD_BYTES, wavHead } from '../../formats/wav-head.js'

/** `pcm` is signed 16-bit little-endian, mono, at 16 kHz (contract/gateway 6.1). */
export const PCM_SAMPLE_RATE = 16_000

/** The file itself, or samples with the head that makes a WAV file of them. */
export function playableFile(file: AudioFile): AudioFile {
  if (file.format !== 'pcm') return file
  const { bytes } = file
  async function* read(): AsyncIterable<Uint8Array> {
    yield wavHead(bytes.size, PCM_SAMPLE_RATE)
    yield* bytes.read()
  }
  const filename = `${file.filename.replace(/\.[^.]*$/, '')}.wav`
  return { kind: 'bytes', format: 'wav', filename, bytes: { size: WAV_HEAD_BYTES + bytes.size, read } }
}
