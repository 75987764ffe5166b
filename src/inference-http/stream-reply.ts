/** One streamed answer: holds the reply until it is known what it begins with, then feeds the event stream. */
import { Fault } from '../base/fault.js'
import type { Principal } from '../base/principal.js'
import type { RoutedRequest } from '../gateway/formats/canonical.js'
import type { StreamListener } from '../gateway/gateway.js'
import { CallAdapter } from '../gateway/providers/port/stream-adapter.js'
import type { Generation } from '../gateway/run/generation.js'
import type { ServiceMetadata } from '../gateway/run/metadata.js'
import type { HttpCall, Reply } from '../http/endpoint.js'
import { EVENT_STREAM_HEADERS, EventStreamBody } from '../http/event-stream-body.js'
import { FirstEventTimer, type FirstEventTimers } from '../http/first-event-timers.js'
import { wantsKeepAlive } from './inference-headers.js'
import {
  attachGeneration,
  generationHeaders,
  type InferencePorts,
  prepareGeneration,
  requestedMetadata,
  type WholeFormat,
  wholeReply,
} from './inference-reply.js'

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
    reply.attach(gateway.stream(format, generation, reply))
    call.onAbort(() => reply.cancel())
    reply.startTimer()
  })
}

class StreamReply<R extends RoutedRequest, E> extends CallAdapter implements StreamListener<R, E> {
  readonly #generation: Generation<R>
  readonly #encoder: StreamEncoder<E>
  readonly #call: HttpCall
  readonly #keepAlive: boolean
  readonly #stream: EventStreamBody
  readonly #timers: FirstEventTimers
  readonly #timer = new FirstEventTimer(() => this.#openSilent())
  readonly #resolve: (reply: Reply) => void
  readonly #reject: (fault: Fault) => void
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
    super()
    this.#generation = generation
    this.#encoder = encoder
    this.#call = call
    this.#keepAlive = wantsKeepAlive(call)
    this.#stream = new EventStreamBody(this, this.#keepAlive)
    this.#timers = timers
    this.#resolve = resolve
    this.#reject = reject
  }

  startTimer(): void {
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
      this.#reject(attachGeneration(fault, this.#generation, metadata))
      return
    }
    this.#stream.push(this.#encoder.failure(fault, metadata))
    this.#stream.end()
  }

  /** The first event has come, and with it the endpoint that serves. */
  #start(): void {
    this.#started = true
    if (!this.#opened) {
      this.#timers.clear(this.#timer)
      this.#open()
    }
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
  override cancel(): void {
    this.#timers.clear(this.#timer)
    super.cancel()
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
