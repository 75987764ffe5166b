import { embedInSamples, encodeForSamples, id3Tag } from '../../../src/simulator/audio/embedded-text.js'
import { openLoop } from '../load.js'
import { formRequest } from '../requests.js'
import type { Attack } from './attack.js'

const MIB = 2 ** 20
const CONNECTIONS = 4
/** A hundred megabytes a second, what a line of a gigabit carries. */
const PER_SECOND = 2
const WAV_BYTES = 16 * MIB
const PCM_BYTES = 99e6
const MP3_BYTES = 40e6
/** No MP3 is slower than 8 kbit/s. */
const MP3_BYTES_PER_SECOND = 1_000
/** As much text as is looked at in an MP3. */
const LYRICS = 'a. '.repeat(4_000)

/** Samples of which the head says that one is a second: three months of speech. */
function slowWav(): Buffer {
  const file = Buffer.alloc(44 + WAV_BYTES)
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
  file.writeUInt32LE(WAV_BYTES, 40)
  return file
}

/** Samples with a text in their lowest bits that no voice could have spoken. */
function samplesFullOfText(): Buffer {
  const text = encodeForSamples('a. 1 '.repeat(PCM_BYTES / 80))
  const samples = new Int16Array(PCM_BYTES / 2)
  embedInSamples(samples, 0, text)
  return Buffer.from(samples.buffer)
}

/** Eleven hours of the slowest MP3 there is, by its tag. */
function slowMp3(): Buffer {
  const tag = id3Tag(LYRICS, MP3_BYTES / MP3_BYTES_PER_SECOND)
  return Buffer.concat([tag, Buffer.alloc(MP3_BYTES - tag.byteLength)])
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
      transcription(key, 'mp3', slowMp3()),
    ]
    let turn = 0
    const request = (): Buffer => requests[turn++ % requests.length]!
    return openLoop({ port, connections: CONNECTIONS, seconds, perSecond: PER_SECOND, request })
  },
}
