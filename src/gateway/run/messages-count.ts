/** Input tokens of a messages request before it is sent (contract/gateway 5.9). */
import { Fault } from '../../base/fault.js'
import type { MessagesRequest } from '../formats/messages.js'
import type { CountTokens } from '../metering/estimate.js'
import { countInput } from '../metering/messages-estimate.js'
import { endUserOf } from './end-user.js'
import type { Generation } from './generation.js'

interface CountPorts {
  readonly countTokens: CountTokens
  /** Total time of a call in milliseconds. */
  readonly deadlineMs: number
}

/**
 * The count of the provider that would be asked first, where it offers one, otherwise a tokenizer's. Nothing is
 * generated and nothing settled. Rejects with the provider's fault.
 */
export async function countMessages(
  { request, caller, id, startedAt, plan }: Generation<MessagesRequest>,
  simulate: string,
  { countTokens, deadlineMs }: CountPorts,
): Promise<number> {
  const endpoint = plan.endpoints[0]!
  const { provider } = endpoint.provider
  if (provider.countMessages === undefined) return countInput(request, countTokens)
  const counted = await provider.countMessages({
    request,
    endpoint,
    generationId: id,
    caller,
    endUser: endUserOf(caller, request.user),
    serviceTier: undefined,
    simulate,
    deadlineAt: startedAt + deadlineMs,
    lost: [],
  })
  if (counted instanceof Fault) throw counted.within({ id, serviceMetadata: null })
  return counted
}
