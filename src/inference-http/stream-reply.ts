/** One streamed answer: holds the reply until it is known what it begins with, then feeds the event stream. */
import { Fault } from '../base/fault.js'
import type { RoutedRequest } from '../gateway/formats/canonical.js'
import type { Gateway, Inference, StartedStream, StreamListener } from '../gateway/gateway.js'
import type { InferenceFormat } from '../gateway/metering/format.js'
import type { Generation } from '../gateway/run/generation.js'
import { type ServiceMetadata, serviceMetadata } from '../gateway/run/metadata.js'
import type { HttpCall, Reply } from '../http/endpoint.js'
import { EVENT_STREAM_HEADERS, EventStreamBody } from '../http/event-stream-body.js'
import { FirstEventTimer, type FirstEventTimers } from '../http/first-event-timers.js'
import { generationHeaders } from './generation-headers.js'
import { wantsKeepAlive, wantsMetadata } from './inference-headers.js'
import { attachGeneration } from './with-generation.js'

/** Writes the events of one stream as text, in the order in which they come. */
export interface StreamEncoder<E> {
  /** First event of a stream that echoes the upstream body, where the format has one (contract/gateway 4.5). */
  echo?(body: unknown): string
  /** `''` when it says nothing the caller may hear yet. */
  event(event: E): string
  /** The last events of a complete answer. */
  end(serviceTier: string | null, metadata: ServiceMetadata | null): string
  /** The events that tell a failure and end the stream: without an end clients wait. */
  failure(fault: Fault, metadata: ServiceMetadata | null): string
  /** What breaks a silence from the first event on; absent means the comment that does so before. */
  readonly heartbeat?: string
}

/** A format, and how its streams are written. */
interface StreamedFormat<R extends RoutedRequest, E, A> {
  readonly format: InferenceFormat<R, E, A>
  readonly encoder: (generation: Generation<R>) => StreamEncoder<E>
}

export interface StreamPorts {
  readonly gateway: Gateway
  readonly openings: FirstEventTimers
}

/**
 * Starts the inference. The reply comes with the first event, or when the silence has lasted so long that a proxy
 * might cut it; it rejects when the inference fails before. Throws when the plan is impossible.
 */
export function streamReply<R extends RoutedRequest, E, A>(
  { gateway, openings }: StreamPorts,
  streamed: StreamedFormat<R, E, A>,
  inference: Inference<R>,
  call: HttpCall,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const header = (name: string): string => call.header(name)
    const wishes = { metadata: wantsMetadata(header), keepAlive: wantsKeepAlive(header) }
    new StreamReply(streamed, wishes, openings, resolve, reject).begin(gateway, inference, call)
  })
}

interface StreamOptions {
  /** Routing metadata on the last event, or on the error. */
  readonly metadata: boolean
  /** Something breaks a silence. */
  readonly keepAlive: boolean
}

class StreamReply<R extends RoutedRequest, E, A> implements StreamListener<R, E> {
  readonly #streamed: StreamedFormat<R, E, A>
  readonly #wishes: StreamOptions
  readonly #openings: FirstEventTimers
  readonly #opening = new FirstEventTimer(() => this.#openSilent())
  readonly #resolve: (reply: Reply) => void
  readonly #reject: (fault: Fault) => void
  #call!: HttpCall
  #stream!: EventStreamBody
  #encoder!: StreamEncoder<E>
  #underWay!: StartedStream<R>
  /** The head of the answer is decided. */
  #open = false
  /** The first event has come. */
  #spoke = false
  #echo: unknown

  constructor(
    streamed: StreamedFormat<R, E, A>,
    wishes: StreamOptions,
    openings: FirstEventTimers,
    resolve: (reply: Reply) => void,
    reject: (fault: Fault) => void,
  ) {
    this.#streamed = streamed
    this.#wishes = wishes
    this.#openings = openings
    this.#resolve = resolve
    this.#reject = reject
  }

  begin(gateway: Gateway, inference: Inference<R>, call: HttpCall): void {
    const { format, encoder } = this.#streamed
    this.#call = call
    this.#underWay = gateway.stream(format, inference, call, this)
    const { flow, generation } = this.#underWay
    this.#encoder = encoder(generation)
    this.#stream = new EventStreamBody(
      {
        pause: () => flow.pause(),
        resume: () => flow.resume(),
        cancel: () => this.#leave(),
        closingEvents: () => this.#lastWords(),
      },
      this.#wishes.keepAlive,
    )
    call.onAbort(() => this.#leave())
    if (this.#wishes.keepAlive) this.#openings.start(this.#opening)
  }

  onRequestSent(body: unknown): void {
    this.#echo = body
  }

  onEvent(event: E): void {
    if (!this.#spoke) this.#begun()
    const events = this.#encoder.event(event)
    if (events !== '') this.#stream.push(events)
  }

  onFlush(): void {
    this.#stream.flush()
  }

  onEnd(generation: Generation<R>, serviceTier: string | null): void {
    this.#stream.push(this.#encoder.end(serviceTier, this.#metadata(generation)))
    this.#stream.end()
  }

  onFailure(fault: Fault, generation: Generation<R>): void {
    const metadata = this.#metadata(generation)
    if (!this.#open) {
      this.#openings.clear(this.#opening)
      this.#reject(attachGeneration(fault, generation, metadata))
      return
    }
    this.#stream.push(this.#encoder.failure(fault, metadata))
    this.#stream.end()
  }

  /** The first event has come, and with it the endpoint that serves. */
  #begun(): void {
    this.#spoke = true
    if (!this.#open) {
      this.#openings.clear(this.#opening)
      this.#start()
    }
    const { heartbeat: filler, echo } = this.#encoder
    if (filler !== undefined && this.#wishes.keepAlive) this.#stream.heartbeat = filler
    if (this.#echo !== undefined && echo !== undefined) {
      this.#stream.push(echo.call(this.#encoder, this.#echo))
    }
  }

  #openSilent(): void {
    if (this.#open) return
    this.#stream.push(this.#stream.heartbeat)
    this.#start()
  }

  #start(): void {
    this.#open = true
    this.#resolve({
      status: 200,
      headers: [...EVENT_STREAM_HEADERS, ...generationHeaders(this.#underWay.generation, this.#call)],
      body: this.#stream,
    })
  }

  #leave(): void {
    this.#openings.clear(this.#opening)
    this.#underWay.flow.cancel()
  }

  /** The server is being stopped. The total time of a call is the gateway's own business. */
  #lastWords(): string {
    const { generation } = this.#underWay
    generation.failed = true
    return this.#encoder.failure(CUT, this.#metadata(generation))
  }

  #metadata(generation: Generation<R>): ServiceMetadata | null {
    return this.#wishes.metadata ? serviceMetadata(generation, performance.now()) : null
  }
}

const CUT = new Fault('unavailable', { metadata: { error_type: 'server' } })
