/** The sound of simulated speech: a tone for each character, at the pitch of its voice. */
import { embedInSamples, encodeForSamples, id3Tag, SPEECH_RATE } from './embedded-text.js'

/** Pitch of each voice in hertz. The names behind our six are those that public clients send unasked. */
const VOICE_PITCH: Readonly<Record<string, number>> = {
  alba: 196,
  bruno: 98,
  carla: 220,
  dario: 110,
  elsa: 175,
  fabio: 131,
  alloy: 165,
  ash: 104,
  ballad: 123,
  cedar: 92,
  coral: 208,
  echo: 117,
  fable: 139,
  marin: 185,
  nova: 233,
  onyx: 87,
  sage: 156,
  shimmer: 247,
  verse: 147,
}
export const VOICES: readonly string[] = Object.keys(VOICE_PITCH)

/** Length of a character at speed 1, and the speeds between which it is changed. */
const CHARACTER_S = 0.08
const MIN_SPEED = 0.25
const MAX_SPEED = 4

/** Loudness of a tone, of 1. */
const LEVEL = 0.5
/** Samples that are made at a time: a quarter of a second, a few milliseconds of work. */
const PIECE_SAMPLES = SPEECH_RATE / 4
const MP3_KBITS = 64

/** The bytes of a spoken text, piece by piece, with the text inside. The same arguments give the same bytes. */
export async function* synthesizeSpeech(
  text: string,
  voice: string,
  speed: number,
  format: 'mp3' | 'pcm',
): AsyncGenerator<Uint8Array> {
  const pitch = VOICE_PITCH[voice]!
  const boundedSpeed = Math.min(MAX_SPEED, Math.max(MIN_SPEED, speed))
  const noteSamples = Math.round((CHARACTER_S * SPEECH_RATE) / boundedSpeed)
  const samples = toneSamples(text, pitch, noteSamples)
  if (format === 'mp3') yield* encodeMp3(text, samples, (text.length * noteSamples) / SPEECH_RATE)
  else yield* encodePcm(text, samples)
}

/** Signed 16-bit samples. Blanks are silent; each tone swells and fades, so that none clicks. */
function* toneSamples(text: string, pitch: number, noteSamples: number): Generator<Int16Array> {
  const total = text.length * noteSamples
  for (let from = 0; from < total; from += PIECE_SAMPLES) {
    const piece = new Int16Array(Math.min(PIECE_SAMPLES, total - from))
    for (let i = 0; i < piece.length; i++) {
      const character = Math.floor((from + i) / noteSamples)
      const code = text.charCodeAt(character)
      if (code <= 0x20) continue
      const at = from + i - character * noteSamples
      const hertz = pitch * (1 + (code & 15) / 8)
      const swell = Math.sin((Math.PI * at) / noteSamples)
      piece[i] = Math.round(LEVEL * swell * Math.sin((2 * Math.PI * hertz * at) / SPEECH_RATE) * 32_767)
    }
    yield piece
  }
}

function* encodePcm(text: string, samples: Iterable<Int16Array>): Generator<Uint8Array> {
  const embedded = encodeForSamples(text)
  let first = 0
  for (const piece of samples) {
    embedInSamples(piece, first, embedded)
    first += piece.length
    yield new Uint8Array(piece.buffer)
  }
}

/** Mono, at 64 kbit/s. */
async function* encodeMp3(
  text: string,
  samples: Iterable<Int16Array>,
  seconds: number,
): AsyncGenerator<Uint8Array> {
  const { createMp3Encoder } = await import('wasm-media-encoders')
  const encoder = await createMp3Encoder()
  encoder.configure({ sampleRate: SPEECH_RATE, channels: 1, bitrate: MP3_KBITS })
  yield id3Tag(text, seconds)
  for (const piece of samples) {
    // What the encoder answers is a view into its own memory, good until the next call.
    const bytes = encoder.encode([Float32Array.from(piece, (sample) => sample / 32_768)])
    if (bytes.byteLength > 0) yield Uint8Array.from(bytes)
  }
  const rest = encoder.finalize()
  if (rest.byteLength > 0) yield Uint8Array.from(rest)
}
