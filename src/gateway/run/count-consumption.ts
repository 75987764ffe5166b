/** What an answer has consumed where its provider has not told: counted here, or guessed. */
import { NEVER_ABORTED } from '../../base/cancellation.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { RoutedRequest } from '../formats/canonical.js'
import type { CountTexts, InferenceFormat, OutputSample, StreamTotals } from '../metering/format.js'
import { guessUsage } from '../pricing/reservation.js'
import { estimatedConsumption } from './consumption.js'
import type { Consumption, Generation } from './generation.js'
import type { RunPorts } from './ports.js'

/** What was heard of an answer, and of whom. */
interface HeardAnswer<A> {
  readonly totals: StreamTotals
  /** Where it came whole. */
  readonly answer: A | null
  readonly endpoint: ModelEndpoint
}

/**
 * Never rejects: where counting fails, through a defect of ours, the log is told and the generation is settled with a
 * guess.
 */
export async function countConsumption<R extends RoutedRequest, E, A>(
  format: InferenceFormat<R, E, A>,
  { operation, request, caller }: Generation<R>,
  { totals, answer, endpoint }: HeardAnswer<A>,
  { countTokens, onDefect }: Pick<RunPorts, 'countTokens' | 'onDefect'>,
): Promise<Consumption> {
  let sample: OutputSample | null = null
  try {
    sample = answer === null ? totals.sample : format.sampleOf(answer)
    // What is charged is counted whether or not the caller is still there.
    const count: CountTexts = (texts) => countTokens(texts, caller.organizationId, NEVER_ABORTED)
    const usage = await format.estimate(request, sample, count, endpoint.prices)
    return estimatedConsumption(request, endpoint, totals, usage)
  } catch (error) {
    onDefect(error)
    const usage = guessUsage(operation, request, endpoint, sample)
    return estimatedConsumption(request, endpoint, totals, { usage, isGuessed: true })
  }
}
