/** Speech and transcription as the gateway runs and meters them. */
import type { NoSpeechAnswer, SpeechEvent, SpeechRequest, Transcript, TranscriptionRequest } from './audio.js'
import type { Usage } from './canonical.js'
import { Said } from './estimate.js'
import type { Format } from './format.js'

const NOTHING: Usage = Object.freeze({
  prompt: 0,
  completion: 0,
  cached: 0,
  cacheWrite: 0,
  promptAudio: 0,
  reasoning: 0,
  completionAudio: 0,
})

/** Sound has no reason to end. */
const UNTOLD = Object.freeze({ finish: null, serviceTier: null })

/** Speech without a provider's figures is counted in characters of the input. */
export function spokenUsage(input: string): Usage {
  let characters = 0
  for (const _ of input) characters++
  return { ...NOTHING, characters }
}

/** A transcript without a provider's figures is counted in seconds of audio, where the provider says how many. */
export function heardUsage(seconds: number): Usage {
  return { ...NOTHING, milliseconds: Math.round(seconds * 1000) }
}

export const speechFormat: Format<SpeechRequest, SpeechEvent, NoSpeechAnswer> = Object.freeze({
  name: 'speech',
  serves: ({ model, provider }) =>
    model.outputModalities.includes('speech') && provider.provider.speech !== undefined,
  face: (entry) => entry.provider.speech!,
  hear: (event, hearing) => {
    if (event.type === 'audio') return 'content'
    hearing.usage = event.usage
    return 'bookkeeping'
  },
  usageIn: () => null,
  endOf: () => UNTOLD,
  saidIn: () => new Said(),
  // All of it is paid, also where the caller left early: providers bill the input.
  estimate: async (request) => spokenUsage(request.input),
} satisfies Format<SpeechRequest, SpeechEvent, NoSpeechAnswer>)

export const transcriptionFormat: Format<TranscriptionRequest, never, Transcript> = Object.freeze({
  name: 'transcription',
  serves: ({ model, provider }) =>
    model.outputModalities.includes('transcription') && provider.provider.transcription !== undefined,
  face: (entry) => entry.provider.transcription!,
  hear: () => 'bookkeeping',
  usageIn: (transcript) => transcript.usage ?? heardUsage(transcript.duration ?? 0),
  endOf: () => UNTOLD,
  saidIn: () => new Said(),
  estimate: async () => heardUsage(0),
} satisfies Format<TranscriptionRequest, never, Transcript>)
