/** What is set aside for speech and for transcription. */

import type { ModelEndpoint, Prices } from '../catalog/catalog.js'
import type { SpeechRequest, TranscriptionRequest } from '../formats/audio.js'
import { maxTranscriptionUsage, speechUsage } from '../formats/audio-usage.js'
import type { Usage } from '../formats/canonical.js'
import { costOf } from './price.js'
import type { Reservation } from './reservation.js'

/** Where a provider counts tokens: of a text that is read, and of sound that is made. */
const CHARS_PER_TOKEN = 3
const SOUND_TOKENS_PER_CHAR = 2

/** Characters are known exactly; tokens are guessed where they are what is paid for. */
export function speechReservation(request: SpeechRequest, endpoints: readonly ModelEndpoint[]): Reservation {
  const spoken = speechUsage(request.input)
  const characters = spoken.characters ?? 0
  const completion = characters * SOUND_TOKENS_PER_CHAR
  return dearestReservation(endpoints, {
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
  return dearestReservation(endpoints, maxTranscriptionUsage(request.audio))
}

/** Nothing of it depends on how long the answer may be, so there is nothing that would fit instead. */
function dearestReservation(endpoints: readonly ModelEndpoint[], usage: Usage): Reservation {
  let cost = 0
  let tokens = false
  for (const { prices } of endpoints) {
    const counted = billsTokens(prices)
    tokens ||= counted
    cost = Math.max(cost, costOf(counted ? usage : { ...usage, ...NO_TOKENS }, prices).total)
  }
  const { prompt, completion } = tokens ? usage : NO_TOKENS
  return { promptTokens: prompt, completionTokens: completion, cost, fixed: cost, perMillion: 0 }
}

const NO_TOKENS = { prompt: 0, promptAudio: 0, completion: 0, completionAudio: 0 }

/** A provider is paid for tokens, or for seconds and characters. */
function billsTokens({ audioSecond, inputCharacter }: Prices): boolean {
  return audioSecond === null && inputCharacter === null
}
