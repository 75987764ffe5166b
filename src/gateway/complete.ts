/**
 * Plan, attempts in order, meter: one inference from the checked request to the last event. Knows no wire format.
 *
 * Exactly one layer retries, and it is this one. Another endpoint is tried only as long as nothing of an answer
 * has been handed to the caller, and only where trying again cannot make a provider bill twice.
 */
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { generationId } from '../base/ids.js'
import type { Principal } from '../base/principal.js'
import type { ChatRequest, Completion, InferenceEvent, Usage } from './canonical.js'
import type { Catalog, ModelEndpoint } from './catalog.js'
import { endUserOf } from './end-user.js'
import { type CountTokens, estimateUsage, Said, saidIn } from './estimate.js'
import { Generation } from './generation.js'
import { planFor } from './plan.js'
import { costOf } from './price.js'
import type {
  CompletionReceiver,
  Flow,
  ProviderCall,
  ProviderFailure,
  StreamReceiver,
} from './providers/provider.js'

/** What a caller asks for. */
export interface Inference {
  readonly request: ChatRequest
  readonly caller: Principal
  /** Text of the header that asks the simulated provider for a fault; `''` when absent. */
  readonly simulate: string
}

/** How long somebody waits for the answer; a `Call` is one. */
export interface Lifetime {
  readonly arrivedAt: number
  whenGone(leave: () => void): void
}

/** How an inference ended. `aborted`: the caller left before the end. */
export type Outcome =
  | { readonly kind: 'completed' }
  | { readonly kind: 'failed'; readonly fault: Fault }
  | { readonly kind: 'aborted' }

export interface GatewayPorts {
  /** The catalogue of this moment. */
  readonly catalog: () => Catalog
  readonly countTokens: CountTokens
  readonly clock: Clock
  /** Total time of an inference in milliseconds. */
  readonly deadlineMs: number
  /** Told once per inference, when it is over and its consumption is known. */
  readonly record: (generation: Generation, outcome: Outcome) => void
}

/** A whole answer, or why there is none. */
export type Answer =
  | { readonly generation: Generation; readonly completion: Completion; readonly fault: null }
  | { readonly generation: Generation; readonly completion: null; readonly fault: Fault }

/** Takes a streamed answer. Nothing comes after `ended` or `failed`, nor after `Flow.cancel`. */
export interface StreamListener {
  /** The body the serving provider was sent; only where the request asks for it, and before the first event. */
  echo(body: unknown): void
  event(event: InferenceEvent & { readonly type: 'delta' | 'finish' }): void
  /** What arrived in one turn is complete. */
  flush(): void
  /** The answer is complete and its consumption known. */
  ended(generation: Generation, serviceTier: string | null): void
  /** No (further) answer. Whether events came before decides how it is told. */
  failed(fault: Fault, generation: Generation): void
}

export interface StreamUnderWay {
  readonly generation: Generation
  readonly flow: Flow
}

export class Gateway {
  readonly #ports: GatewayPorts

  constructor(ports: GatewayPorts) {
    this.#ports = ports
  }

