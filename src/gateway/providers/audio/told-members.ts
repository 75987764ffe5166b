/** What of an audio request a provider cannot be told, and what it cannot do. */
import { Fault } from '../../../base/fault.js'
import type { SpeechRequest, TranscriptionRequest } from '../../formats/audio.js'
import type { ProviderCall } from '../port/provider.js'

type AudioRequest = SpeechRequest | TranscriptionRequest

/** The other members change nothing that the caller could not do without, or are the gateway's own. */
type OptionalMember = 'temperature' | 'prompt' | 'chunking_strategy' | 'speed' | 'instructions'

/** Names for the caller those of the members that the request has: this provider is not told of them. */
export function nameUnsaid<R extends AudioRequest>(
  { request, droppedFields }: ProviderCall<R>,
  unsaid: readonly (OptionalMember & keyof R)[],
): void {
  for (const name of unsaid) if (request[name] !== undefined) droppedFields.push(name)
}

const OPTIONAL_FEATURES = ['diarize', 'keyterms'] as const

/** Servers that do not know these would ignore them, and the caller would not notice. */
export function refuseUnsupported({ request, endpoint }: ProviderCall<TranscriptionRequest>): Fault | null {
  for (const name of OPTIONAL_FEATURES) {
    const asked = request[name]
    if (asked === undefined || asked === false || endpoint.supportedParameters.has(name)) continue
    return new Fault('bad-request', { note: `${endpoint.model.id} does not support ${name}` })
  }
  return null
}

/** Why an operation that a provider never has is not served; nobody asks for it. */
export function neverAsked(detail: string): Fault {
  return new Fault('internal', { detail })
}
