import { embedInSamples, encodeForSamples, id3Tag } from '../../../src/simulator/audio/embedded-text.js'
import { closedLoop } from '../load.js'
import { formRequest } from '../requests.js'
import type { Attack } from './attack.js'

const MIB = 2 ** 20
const CONNECTIONS = 2
/** Little, so that it is what is inside that costs, and not the way there. */
const SOUND_BYTES = MIB / 4

/** Samples of which the head says that one is a second: a day and a half of speech. */
function slowWav(): Buffer {
  const file = Buffer.alloc(44 + SOUND_BYTES)
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
  file.writeUInt32LE(SOUND_BYTES, 40)
  return file
}

/** Samples with a text in their lowest bits that no voice could have spoken. */
function samplesFullOfText(): Buffer {
  const text = encodeForSamples('a. 1 '.repeat(SOUND_BYTES / 80))
  const samples = new Int16Array(text.byteLength * 8)
  embedInSamples(samples, 0, text)
  return Buffer.from(samples.buffer)
}

function transcription(key: string, format: string, sound: Buffer): Buffer {
  const fields = { model: 'sim/transcribe', response_format: 'verbose_json', diarize: 'true' }
  return formRequest('/audio/transcriptions', key, fields, `a.${format}`, sound)
}

/** Recordings whose heads promise far more than their bytes hold. */
export const craftedSound: Attack = {
  name: 'attack-crafted-sound',
  summary:
    'an organization has a WAV of one sample a second, samples full of text and an MP3 full of lyrics transcribed',
  play: ({ port, managementKey: key, seconds }) => {
    const requests = [
      transcription(key, 'wav', slowWav()),
      transcription(key, 'pcm', samplesFullOfText()),
      transcription(key, 'mp3', id3Tag('a. '.repeat(SOUND_BYTES / 3), 100)),
    ]
    let turn = 0
    const request = (): Buffer => requests[turn++ % requests.length]!
    return closedLoop({ port, connections: CONNECTIONS, seconds, request })
  },
}