  /**
   * A whole answer, or the fault of the last attempt. Throws when the plan is impossible. When the caller leaves,
   * the upstream call ends and the promise stays as it is: nobody waits for it.
   */
  complete(inference: Inference, lifetime: Lifetime): Promise<Answer> {
    const generation = this.#begin(inference, lifetime)
    return new Promise((resolve) => {
      const run = new CompletionRun(generation, inference.simulate, this.#ports, resolve)
      lifetime.whenGone(() => run.leave())
      run.attempt()
    })
  }

  /** Begins a streamed answer. Throws when the plan is impossible; the listener is first called in a later turn. */
  stream(inference: Inference, lifetime: Lifetime, listener: StreamListener): StreamUnderWay {
    const generation = this.#begin(inference, lifetime)
    const run = new StreamRun(generation, inference.simulate, this.#ports, listener)
    run.attempt()
    return { generation, flow: run }
  }

  #begin({ request, caller }: Inference, { arrivedAt }: Lifetime): Generation {
    const plan = planFor(this.#ports.catalog(), request)
    const now = Math.floor(this.#ports.clock.unixSeconds() * 1000)
    return new Generation(generationId(now), request, caller, plan, now, arrivedAt)
  }
}

/** What both kinds of answers share: the attempts in order, and the end that comes once. */
abstract class Run {
  readonly generation: Generation
  protected readonly ports: GatewayPorts
  readonly #simulate: string
  #next = 0
  protected endpoint: ModelEndpoint
  protected over = false
  flow: Flow | null = null

  constructor(generation: Generation, simulate: string, ports: GatewayPorts) {
    this.generation = generation
    this.ports = ports
    this.#simulate = simulate
    this.endpoint = generation.plan.endpoints[0]!
  }

  attempt(): void {
    if (this.over) return
    this.endpoint = this.generation.plan.endpoints[this.#next++]!
    try {
      this.flow = this.send(this.#call(this.endpoint))
    } catch (cause) {
      // A defect of ours must not leave the caller waiting for the deadline.
      const fault = new Fault('internal', { cause })
      setImmediate(() => this.failed({ fault, class: 'maybe-processed', status: 0 }))
    }
  }

  abstract failed(failure: ProviderFailure): void

  protected abstract send(call: ProviderCall): Flow

  #call(endpoint: ModelEndpoint): ProviderCall {
    const { request, caller, id, startedAt } = this.generation
    return {
      request,
      endpoint,
      generationId: id,
      endUser: endUserOf(caller, request.user),
      simulate: this.#simulate,
      deadlineAt: startedAt + this.ports.deadlineMs,
    }
  }

  /** True when another endpoint is being tried instead. */
  protected triesAnother(failure: ProviderFailure): boolean {
    const { attempts, plan } = this.generation
    attempts.push({ endpoint: this.endpoint, status: failure.status })
    this.flow = null
    if (this.#next >= plan.endpoints.length || !mayTryAgain(failure)) return false
    this.attempt()
    return true
  }

  /** Ends the attempt under way, which counts as one although it has no status. */
  protected leaves(): void {
    const { attempts, served } = this.generation
    if (this.flow !== null && served === null) attempts.push({ endpoint: this.endpoint, status: 0 })
    this.flow?.cancel()
  }

  protected serve(): void {
    const { generation } = this
    generation.served = this.endpoint
    generation.attempts.push({ endpoint: this.endpoint, status: 200 })
  }

  protected consumed(usage: Usage, estimated: boolean): void {
    const cost = costOf(usage, this.endpoint.prices)
    this.generation.consumption = { usage, cost, estimated }
  }
}

/** Faults of the request itself: every other endpoint would say the same, and a refusal is not routed around. */
const OF_THE_CALLER: ReadonlySet<string> = new Set([
  'bad-request',
  'invalid-input',
  'payload-too-large',
  'unprocessable',
])

/** Only what never arrived, or was turned away, is safe to send again: the rest may have been billed. */
function mayTryAgain({ class: kind, fault }: ProviderFailure): boolean {
  if (kind === 'maybe-processed') return false
  return !OF_THE_CALLER.has(fault.kind)
}

class CompletionRun extends Run implements CompletionReceiver {
  readonly #resolve: (answer: Answer) => void

  constructor(
    generation: Generation,
    simulate: string,
    ports: GatewayPorts,
    resolve: (answer: Answer) => void,
  ) {
    super(generation, simulate, ports)
    this.#resolve = resolve
  }

  protected send(call: ProviderCall): Flow {
    return this.endpoint.provider.provider.complete(call, this)
  }

  ended(completion: Completion): void {
    if (this.over) return
    this.serve()
    if (completion.usage !== null) {
      this.consumed(completion.usage, false)
      this.#finish(completion)
      return
    }
    void estimateUsage(this.generation.request, saidIn(completion), this.ports.countTokens).then((usage) => {
      this.consumed(usage, true)
      this.#finish(completion)
    })
  }

  #finish(completion: Completion): void {
    if (this.over) return
    this.over = true
    this.ports.record(this.generation, { kind: 'completed' })
    this.#resolve({ generation: this.generation, completion, fault: null })
  }

  override failed(failure: ProviderFailure): void {
    if (this.over || this.triesAnother(failure)) return
    this.over = true
    this.ports.record(this.generation, { kind: 'failed', fault: failure.fault })
    this.#resolve({ generation: this.generation, completion: null, fault: failure.fault })
  }

  /** The caller has gone: the upstream call ends in the same turn. An answer that is being counted is counted on. */
  leave(): void {
    if (this.over || this.generation.served !== null) return
    this.over = true
    this.leaves()
    this.ports.record(this.generation, { kind: 'aborted' })
  }
}

class StreamRun extends Run implements StreamReceiver, Flow {
  readonly #listener: StreamListener
  #usage: Usage | null = null
  #tier: string | null = null
  readonly #said = new Said()
  #paused = false

  constructor(generation: Generation, simulate: string, ports: GatewayPorts, listener: StreamListener) {
    super(generation, simulate, ports)
    this.#listener = listener
  }

  protected send(call: ProviderCall): Flow {
    return this.endpoint.provider.provider.stream(call, this)
  }

  sent(body: unknown): void {
    if (!this.over) this.#listener.echo(body)
  }

  event(event: InferenceEvent): void {
    if (this.over) return
    if (event.type === 'usage') this.#usage = event.usage
    else if (event.type === 'tier') this.#tier = event.serviceTier
    else {
      if (this.generation.served === null) this.#first()
      if (event.type === 'delta') this.#hear(event)
      this.#listener.event(event)
    }
  }

  #first(): void {
    this.serve()
    this.generation.firstEventAt = performance.now()
  }

  /** Kept for the case that the provider sends no figures, or that the caller leaves before they come. */
  #hear({ delta }: InferenceEvent & { readonly type: 'delta' }): void {
    const said = this.#said
    if (delta.content !== undefined) said.content.add(delta.content)
    if (delta.refusal !== undefined) said.content.add(delta.refusal)
    if (delta.reasoning !== undefined) said.reasoning.add(delta.reasoning)
    for (const { function: called } of delta.tool_calls ?? []) {
      said.content.add((called.name ?? '') + (called.arguments ?? ''))
    }
  }

  flush(): void {
    if (!this.over) this.#listener.flush()
  }

  ended(): void {
    if (this.over) return
    if (this.generation.served === null) {
      this.failed(saidNothing(this.endpoint))
      return
    }
    if (this.#usage !== null) {
      this.consumed(this.#usage, false)
      this.#finish()
      return
    }
    void this.#estimate().then(() => this.#finish())
  }

  async #estimate(): Promise<void> {
    this.consumed(await estimateUsage(this.generation.request, this.#said, this.ports.countTokens), true)
  }

  #finish(): void {
    if (this.over) return
    this.over = true
    this.ports.record(this.generation, { kind: 'completed' })
    this.#listener.ended(this.generation, this.#tier)
  }

  override failed(failure: ProviderFailure): void {
    if (this.over) return
    const begun = this.generation.served !== null
    if (!begun) {
      // What a failed attempt told about itself belongs to nobody.
      this.#usage = null
      this.#tier = null
      if (this.triesAnother(failure)) {
        if (this.#paused) this.flow?.pause()
        return
      }
    } else this.generation.broken(failure.status)
    this.over = true
    void this.#settle({ kind: 'failed', fault: failure.fault })
    this.#listener.failed(failure.fault, this.generation)
  }

  pause(): void {
    this.#paused = true
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
    void this.#settle({ kind: 'aborted' })
  }

  /** What was generated before the end is consumed, whoever heard it. */
  async #settle(outcome: Outcome): Promise<void> {
    if (this.generation.served !== null) {
      if (this.#usage !== null) this.consumed(this.#usage, false)
      else await this.#estimate()
    }
    this.ports.record(this.generation, outcome)
  }
}

/** A provider that ends properly without a single event has answered nothing. */
function saidNothing(endpoint: ModelEndpoint): ProviderFailure {
  const metadata = { error_type: 'provider_unavailable', provider_name: endpoint.provider.name } as const
  return {
    fault: new Fault('provider-failed', { metadata, detail: 'the stream ended without an event' }),
    class: 'maybe-processed',
    status: 200,
  }
}
