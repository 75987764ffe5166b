/** What the operations of inference have in common: how they are declared, begun and answered, whole or in a stream. */
import type { Fault, FaultKind } from '../base/fault.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import { nanosToDollars } from '../base/money.js'
import type { Principal } from '../base/principal.js'
import type { RoutedRequest } from '../gateway/formats/canonical.js'
import type { Gateway, Inference } from '../gateway/gateway.js'
import type { Loops, PreparedLoop } from '../gateway/loop/loops.js'
import type { TurnFormat } from '../gateway/loop/turn-format.js'
import type { InferenceFormat } from '../gateway/metering/format.js'
import { type CallCost, upstreamCost } from '../gateway/pricing/price.js'
import type { Generation } from '../gateway/run/generation.js'
import type { ServiceMetadata } from '../gateway/run/metadata.js'
import type { HttpCall, Reply } from '../http/endpoint.js'
import type { FirstEventTimers } from '../http/event-stream.js'
import { JSON_TYPE } from '../http/reply.js'
import { callingClient, INFERENCE_HEADERS, SIMULATE_HEADER, TRACE_HEADER } from './call-headers.js'
import { generationHeaders, requestedMetadata } from './generation-told.js'
import { type StreamEncoder, StreamReply } from './stream-reply.js'

// ── The operations, and what their answers share ─────────────────────────────

/** What the inference operations need of the worker. */
export interface InferencePorts {
  readonly gateway: Gateway
  readonly firstEventTimers: FirstEventTimers
  /** Most bytes of a request body. */
  readonly bodyLimit: number
  /** Total time of a call in milliseconds. */
  readonly deadlineMs: number
}

/** What operations need that may have tools and plugins run. */
export interface LoopingPorts extends InferencePorts {
  readonly loops: Loops
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

/** Plans the inference that a call asks for, as `Gateway.prepare` does. Throws when no endpoint can serve it. */
export function prepareGeneration<R extends RoutedRequest, E, A>(
  gateway: Gateway,
  format: InferenceFormat<R, E, A>,
  request: R,
  caller: Principal,
  call: HttpCall,
): MaybePromise<Generation<R>> {
  return gateway.prepare(format, inferenceOf(request, caller, call), call)
}

function inferenceOf<R extends RoutedRequest>(request: R, caller: Principal, call: HttpCall): Inference<R> {
  const simulate = call.header(SIMULATE_HEADER)
  const traceparent = call.header(TRACE_HEADER)
  return { request, caller, simulate, traceparent, client: callingClient(call) }
}

/** What an answer has cost, as members of its `usage` (contract/gateway 3.3). */
export function costMembers(cost: CallCost): string {
  const { total, prompt, completion, tools, fees = 0, byok } = cost
  const searches = tools + fees === 0 ? '' : `,"server_tool_cost":${nanosToDollars(tools + fees)}`
  return (
    `"cost":${nanosToDollars(total)},"cost_details":{"upstream_inference_cost":${nanosToDollars(upstreamCost(cost))},` +
    `"upstream_inference_prompt_cost":${nanosToDollars(prompt)},` +
    `"upstream_inference_completions_cost":${nanosToDollars(completion)}${searches}},"is_byok":${byok !== undefined}`
  )
}

// ── An answer in one piece ───────────────────────────────────────────────────

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
  wholeFormat: WholeFormat<R, E, A>,
  request: R,
  caller: Principal,
  call: HttpCall,
): Promise<Reply> {
  const prepared = prepareGeneration(gateway, wholeFormat.format, request, caller, call)
  if (!(prepared instanceof Promise)) return answerWhole(gateway, wholeFormat, prepared, call)
  return prepared.then((generation) => answerWhole(gateway, wholeFormat, generation, call))
}

function answerWhole<R extends RoutedRequest, E, A>(
  gateway: Gateway,
  { format, encode }: WholeFormat<R, E, A>,
  generation: Generation<R>,
  call: HttpCall,
): Promise<Reply> {
  return gateway.complete(format, generation, call, ({ answer, fault }) => {
    if (fault !== null) throw failedWith(fault, generation, call)
    return replyWith(encode(generation, answer, requestedMetadata(generation, call)), generation, call)
  })
}

function failedWith(fault: Fault, generation: Generation<RoutedRequest>, call: HttpCall): Fault {
  return fault.withGeneration({ id: generation.id, serviceMetadata: requestedMetadata(generation, call) })
}

function replyWith(body: string, generation: Generation<RoutedRequest>, call: HttpCall): Reply {
  return { status: 200, headers: [JSON_TYPE, ...generationHeaders(generation, call)], body }
}

// ── An answer as it was asked for ────────────────────────────────────────────

/** A format, and how its answers are written. */
interface ReplyFormat<R extends RoutedRequest, E, A> extends WholeFormat<R, E, A> {
  readonly createEncoder: (generation: Generation<R>) => StreamEncoder<E>
  /** How the gateway runs tools in it. */
  readonly turns: TurnFormat<R, E, A>
}

