/** The reply to a streamed inference: when it begins, and how its events reach the caller. */
import { Fault } from '../base/fault.js'
import { nanosToDollars } from '../base/money.js'
import type { RoutedRequest } from '../gateway/formats/canonical.js'
import type { LoopListener, ToolProgress } from '../gateway/loop/ports.js'
import type { CallHandle } from '../gateway/providers/port/provider.js'
import type { Generation } from '../gateway/run/generation.js'
import type { ServiceMetadata } from '../gateway/run/metadata.js'
import type { HttpCall, Reply } from '../http/endpoint.js'
import {
  EVENT_STREAM_HEADERS,
  EventStreamBody,
  FirstEventTimer,
  type FirstEventTimers,
} from '../http/event-stream.js'
import { KEEP_ALIVE_HEADER, TOOL_EVENTS_HEADER } from './call-headers.js'
import { generationHeaders, requestedMetadata } from './generation-told.js'

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
  /** What tells of a server tool on its way, for callers who ask for such events; absent where the format shows its calls. */
  toolEvent?(progress: ToolProgress): string
  /** What breaks a silence from the first event on; absent means the comment that does so before. */
  readonly heartbeat?: string
}

/** What is told of a server tool on its way (contract/tools 1.5). */
export function progressMembers({ state, name, callId, arguments: given, cost }: ToolProgress): object {
  return {
    ...{ state, name, tool_call_id: callId },
    ...(given !== undefined && { arguments: given }),
    ...(cost !== undefined && { cost: nanosToDollars(cost) }),
  }
}

/** Holds the reply until it is known what it begins with, then feeds the event stream. */
export class StreamReply<R extends RoutedRequest, E> implements LoopListener<R, E, unknown> {
  readonly #generation: Generation<R>
  readonly #encoder: StreamEncoder<E>
  readonly #call: HttpCall
  readonly #keepAlive: boolean
  readonly #toolEvents: boolean
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
    this.#toolEvents = call.header(TOOL_EVENTS_HEADER).toLowerCase() === 'enabled'
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

  /** A tool may take long: the stream begins with it, and says what is being done (contract/tools 1.5). */
  onToolProgress(progress: ToolProgress): void {
    const { state, name, step, most } = progress
    const isBegun = this.#keepAlive && state === 'started'
    // Clients of a format with a heartbeat of its own may count on it alone.
    const alive = isBegun && this.#started ? (this.#encoder.heartbeat ?? '') : ''
    const comment = isBegun ? `: service tool ${name} ${step}/${most}\n\n${alive}` : ''
    const told = comment + (this.#toolEvents ? (this.#encoder.toolEvent?.(progress) ?? '') : '')
    if (told === '') return
    this.#timers.clear(this.#timer)
    this.#stream.push(told)
    if (!this.#opened) this.#open()
    this.#stream.flush()
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
