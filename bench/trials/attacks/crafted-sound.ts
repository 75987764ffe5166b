import { embedInSamples, encodeForSamples, id3Tag } from '../../../src/simulator/audio/embedded-text.js'
import { requestBytes } from '../../harness/http/requests.js'
import { closedLoop } from '../load.js'
import type { Attack } from './attack.js'

const MIB = 2 ** 20
const CONNECTIONS = 4
const BOUNDARY = 'sound'

/** 16 MiB of samples, one a second as the head says: half a year of speech. */
function slowWav(): Buffer {
  const file = Buffer.alloc(44 + 16 * MIB)
  file.write('RIFF')
  file.writeUInt32LE(file.byteLength - 8, 4)
  file.write('WAVEfmt ', 8)
  file.writeUInt32LE(16, 16)
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ] as const)
    file.writeUInt16LE(value, at)
  file.writeUInt32LE(1, 24)
  file.write('data', 36)
  file.writeUInt32LE(16 * MIB, 40)
  return file
}

/** Samples with a text in their lowest bits that no voice could have spoken. */
function samplesFullOfText(): Buffer {
  const text = encodeForSamples('a. 1 '.repeat(MIB / 10))
  const samples = new Int16Array(text.byteLength * 8)
  embedInSamples(samples, 0, text)
  return Buffer.from(samples.buffer)
}

function transcription(key: string, format: string, sound: Buffer): Buffer {
  const part = (head: string): string => `--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`
  const body = Buffer.concat([
    Buffer.from(`${part('name="model"')}sim/transcribe\r\n${part('name="diarize"')}true\r\n`),
    Buffer.from(part(`name="file"; filename="a.${format}"`)),
    sound,
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ])
  const path = '/api/v1/audio/transcriptions'
  const headers = {
    Authorization: `Bearer ${key}`,
    'Content-Type': `multipart/form-data; boundary=${BOUNDARY}`,
  }
  return requestBytes({ method: 'POST', route: path, path, body, headers })
}

/** Recordings whose heads promise far more than their bytes hold. */
export const craftedSound: Attack = {
  name: 'attack-crafted-sound',
  summary: 'an ordinary key has a WAV of one sample a second, samples full of text and an MP3 full of lyrics transcribed',
  play: ({ port, key, seconds }) => {
    const requests = [
      transcription(key, 'wav', slowWav()),
      transcription(key, 'pcm', samplesFullOfText()),
      transcription(key, 'mp3', id3Tag('a. '.repeat(MIB / 3), 100)),
    ]
    let turn = 0
    const request = (): Buffer => requests[turn++ % requests.length]!
    return closedLoop({ port, connections: CONNECTIONS, seconds, request })
  },
}
