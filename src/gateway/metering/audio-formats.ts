/** Speech and transcription as the gateway runs and meters them. */
import type {
  NoSpeechAnswer,
  SpeechEvent,
  SpeechRequest,
  Transcript,
  TranscriptionRequest,
} from '../formats/audio.js'
import { heardUsage, longestUsage, spokenUsage } from '../formats/audio-usage.js'
import { Said } from './estimate.js'
import type { Format } from './format.js'

/** Sound has no reason to end. */
const UNTOLD = Object.freeze({ finish: null, serviceTier: null })

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
  usageIn: ({ usage, duration }) => (usage === 'unbelievable' ? null : (usage ?? heardUsage(duration ?? 0))),
  endOf: () => UNTOLD,
  saidIn: () => new Said(),
  estimate: async ({ audio }) => longestUsage(audio),
} satisfies Format<TranscriptionRequest, never, Transcript>)