/**
 * Answers as the request asks, in a stream or whole. A stream begins with its first event, or when the silence has
 * lasted so long that a proxy might cut it; the reply rejects when the inference fails before. Throws when the plan
 * is impossible.
 */
export function inferenceReply<R extends RoutedRequest, E, A>(
  ports: LoopingPorts,
  replyFormat: ReplyFormat<R, E, A>,
  asked: R,
  caller: Principal,
  call: HttpCall,
): Promise<Reply> {
  const { turns } = replyFormat

  const forged: string[] = []
  const request = ports.loops.admit(turns.resume(asked, caller, ports.loops.seal, forged), caller)
  if (request.tooling === undefined) return ordinaryReply(ports, replyFormat, request, caller, call, forged)
  return loopReply(ports, turns, replyFormat, request, caller, call, forged)
}

function ordinaryReply<R extends RoutedRequest, E, A>(
  ports: InferencePorts,
  replyFormat: ReplyFormat<R, E, A>,
  request: R,
  caller: Principal,
  call: HttpCall,
  forged: readonly string[],
): Promise<Reply> {
  const prepared = prepareGeneration(ports.gateway, replyFormat.format, request, caller, call)
  if (!(prepared instanceof Promise)) return preparedReply(ports, replyFormat, prepared, call, forged)
  return prepared.then((generation) => preparedReply(ports, replyFormat, generation, call, forged))
}

function preparedReply<R extends RoutedRequest, E, A>(
  { gateway, firstEventTimers }: InferencePorts,
  replyFormat: ReplyFormat<R, E, A>,
  generation: Generation<R>,
  call: HttpCall,
  forged: readonly string[],
): Promise<Reply> {
  const { format, createEncoder } = replyFormat
  if (forged.length > 0) generation.forgedMembers = forged
  if (generation.request.stream !== true) return answerWhole(gateway, replyFormat, generation, call)
  return new Promise((resolve, reject) => {
    const encoder = createEncoder(generation)
    const reply = new StreamReply(generation, encoder, call, firstEventTimers, resolve, reject)
    reply.begin(gateway.stream(format, generation, reply))
  })
}

// ── An answer with tools and plugins of the gateway ───────────────────────────

/** The same for a request that has something for the gateway to run (contract/tools 1). */
async function loopReply<R extends RoutedRequest, E, A>(
  ports: LoopingPorts,
  turns: TurnFormat<R, E, A>,
  replyFormat: ReplyFormat<R, E, A>,
  request: R,
  caller: Principal,
  call: HttpCall,
  forged: readonly string[],
): Promise<Reply> {
  const { createEncoder } = replyFormat
  const loop = await ports.loops.prepare(turns, inferenceOf(request, caller, call), call)
  if (!isLoop(loop)) return ordinaryReply(ports, replyFormat, loop, caller, call, forged)
  const { root } = loop
  if (forged.length > 0) root.forgedMembers = forged
  if (request.stream !== true) return wholeLoopReply(loop, replyFormat, call)
  return new Promise((resolve, reject) => {
    const reply = new StreamReply(root, createEncoder(root), call, ports.firstEventTimers, resolve, reject)
    reply.begin(loop.run('stream', reply))
  })
}

/**
 * The first turn of a request as it stands before plugins have worked on it: with the functions of tools, and with what
 * comes back of them told as calls and results. Rejects with what would refuse the request.
 */
export async function prepareFirstTurn<R extends RoutedRequest, E, A>(
  { gateway, loops }: LoopingPorts,
  turns: TurnFormat<R, E, A>,
  asked: R,
  caller: Principal,
  call: HttpCall,
): Promise<Generation<R>> {
  const request = loops.admit(turns.resume(asked, caller, loops.seal, []), caller)
  if (request.tooling === undefined) return prepareGeneration(gateway, turns.format, request, caller, call)
  const loop = await loops.prepare(turns, inferenceOf(request, caller, call), call)
  if (!isLoop(loop)) return prepareGeneration(gateway, turns.format, loop, caller, call)
  await loop.close()
  return loop.root
}

function isLoop<R extends RoutedRequest, E, A>(
  loop: PreparedLoop<R, E, A> | R,
): loop is PreparedLoop<R, E, A> {
  return 'root' in loop
}

function wholeLoopReply<R extends RoutedRequest, E, A>(
  { root, run }: PreparedLoop<R, E, A>,
  { encode }: WholeFormat<R, E, A>,
  call: HttpCall,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const handle = run('whole', {
      onEvent: () => {},
      onFlush: () => {},
      onEnd: (_, answer) =>
        resolve(replyWith(encode(root, answer!, requestedMetadata(root, call)), root, call)),
      onFailure: (fault) => reject(failedWith(fault, root, call)),
    })
    call.onAbort(() => handle.cancel())
  })
}
