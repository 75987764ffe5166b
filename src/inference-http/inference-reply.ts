/** What the operations of inference have in common: how they are declared, begun and answered, whole or in a stream. */
import { Fault, type FaultKind } from '../base/fault.js'
import { nanosToDollars } from '../base/money.js'
import type { Principal } from '../base/principal.js'
import type { RoutedRequest } from '../gateway/formats/canonical.js'
import type { Gateway, StreamListener } from '../gateway/gateway.js'
import type { InferenceFormat } from '../gateway/metering/format.js'
import type { CallCost } from '../gateway/pricing/price.js'
import type { CallHandle } from '../gateway/providers/port/provider.js'
import type { Generation } from '../gateway/run/generation.js'
import { type ServiceMetadata, serviceMetadata } from '../gateway/run/metadata.js'
import { serverTiming } from '../gateway/run/server-timing.js'
import type { HttpCall, Reply } from '../http/endpoint.js'
import {
  EVENT_STREAM_HEADERS,
  EventStreamBody,
  FirstEventTimer,
  type FirstEventTimers,
} from '../http/event-stream.js'
import { JSON_TYPE } from '../http/reply.js'
import {
  callingClient,
  INFERENCE_HEADERS,
  KEEP_ALIVE_HEADER,
  SIMULATE_HEADER,
  TIMING_HEADER,
  TRACE_HEADER,
  wantsMetadata,
} from './call-headers.js'

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
  const traceparent = call.header(TRACE_HEADER)
  const inference = { request, caller, simulate, traceparent, client: callingClient(call) }
  return gateway.prepare(format, inference, call)
}

/** Headers of every answer of an inference: which one it is and, for callers who ask, where its time went. */
export function generationHeaders(
  generation: Generation<RoutedRequest>,
  call: HttpCall,
): readonly (readonly [string, string])[] {
  const id = ['X-Generation-Id', generation.id] as const
  if (call.header(TIMING_HEADER).toLowerCase() !== 'enabled') return [id]
  return [id, ['Server-Timing', serverTiming(generation, performance.now())]]
}

/** The routing metadata, for callers who ask for it. */
export function requestedMetadata(
  generation: Generation<RoutedRequest>,
  call: HttpCall,
): ServiceMetadata | null {
  return wantsMetadata(call) ? serviceMetadata(generation, performance.now()) : null
}

/** The routing metadata as the last member of a JSON object, after a comma; `''` where the caller does not ask for it. */
export function metadataMember(metadata: ServiceMetadata | null): string {
  return metadata === null ? '' : `,"service_metadata":${JSON.stringify(metadata)}`
}

