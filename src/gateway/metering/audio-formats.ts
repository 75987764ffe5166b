/** Speech and transcription as the gateway runs and meters them. */
import type { PriceList } from '../catalog/catalog.js'
import {
  measureTranscriptionUsage,
  type NoSpeechAnswer,
  type SpeechEvent,
  type SpeechRequest,
  speechUsage,
  type Transcript,
  type TranscriptionRequest,
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

/** What a provider that listens is paid for. Some servers tell the other. */
function paidUnit({ audioSecond, prompt, completion, inputAudio }: PriceList): 'seconds' | 'tokens' | 'any' {
  const hasTokenPrice = prompt + completion + (inputAudio ?? 0) > 0
  if (audioSecond !== null) return hasTokenPrice ? 'any' : 'seconds'
  return hasTokenPrice ? 'tokens' : 'any'
}

export const transcriptionFormat: InferenceFormat<TranscriptionRequest, never, Transcript> = Object.freeze({
  name: 'transcription',
  serves: ({ model, provider }) =>
    model.outputModalities.includes('transcription') && provider.provider.transcription !== undefined,
  apiOf: (entry) => entry.provider.transcription!,
  observe: () => 'bookkeeping',
  usageOf: ({ usage }, prices) => {
    if (usage === null) return null
    const unit = paidUnit(prices)
    if (unit === 'seconds' && usage.prompt + usage.completion > 0) return null
    return unit === 'tokens' && (usage.milliseconds ?? 0) > 0 ? null : usage
  },
  finishOf: () => NO_FINISH,
  sampleOf: () => new OutputSample(),
  estimate: async ({ audio }, _sample, _count, prices) => {
    const usage = await measureTranscriptionUsage(audio)
    const other =
      paidUnit(prices) === 'tokens' ? { milliseconds: 0 } : { prompt: 0, promptAudio: 0, completion: 0 }
    return { usage: { ...usage, ...other }, isGuessed: false }
  },
} satisfies InferenceFormat<TranscriptionRequest, never, Transcript>)
