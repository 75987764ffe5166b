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
import type { Usage } from '../formats/canonical.js'
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

const NO_TIME = { milliseconds: 0 }
const NO_TOKENS = { prompt: 0, promptAudio: 0, completion: 0 }

function hasTokenPrice({ prompt, completion, inputAudio }: PriceList): boolean {
  return prompt + completion + (inputAudio ?? 0) > 0
}

/** Of what a provider tells, that which it is paid for; null where it tells the other alone. */
function paidUsage(usage: Usage, prices: PriceList): Usage | null {
  const countsTokens = hasTokenPrice(prices)
  // Both have a price, or neither.
  if (countsTokens === (prices.audioSecond !== null)) return usage
  const tokens = usage.prompt + usage.completion
  const milliseconds = usage.milliseconds ?? 0
  if (countsTokens) return tokens === 0 && milliseconds > 0 ? null : { ...usage, ...NO_TIME }
  return milliseconds === 0 && tokens > 0 ? null : { ...usage, ...NO_TOKENS }
}

export const transcriptionFormat: InferenceFormat<TranscriptionRequest, never, Transcript> = Object.freeze({
  name: 'transcription',
  serves: ({ model, provider }) =>
    model.outputModalities.includes('transcription') && provider.provider.transcription !== undefined,
  apiOf: (entry) => entry.provider.transcription!,
  observe: () => 'bookkeeping',
  usageOf: ({ usage }, prices) => (usage === null ? null : paidUsage(usage, prices)),
  finishOf: () => NO_FINISH,
  sampleOf: () => new OutputSample(),
  estimate: async ({ audio }, _sample, _count, prices) => {
    const usage = await measureTranscriptionUsage(audio)
    const countsTokens = prices.audioSecond === null && hasTokenPrice(prices)
    return { usage: { ...usage, ...(countsTokens ? NO_TIME : NO_TOKENS) }, isGuessed: false }
  },
} satisfies InferenceFormat<TranscriptionRequest, never, Transcript>)
