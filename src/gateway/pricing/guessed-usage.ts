/** What a call is taken to have consumed when even counting it has failed. */

import type { ModelEndpoint } from '../catalog/catalog.js'
import type { RoutedRequest, Usage } from '../formats/canonical.js'
import type { InferenceOperation } from '../formats/outcome.js'
import type { OutputSample } from '../metering/estimate.js'
import { CHARS_PER_TOKEN, reservationFor } from './reserve.js'

/**
 * The question as its reservation measures it, and the answer by the length of what was said of it; where nobody knows
 * that, as much as was set aside for it.
 */
export function guessUsage(
  operation: InferenceOperation,
  request: RoutedRequest,
  endpoint: ModelEndpoint,
  said: OutputSample | null,
): Usage {
  const { promptTokens, completionTokens } = reservationFor(operation, request, [endpoint])
  const reasoning = said === null ? 0 : Math.ceil(said.reasoning.length / CHARS_PER_TOKEN)
  const content = said === null ? completionTokens : Math.ceil(said.content.length / CHARS_PER_TOKEN)
  return {
    prompt: promptTokens,
    completion: content + reasoning,
    cached: 0,
    cacheWrite: 0,
    promptAudio: 0,
    reasoning,
    completionAudio: 0,
  }
}