/** What an answer has cost, as members of its `usage` (contract/gateway 3.3). */
export function costMembers({ total, prompt, completion, tools, fees = 0 }: CallCost): string {
  const searches = tools + fees === 0 ? '' : `,"server_tool_cost":${nanosToDollars(tools + fees)}`
  return (
    `"cost":${nanosToDollars(total)},"cost_details":{"upstream_inference_cost":${nanosToDollars(total - fees)},` +
    `"upstream_inference_prompt_cost":${nanosToDollars(prompt)},` +
    `"upstream_inference_completions_cost":${nanosToDollars(completion)}${searches}},"is_byok":false`
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
  { format, encode }: WholeFormat<R, E, A>,
  request: R,
  caller: Principal,
  call: HttpCall,
): Promise<Reply> {
  const generation = prepareGeneration(gateway, format, request, caller, call)
  return gateway.complete(format, generation, call).then(({ answer, fault }) => {
    const metadata = requestedMetadata(generation, call)
    if (fault !== null) throw fault.withGeneration({ id: generation.id, serviceMetadata: metadata })
    const body = encode(generation, answer, metadata)
    return { status: 200, headers: [JSON_TYPE, ...generationHeaders(generation, call)], body }
  })
}

// ── A streamed answer ────────────────────────────────────────────────────────

/** Writes the events of one stream as text, in the order in which they come. */
export interface StreamEncoder<E> {
  /** First event of a stream that echoes the upstream body, where the format has one (contract/gateway 4.5). */
  echo?(body: unknown): string
  /** `''` when it says nothing the caller may hear yet. */
  event(event: E): string
  /** The last events of a complete answer. */
  end(metadata: ServiceMetadata | null): string
  /** The events that tell a failure and end the stream: without an end clients wait. */
  failure(fault: Fault, metadata: ServiceMetadata | null): string
  /** What breaks a silence from the first event on; absent means the comment that does so before. */
  readonly heartbeat?: string
}

/** A format, and how its answers are written. */
interface ReplyFormat<R extends RoutedRequest, E, A> extends WholeFormat<R, E, A> {
  readonly createEncoder: (generation: Generation<R>) => StreamEncoder<E>
}

/**
 * Answers as the request asks, in a stream or whole. A stream begins with its first event, or when the silence has
 * lasted so long that a proxy might cut it; the reply rejects when the inference fails before. Throws when the plan
 * is impossible.
 */
export function inferenceReply<R extends RoutedRequest, E, A>(
  { gateway, firstEventTimers }: InferencePorts,
  replyFormat: ReplyFormat<R, E, A>,
  request: R,
  caller: Principal,
  call: HttpCall,
): Promise<Reply> {
  if (request.stream !== true) return wholeReply(gateway, replyFormat, request, caller, call)
  const { format, createEncoder } = replyFormat
  const generation = prepareGeneration(gateway, format, request, caller, call)
  return new Promise((resolve, reject) => {
    const encoder = createEncoder(generation)
    const reply = new StreamReply(generation, encoder, call, firstEventTimers, resolve, reject)
    reply.begin(gateway.stream(format, generation, reply))
  })
}

/** Holds the reply until it is known what it begins with, then feeds the event stream. */
class StreamReply<R extends RoutedRequest, E> implements StreamListener<R, E> {
  readonly #generation: Generation<R>
  readonly #encoder: StreamEncoder<E>
  readonly #call: HttpCall
  readonly #keepAlive: boolean
  readonly #stream: EventStreamBody
  readonly #timers: FirstEventTimers
  readonly #timer = new FirstEventTimer(() => this.#openSilent())
  readonly #resolve: (reply: Reply) => void
  readonly #reject: (fault: Fault) => void
  #answer: CallHandle | null = null
  /** The head of the answer is decided. */
  #opened = false
  /** The first event has come. */
  #started = false
  #echo: unknown

  constructor(
    generation: Generation<R>,
    encoder: StreamEncoder<E>,
    call: HttpCall,
    timers: FirstEventTimers,
    resolve: (reply: Reply) => void,
    reject: (fault: Fault) => void,
  ) {
    this.#generation = generation
    this.#encoder = encoder
    this.#call = call
    this.#keepAlive = call.header(KEEP_ALIVE_HEADER).toLowerCase() !== 'disabled'
    this.#stream = new EventStreamBody(this, this.#keepAlive)
    this.#timers = timers
    this.#resolve = resolve
    this.#reject = reject
  }

  /** The events of `answer` come here from a later turn on. */
  begin(answer: CallHandle): void {
    this.#answer = answer
    this.#call.onAbort(() => this.cancel())
    if (this.#keepAlive) this.#timers.start(this.#timer)
  }

  onRequestSent(body: unknown): void {
    this.#echo = body
  }

  onEvent(event: E): void {
    if (!this.#started) this.#start()
    const events = this.#encoder.event(event)
    if (events !== '') this.#stream.push(events)
  }

  onFlush(): void {
    this.#stream.flush()
  }

  onEnd(): void {
    this.#stream.push(this.#encoder.end(this.#metadata()))
    this.#stream.end()
  }

  onFailure(fault: Fault): void {
    const metadata = this.#metadata()
    if (!this.#opened) {
      this.#timers.clear(this.#timer)
      this.#reject(fault.withGeneration({ id: this.#generation.id, serviceMetadata: metadata }))
      return
    }
    this.#stream.push(this.#encoder.failure(fault, metadata))
    this.#stream.end()
  }

  /** The first event has come, and with it the endpoint that serves. */
  #start(): void {
    this.#started = true
    this.#timers.clear(this.#timer)
    if (!this.#opened) this.#open()
    const encoder = this.#encoder
    if (encoder.heartbeat !== undefined && this.#keepAlive) this.#stream.heartbeat = encoder.heartbeat
    if (this.#echo !== undefined && encoder.echo !== undefined) this.#stream.push(encoder.echo(this.#echo))
  }

  #openSilent(): void {
    if (this.#opened) return
    this.#stream.push(this.#stream.heartbeat)
    this.#open()
  }

  #open(): void {
    this.#opened = true
    const headers = [...EVENT_STREAM_HEADERS, ...generationHeaders(this.#generation, this.#call)]
    this.#resolve({ status: 200, headers, body: this.#stream })
  }

  /** The caller has gone. */
  cancel(): void {
    this.#timers.clear(this.#timer)
    this.#answer?.cancel()
  }

  pause(): void {
    this.#answer?.pause()
  }

  resume(): void {
    this.#answer?.resume()
  }

  /** The server is being stopped. The total time of a call is the gateway's own business. */
  closingEvents(): string {
    this.#generation.failed = true
    return this.#encoder.failure(SHUTTING_DOWN, this.#metadata())
  }

  #metadata(): ServiceMetadata | null {
    return requestedMetadata(this.#generation, this.#call)
  }
}

const SHUTTING_DOWN = new Fault('unavailable', { metadata: { error_type: 'server' } })
