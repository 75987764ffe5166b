/**
 * What all inferences share: the attempts in order, and the end that comes once.
 *
 * Exactly one layer retries, and it is this one. Another endpoint is tried only as long as nothing of an answer
 * has been handed to the caller, and only where trying again cannot make a provider bill twice.
 */
import { Fault } from '../base/fault.js'
import type { RoutedRequest, Usage } from './canonical.js'
import type { ModelEndpoint } from './catalog.js'
import { endUserOf } from './end-user.js'
import type { CountTokens } from './estimate.js'
import type { Format } from './format.js'
import type { Generation } from './generation.js'
import { costOf } from './price.js'
import type { Flow, ProviderCall, ProviderFailure } from './providers/provider.js'

/** How an inference ended. `aborted`: the caller left before the end. */
export type Outcome =
  | { readonly kind: 'completed' }
  | { readonly kind: 'failed'; readonly fault: Fault }
  | { readonly kind: 'aborted' }

export interface RunPorts {
  readonly countTokens: CountTokens
  /** Total time of an inference in milliseconds. */
  readonly deadlineMs: number
  /**
   * Before the first attempt: limits and credit. Null admits at once, and so does a promise that resolves. Throws
   * or rejects with the fault that refuses; then the generation is never settled.
   */
  readonly admit: (generation: Generation<RoutedRequest>) => Promise<void> | null
  /**
   * Once per admitted inference, when it is over and its consumption known. A promise keeps the end of the answer
   * from the caller until it resolves; it never rejects.
   */
  readonly settle: (generation: Generation<RoutedRequest>, outcome: Outcome) => Promise<void> | null
}

export abstract class Run<R extends RoutedRequest, E, A> {
  readonly generation: Generation<R>
  protected readonly format: Format<R, E, A>
  protected readonly ports: RunPorts
  readonly #simulate: string
  #next = 0
  #admitted = false
  protected endpoint: ModelEndpoint
  protected over = false
  protected flow: Flow | null = null

  constructor(format: Format<R, E, A>, generation: Generation<R>, simulate: string, ports: RunPorts) {
    this.format = format
    this.generation = generation
    this.ports = ports
    this.#simulate = simulate
    this.endpoint = generation.plan.endpoints[0]!
  }

  /** Admission, then the first attempt. Throws what refuses at once. */
  begin(): void {
    const waiting = this.ports.admit(this.generation)
    if (waiting === null) this.#admit()
    else
      void waiting.then(
        () => this.#admit(),
        (error: unknown) => this.#refused(error),
      )
  }

  #admit(): void {
    this.#admitted = true
    // Whoever left during the admission has been given a place that must be given back.
    if (this.over) this.ports.settle(this.generation, { kind: 'aborted' })
    else this.#attempt()
  }

  #refused(error: unknown): void {
    if (this.over) return
    this.over = true
    this.refused(error instanceof Fault ? error : new Fault('internal', { cause: error }))
  }

  #attempt(): void {
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

  /** An attempt has failed. */
  abstract failed(failure: ProviderFailure): void
  /** The inference was not admitted; there has been no attempt. */
  protected abstract refused(fault: Fault): void
  protected abstract send(call: ProviderCall<R>): Flow

  #call(endpoint: ModelEndpoint): ProviderCall<R> {
    const { request, caller, id, startedAt, lost } = this.generation
    lost.length = 0
    return {
      request,
      endpoint,
      generationId: id,
      endUser: endUserOf(caller, request.user),
      simulate: this.#simulate,
      deadlineAt: startedAt + this.ports.deadlineMs,
      lost,
    }
  }

  /** True when another endpoint is being tried instead. */
  protected triesAnother(failure: ProviderFailure): boolean {
    const { attempts, plan } = this.generation
    attempts.push({ endpoint: this.endpoint, status: failure.status })
    this.flow = null
    if (this.#next >= plan.endpoints.length || !mayTryAgain(failure)) return false
    this.#attempt()
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

  /** Settles what has been admitted. */
  protected settled(outcome: Outcome): Promise<void> | null {
    return this.#admitted ? this.ports.settle(this.generation, outcome) : null
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
  // What one endpoint's format cannot say, another's may.
  if (kind === 'not-sent') return true
  return kind === 'refused' && !OF_THE_CALLER.has(fault.kind)
}
