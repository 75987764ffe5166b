/** What the simulated ears make of a sound: what was said, where a simulated voice said it, else something made up. */
import { createHash } from 'node:crypto'
import type { AudioSource, Transcript, TranscriptionRequest } from '../../gateway/formats/audio.js'
import { ProseGenerator } from '../answer/prose.js'
import { RANDOM_LANE, SeededRandom } from '../random.js'
import { understood } from './listening.js'
import { soundsOf } from './sound-of.js'
import { type Timed, transcriptOf } from './transcribing.js'

/** Sound that cannot be decoded is taken for 128 kbit/s; what cannot be seen at all for half a minute. */
const BYTES_A_SECOND = 16_000
const UNSEEN_S = 30
const WORDS_A_SECOND = 2.5

/** The same sound is heard the same for ever. */
export async function heard(request: TranscriptionRequest, seed: number): Promise<Transcript> {
  const { audio } = request
  if (audio.kind === 'url') return transcriptOf(madeUp(audio.url, UNSEEN_S, seed), request)
  const bytes = await allOf(audio)
  let duration = bytes.byteLength / BYTES_A_SECOND
  for (const sound of await soundsOf(bytes, audio.format)) {
    const seconds = sound.samples.length / sound.rate
    const said = await understood(sound)
    if (said !== null) return transcriptOf(timed(said.text, seconds, said.timeOf), request)
    duration = seconds
  }
  return transcriptOf(madeUp(bytes, duration, seed), request)
}

async function allOf({ bytes }: AudioSource & { readonly kind: 'bytes' }): Promise<Buffer> {
  const all = Buffer.allocUnsafe(bytes.size)
  let at = 0
  for await (const piece of bytes.read()) {
    all.set(piece, at)
    at += piece.byteLength
  }
  return all
}

/** Voices count bytes, transcripts characters. */
function timed(text: string, duration: number, timeOfByte: (byte: number) => number): Timed {
  const byteAt = new Uint32Array(text.length + 1)
  let bytes = 0
  for (let at = 0; at < text.length; at++) {
    byteAt[at] = bytes
    const code = text.charCodeAt(at)
    // The second half of a pair begins where the first one ends: four bytes for both.
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code >= 0xd800 && code <= 0xdfff ? 2 : 3
  }
  byteAt[text.length] = bytes
  return { text, duration, timeOf: (index) => Math.min(duration, timeOfByte(byteAt[index]!)) }
}

function madeUp(source: string | Uint8Array, duration: number, seed: number): Timed {
  const digest = createHash('sha256').update(source).digest()
  const random = new SeededRandom(
    { low: digest.readInt32LE(0) ^ seed, high: digest.readInt32LE(4) },
    RANDOM_LANE.words,
  )
  const count = Math.max(1, Math.round(duration * WORDS_A_SECOND))
  const prose = new ProseGenerator(random, count)
  let text = ''
  for (let word = 0; word < count; word++) text += prose.nextToken()
  return { text, duration, timeOf: (index) => (duration * index) / text.length }
}
