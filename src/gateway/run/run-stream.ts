/** One inference whose answer is streamed. */
import { Fault } from '../../base/fault.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { RoutedRequest } from '../formats/canonical.js'
import type { InferenceOutcome } from '../formats/outcome.js'
import { OutputSample } from '../metering/estimate.js'
import type { InferenceFormat, StreamTotals } from '../metering/format.js'
import type { CallHandle, ProviderCall, ProviderFailure, StreamReceiver } from '../providers/port/provider.js'
import type { Generation } from './generation.js'
import { InferenceRun, type RunPorts } from './run.js'

/** Takes a streamed answer. Nothing comes after `ended` or `failed`, nor after `Flow.cancel`. */
export interface StreamListener<R extends RoutedRequest, E> {
  /** The body the serving provider was sent; only where the request asks for it, and before the first event. */
  onRequestSent(body: unknown): void
  /** Lifecycle and content, as the format weighs them; the first one is followed by content in the same turn. */
  onEvent(event: E): void
  /** What arrived in one turn is complete. */
  onFlush(): void
  /** The answer is complete and its consumption known. */
  onEnd(generation: Generation<R>, serviceTier: string | null): void
  /** No (further) answer. Whether events came before decides how it is told. */
  onFailure(fault: Fault, generation: Generation<R>): void
}

export class StreamRun<R extends RoutedRequest, E, A>
  extends InferenceRun<R, E, A>
  implements StreamReceiver<E>, CallHandle
{
  readonly #listener: StreamListener<R, E>
  readonly #hearing: StreamTotals = {
    usage: null,
    serviceTier: null,
    finish: null,
    sample: new OutputSample(),
  }
  /** Lifecycle events of an attempt that has no content yet. */
  #held: E[] | null = null
  #paused = false
  /** The caller has kept the provider waiting: how fast it was says nothing. */
  #slowed = false

  constructor(
    format: InferenceFormat<R, E, A>,
    generation: Generation<R>,
    simulate: string,
    ports: RunPorts,
    listener: StreamListener<R, E>,
  ) {
    super(format, generation, simulate, ports)
    this.#listener = listener
  }

  protected send(call: ProviderCall<R>): CallHandle {
    const flow = this.format.apiOf(this.endpoint.provider).stream(call, this)
    if (this.#paused) flow.pause()
    return flow
  }

  onRequestSent(body: unknown): void {
    if (!this.over) this.#listener.onRequestSent(body)
  }

  onEvent(event: E): void {
    if (this.over) return
    const weight = this.format.observe(event, this.#hearing)
    if (weight === 'bookkeeping') return
    if (this.generation.served === null) {
      if (weight === 'lifecycle') {
        this.#held ??= []
        this.#held.push(event)
        return
      }
      this.#first()
    }
    if (!this.over) this.#listener.onEvent(event)
  }

  #first(): void {
    this.serve()
    this.generation.firstEventAt = performance.now()
    const held = this.#held
    if (held === null) return
    this.#held = null
    for (const event of held) if (!this.over) this.#listener.onEvent(event)
  }

  onFlush(): void {
    if (!this.over) this.#listener.onFlush()
  }

  onEnd(): void {
    if (this.over) return
    if (this.generation.served === null) {
      this.onFailure(emptyAnswerFailure(this.endpoint))
      return
    }
    this.stamp()
    const ms = performance.now() - this.generation.firstEventAt
    const { finish, serviceTier } = this.#hearing
    const usage = this.chargeable(this.#hearing.usage)
    this.generation.finish = finish
    this.generation.serviceTier = serviceTier
    if (usage !== null) {
      this.consumed(usage, false)
      this.#finish(ms)
      return
    }
    this.estimate(() => this.#hearing.sample)
      .then(() => this.#finish(ms))
      .catch((error: unknown) => this.defect(error))
  }

  #finish(ms: number): void {
    if (this.over) return
    this.over = true
    this.completed(this.#slowed ? 0 : this.generation.consumption!.usage.completion, ms)
    const waiting = this.settled({ kind: 'completed' })
    if (waiting === null) this.#tellEnd()
    else waiting.then(() => this.#tellEnd()).catch((error: unknown) => this.defect(error))
  }

  #tellEnd(): void {
    this.#listener.onEnd(this.generation, this.#hearing.serviceTier)
  }

  override onFailure(failure: ProviderFailure): void {
    if (this.over) return
    if (this.generation.served !== null) {
      this.breaksOff(failure)
      this.#end(failure.fault)
      return
    }
    // What a failed attempt told about itself belongs to nobody.
    this.#hearing.usage = null
    this.#hearing.serviceTier = null
    this.#hearing.finish = null
    this.#held = null
    if (!this.goesOn(failure)) this.gaveUp(failure)
  }

  protected override gaveUp(failure: ProviderFailure): void {
    if (!this.over) this.#end(failure.fault)
  }

  #end(fault: Fault): void {
    this.over = true
    this.#close({ kind: 'failed', fault })
    this.#listener.onFailure(fault, this.generation)
  }

  protected override refused(fault: Fault): void {
    this.#listener.onFailure(fault, this.generation)
  }

  pause(): void {
    this.#paused = true
    this.#slowed = true
    if (!this.over) this.flow?.pause()
  }

  resume(): void {
    this.#paused = false
    if (!this.over) this.flow?.resume()
  }

  /** The caller has gone: the upstream call ends in the same turn, in every phase. */
  cancel(): void {
    if (this.over) return
    this.over = true
    this.leaves()
    this.#close({ kind: 'aborted' })
  }

  /** What was generated before the end is consumed, whoever heard it; the caller has been told of the end. */
  #close(outcome: InferenceOutcome): void {
    const { sample: said } = this.#hearing
    const usage = this.chargeable(this.#hearing.usage)
    this.left = true
    if (this.generation.served === null) void this.settled(outcome)
    else if (usage !== null) {
      this.consumed(usage, false)
      void this.settled(outcome)
    } else {
      this.estimate(() => said)
        .then(() => this.settled(outcome))
        .catch((error: unknown) => this.defect(error))
    }
  }
}

/** A provider that ends properly without a single event has answered nothing. */
function emptyAnswerFailure(endpoint: ModelEndpoint): ProviderFailure {
  const metadata = { error_type: 'provider_unavailable', provider_name: endpoint.provider.name } as const
  return {
    fault: new Fault('provider-failed', { metadata, detail: 'the stream ended without an event' }),
    class: 'maybe-processed',
    status: 200,
  }
}
