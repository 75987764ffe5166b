import type { RoutedRequest } from '../gateway/formats/canonical.js'
import type { Gateway, Inference } from '../gateway/gateway.js'
import type { InferenceFormat } from '../gateway/metering/format.js'
import type { Generation } from '../gateway/run/generation.js'
import { type ServiceMetadata, serviceMetadata } from '../gateway/run/metadata.js'
import type { HttpCall, Reply } from '../http/endpoint.js'
import { JSON_TYPE } from '../http/reply.js'
import { generationHeaders } from './generation-headers.js'
import { wantsMetadata } from './inference-headers.js'
import { attachGeneration } from './with-generation.js'

/** A format, and how its whole answers are written. */
interface WholeFormat<R extends RoutedRequest, E, A> {
  readonly format: InferenceFormat<R, E, A>
  readonly encode: (generation: Generation<R>, answer: A, metadata: ServiceMetadata | null) => string
}

/**
 * An answer in one piece; rejects with the fault of the last attempt. Throws when the plan is impossible. Chained
 * by hand: an async function would add two turns of the microtask queue to every call.
 */
export function wholeReply<R extends RoutedRequest, E, A>(
  gateway: Gateway,
  { format, encode }: WholeFormat<R, E, A>,
  inference: Inference<R>,
  call: HttpCall,
): Promise<Reply> {
  return gateway.complete(format, inference, call).then(({ generation, answer, fault }) => {
    const wanted = wantsMetadata((name) => call.header(name))
    const metadata = wanted ? serviceMetadata(generation, performance.now()) : null
    if (fault !== null) throw attachGeneration(fault, generation, metadata)
    const body = encode(generation, answer, metadata)
    return { status: 200, headers: [JSON_TYPE, ...generationHeaders(generation, call)], body }
  })
}
