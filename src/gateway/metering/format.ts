/** What the gateway has to know of a wire format to run and meter an inference in it. */

import type { CatalogProvider, ModelEndpoint } from '../catalog/catalog.js'
import type { RoutedRequest, Usage } from '../formats/canonical.js'
import type { AnswerFinish, InferenceOperation } from '../formats/outcome.js'
import type { ProviderApi } from '../providers/port/provider.js'
import type { CountTokens, OutputSample } from './estimate.js'

/**
 * What an event is to the caller. Bookkeeping stays here; lifecycle is held back until there is content, because
 * until then another endpoint may still take over; content commits the answer to its endpoint.
 */
type EventClass = 'bookkeeping' | 'lifecycle' | 'content'

/** What has been heard of an answer so far. */
export interface StreamTotals {
  /** The provider's figures, once they have come. */
  usage: Usage | null
  serviceTier: string | null
  /** Of the first choice. */
  finish: AnswerFinish | null
  /** Kept for the case that the provider sends no figures, or that the caller leaves before they come. */
  readonly sample: OutputSample
}

/** Stateless; one frozen object per format. */
export interface InferenceFormat<R extends RoutedRequest, E, A> {
  readonly name: InferenceOperation
  /** Whether an endpoint can answer in this format at all. */
  serves(endpoint: ModelEndpoint): boolean
  /** How a provider serves this format. */
  apiOf(entry: CatalogProvider): ProviderApi<R, E, A>
  /** Takes note of what an event says about the consumption. Hot: once per event. */
  observe(event: E, hearing: StreamTotals): EventClass
  usageOf(answer: A): Usage | null
  /** Why the answer ended (its first choice, where there are several), and its service tier; null where not told. */
  finishOf(answer: A): { readonly finish: AnswerFinish | null; readonly serviceTier: string | null }
  sampleOf(answer: A): OutputSample
  /** Usage of a call whose provider gave none. */
  estimate(request: R, said: OutputSample, count: CountTokens): Promise<Usage>
}

/** Models that only speak or only transcribe have nothing to say to text. */
export function producesText({ model }: ModelEndpoint): boolean {
  return model.outputModalities.some((modality) => modality !== 'speech' && modality !== 'transcription')
}
