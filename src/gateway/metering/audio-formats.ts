/** Speech and transcription as the gateway runs and meters them. */
import {
  maxTranscriptionUsage,
  type NoSpeechAnswer,
  type SpeechEvent,
  type SpeechRequest,
  speechUsage,
  type Transcript,
  type TranscriptionRequest,
  transcriptionUsage,
} from '../formats/audio.js'
import { type InferenceFormat, OutputSample } from './format.js'

/** Sound has no reason to end. */
const NO_FINISH = Object.freeze({ finish: null, serviceTier: null, images: 0 })

export const speechFormat: InferenceFormat<SpeechRequest, SpeechEvent, NoSpeechAnswer> = Object.freeze({
  name: 'speech',
  serves: ({ model, provider }) =>
    model.outputModalities.includes('speech') && provider.provider.speech !== undefined,
  apiOf: (entry) => entry.provider.speech!,
  observe: (event, hearing) => {
    if (event.type === 'audio') return 'content'
    hearing.usage = event.usage
    return 'bookkeeping'
  },
  usageOf: () => null,
  finishOf: () => NO_FINISH,
  sampleOf: () => new OutputSample(),
  // All of it is paid, also where the caller left early: providers bill the input.
  estimate: async (request) => ({ usage: speechUsage(request.input), isGuessed: false }),
} satisfies InferenceFormat<SpeechRequest, SpeechEvent, NoSpeechAnswer>)

export const transcriptionFormat: InferenceFormat<TranscriptionRequest, never, Transcript> = Object.freeze({
  name: 'transcription',
  serves: ({ model, provider }) =>
    model.outputModalities.includes('transcription') && provider.provider.transcription !== undefined,
  apiOf: (entry) => entry.provider.transcription!,
  observe: () => 'bookkeeping',
  usageOf: ({ usage, duration }) =>
    usage === 'unbelievable' ? null : (usage ?? transcriptionUsage(duration ?? 0)),
  finishOf: () => NO_FINISH,
  sampleOf: () => new OutputSample(),
  estimate: async ({ audio }) => ({ usage: maxTranscriptionUsage(audio), isGuessed: false }),
} satisfies InferenceFormat<TranscriptionRequest, never, Transcript>)
