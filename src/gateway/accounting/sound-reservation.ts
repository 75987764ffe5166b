/** What is set aside for speech and for transcription. */
import type { AudioSource, SpeechRequest, TranscriptionRequest } from '../audio.js'
import { spokenUsage } from '../audio-formats.js'
import type { Usage } from '../canonical.js'
import type { ModelEndpoint, Prices } from '../catalog.js'
import { costOf } from '../price.js'
import type { Reservation } from './reservation.js'

/** Where a provider counts tokens: of a text that is read, of sound that is made or heard, of a transcript. */
const CHARS_PER_TOKEN = 3
const SOUND_TOKENS_PER_CHAR = 2
const HEARD_TOKENS_PER_SECOND = 25
const WRITTEN_TOKENS_PER_SECOND = 5

/** Bytes of a second of speech, low rather than high: what is set aside for a recording is its longest length. */
const BYTES_PER_SECOND: Readonly<Record<string, number>> = { wav: 16_000, pcm: 32_000, flac: 12_000 }
/** Of everything that is compressed with losses. */
const COMPRESSED_BYTES_PER_SECOND = 4_000
/** Of a recording that lies elsewhere. */
const UNSEEN_SECONDS = 600
const MOST_SECONDS = 2 * 60 * 60

/** Characters are known exactly; tokens are guessed where they are what is paid for. */
export function speechReservation(request: SpeechRequest, endpoints: readonly ModelEndpoint[]): Reservation {
  const spoken = spokenUsage(request.input)
  const characters = spoken.characters ?? 0
  const completion = characters * SOUND_TOKENS_PER_CHAR
  return dearest(endpoints, {
    ...spoken,
    prompt: Math.ceil(characters / CHARS_PER_TOKEN),
    completion,
    completionAudio: completion,
  })
}

export function transcriptionReservation(
  request: TranscriptionRequest,
  endpoints: readonly ModelEndpoint[],
): Reservation {
  const seconds = secondsOf(request.audio)
  const prompt = seconds * HEARD_TOKENS_PER_SECOND
  return dearest(endpoints, {
    prompt,
    promptAudio: prompt,
    completion: seconds * WRITTEN_TOKENS_PER_SECOND,
    cached: 0,
    cacheWrite: 0,
    reasoning: 0,
    completionAudio: 0,
    milliseconds: seconds * 1000,
  })
}

function secondsOf(audio: AudioSource): number {
  if (audio.kind === 'url') return UNSEEN_SECONDS
  const rate = BYTES_PER_SECOND[audio.format] ?? COMPRESSED_BYTES_PER_SECOND
  return Math.min(MOST_SECONDS, Math.ceil(audio.bytes.size / rate))
}

/** Nothing of it depends on how long the answer may be, so there is nothing that would fit instead. */
function dearest(endpoints: readonly ModelEndpoint[], usage: Usage): Reservation {
  let cost = 0
  let tokens = false
  for (const { prices } of endpoints) {
    const counted = countsTokens(prices)
    tokens ||= counted
    cost = Math.max(cost, costOf(counted ? usage : { ...usage, ...NO_TOKENS }, prices).total)
  }
  const { prompt, completion } = tokens ? usage : NO_TOKENS
  return { promptTokens: prompt, completionTokens: completion, cost, fixed: cost, perMillion: 0 }
}

const NO_TOKENS = { prompt: 0, promptAudio: 0, completion: 0, completionAudio: 0 }

/** A provider is paid for tokens, or for seconds and characters. */
function countsTokens({ audioSecond, inputCharacter }: Prices): boolean {
  return audioSecond === null && inputCharacter === null
}
