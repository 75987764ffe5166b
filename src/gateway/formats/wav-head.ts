/** The head that makes a WAV file of samples: signed 16-bit little-endian, mono. */

const BYTES_PER_SAMPLE = 2
export const WAV_HEAD_BYTES = 44

/** RIFF with one `fmt ` and one `data` chunk, of that many bytes of samples. */
export function wavHead(bytes: number, samplesPerSecond: number): Buffer {
  const head = Buffer.alloc(WAV_HEAD_BYTES)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(WAV_HEAD_BYTES - 8 + bytes, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16) // of this chunk
  head.writeUInt16LE(1, 20) // plain samples
  head.writeUInt16LE(1, 22) // channels
  head.writeUInt32LE(samplesPerSecond, 24)
  head.writeUInt32LE(samplesPerSecond * BYTES_PER_SAMPLE, 28)
  head.writeUInt16LE(BYTES_PER_SAMPLE, 32)
  head.writeUInt16LE(8 * BYTES_PER_SAMPLE, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(bytes, 40)
  return head
}
