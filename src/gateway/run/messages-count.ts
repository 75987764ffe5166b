/** Input tokens of a messages request before it is sent (contract/gateway 5.9). */
import { Fault } from '../../base/fault.js'
import type { MessagesRequest } from '../formats/messages.js'
import type { CountTokens } from '../metering/estimate.js'
import { estimateInputTokens } from '../metering/messages-estimate.js'
import { endUserPseudonym } from './end-user.js'
import type { Generation } from './generation.js'

interface TokenCountPorts {
  readonly countTokens: CountTokens
  /** Total time of a call in milliseconds. */
  readonly deadlineMs: number
}

/**
 * The count of the provider that would be asked first, where it offers one, otherwise a tokenizer's. Nothing is
 * generated and nothing settled. Rejects with the provider's fault.
 */
export async function countMessageTokens(
  { request, caller, id, startedAt, plan }: Generation<MessagesRequest>,
  simulate: string,
  { countTokens, deadlineMs }: TokenCountPorts,
): Promise<number> {
  const endpoint = plan.endpoints[0]!
  const { provider } = endpoint.provider
  if (provider.countMessages === undefined) return estimateInputTokens(request, countTokens)
  const counted = await provider.countMessages({
    request,
    endpoint,
    generationId: id,
    caller,
    endUser: endUserPseudonym(caller, request.user),
    serviceTier: undefined,
    simulate,
    deadlineAt: startedAt + deadlineMs,
    droppedFields: [],
  })
  if (counted instanceof Fault) throw counted.withGeneration({ id, serviceMetadata: null })
  return counted
}
