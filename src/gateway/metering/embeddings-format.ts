/** Embeddings as the gateway runs and meters them. */
import { type Embeddings, type EmbeddingsRequest, embeddingsUsage, inputsOf } from '../formats/embeddings.js'
import { type InferenceFormat, OutputSample } from './format.js'

/** A vector has no reason to end. */
const NO_FINISH = Object.freeze({ finish: null, serviceTier: null, images: 0 })

export const embeddingsFormat: InferenceFormat<EmbeddingsRequest, never, Embeddings> = Object.freeze({
  name: 'embeddings',
  serves: ({ model, provider }) =>
    model.outputModalities.includes('embeddings') && provider.provider.embeddings !== undefined,
  apiOf: (entry) => entry.provider.embeddings!,
  observe: () => 'bookkeeping',
  usageOf: ({ usage }) => usage,
  finishOf: () => NO_FINISH,
  sampleOf: () => new OutputSample(),
  estimate: async ({ input }, _, count) => {
    const inputs = inputsOf(input)
    const texts = inputs.filter((each) => typeof each === 'string')
    const known = inputs.reduce((sum, each) => sum + (typeof each === 'string' ? 0 : each.length), 0)
    const { counts, areGuessed } = await count([texts.join('\n')])
    return { usage: embeddingsUsage(known + (counts[0] ?? 0)), isGuessed: areGuessed }
  },
} satisfies InferenceFormat<EmbeddingsRequest, never, Embeddings>)
