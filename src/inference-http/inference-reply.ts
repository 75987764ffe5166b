/** What the operations of inference have in common: how they are declared, begun and answered. */
import type { Fault, FaultKind } from '../base/fault.js'
import { nanosToDollars } from '../base/money.js'
import type { Principal } from '../base/principal.js'
import type { RoutedRequest } from '../gateway/formats/canonical.js'
import type { Gateway } from '../gateway/gateway.js'
import type { InferenceFormat } from '../gateway/metering/format.js'
import type { CallCost } from '../gateway/pricing/price.js'
import type { Generation } from '../gateway/run/generation.js'
import { type ServiceMetadata, serviceMetadata } from '../gateway/run/metadata.js'
import { serverTiming } from '../gateway/run/server-timing.js'
import type { HttpCall, Reply } from '../http/endpoint.js'
import type { FirstEventTimers } from '../http/first-event-timers.js'
import { JSON_TYPE } from '../http/reply.js'
import {
  INFERENCE_HEADERS,
  SIMULATE_HEADER,
  TRACE_HEADER,
  wantsMetadata,
  wantsTiming,
} from './inference-headers.js'

/** What the inference operations need of the worker. */
export interface InferencePorts {
  readonly gateway: Gateway
  readonly firstEventTimers: FirstEventTimers
  /** Most bytes of a request body. */
  readonly bodyLimit: number
  /** Total time of a call in milliseconds. */
  readonly deadlineMs: number
}

/** What the transport leaves the gateway to tell a deadline: more than the sweeps of both take. */
const GRACE_MS = 2_000

/** Members of every inference endpoint. */
export function inferenceOperation({ bodyLimit, deadlineMs }: InferencePorts) {
  return {
    access: 'key' as const,
    headers: INFERENCE_HEADERS,
    bodyLimit,
    // The gateway decides when a call is late, and tells it in full; the transport only sees to it that it does.
    deadlineMs: deadlineMs + GRACE_MS,
  }
}

export const INFERENCE_FAULTS = [
  'payment-required',
  'item-not-found',
  'rate-limited',
  'provider-failed',
  'unavailable',
  'provider-timeout',
  'provider-overloaded',
] as const satisfies readonly FaultKind[]

/** Plans the inference that a call asks for. Throws when no endpoint can serve it. */
export function prepareGeneration<R extends RoutedRequest, E, A>(
  gateway: Gateway,
  format: InferenceFormat<R, E, A>,
  request: R,
  caller: Principal,
  call: HttpCall,
): Generation<R> {
  const simulate = call.header(SIMULATE_HEADER)
  return gateway.prepare(format, { request, caller, simulate, traceparent: call.header(TRACE_HEADER) }, call)
}

/** Headers of every answer of an inference: which one it is and, for callers who ask, where its time went. */
export function generationHeaders(
  generation: Generation<RoutedRequest>,
  call: HttpCall,
): readonly (readonly [string, string])[] {
  const id = ['X-Generation-Id', generation.id] as const
  if (!wantsTiming(call)) return [id]
  return [id, ['Server-Timing', serverTiming(generation, performance.now())]]
}

/** The routing metadata, for callers who ask for it. */
export function requestedMetadata(
  generation: Generation<RoutedRequest>,
  call: HttpCall,
): ServiceMetadata | null {
  return wantsMetadata(call) ? serviceMetadata(generation, performance.now()) : null
}

/** The fault, saying in which generation it happened: dialects render its id and its routing. */
export function attachGeneration(
  fault: Fault,
  { id }: Generation<RoutedRequest>,
  metadata: ServiceMetadata | null,
): Fault {
  return fault.withGeneration({ id, serviceMetadata: metadata })
}

/** The routing metadata as the last member of a JSON object, after a comma; `''` where the caller does not ask for it. */
export function metadataMember(metadata: ServiceMetadata | null): string {
  return metadata === null ? '' : `,"service_metadata":${JSON.stringify(metadata)}`
}

/** What an answer has cost, as members of its `usage` (contract/gateway 3.3). */
export function costMembers({ total, prompt, completion }: CallCost): string {
  const dollars = nanosToDollars(total)
  return (
    `"cost":${dollars},"cost_details":{"upstream_inference_cost":${dollars},` +
    `"upstream_inference_prompt_cost":${nanosToDollars(prompt)},` +
    `"upstream_inference_completions_cost":${nanosToDollars(completion)}},"is_byok":false`
  )
}

/** A format, and how its whole answers are written. */
export interface WholeFormat<R extends RoutedRequest, E, A> {
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
  request: R,
  caller: Principal,
  call: HttpCall,
): Promise<Reply> {
  const generation = prepareGeneration(gateway, format, request, caller, call)
  return gateway.complete(format, generation, call).then(({ answer, fault }) => {
    const metadata = requestedMetadata(generation, call)
    if (fault !== null) throw attachGeneration(fault, generation, metadata)
    const body = encode(generation, answer, metadata)
    return { status: 200, headers: [JSON_TYPE, ...generationHeaders(generation, call)], body }
  })
}
