/**
 * What all inferences share: admission, the attempts in order, and the end that comes once.
 *
 * Exactly one layer retries, and it is this one. Another attempt is made only as long as nothing of an answer has
 * been handed to the caller, and only where trying again cannot make a provider bill twice.
 */
import type { Clock } from '../../base/clock.js'
import { Fault } from '../../base/fault.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { RoutedRequest, Usage } from '../formats/canonical.js'
import type { InferenceOutcome } from '../formats/outcome.js'
import { type BreakerPermit, type HealthRegistry, REFUSED } from '../health/health-registry.js'
import type { CountTokens, OutputSample } from '../metering/estimate.js'
import type { InferenceFormat } from '../metering/format.js'
import { guessUsage } from '../pricing/guessed-usage.js'
import { costOf, isChargeable } from '../pricing/price.js'
import type { CallHandle, ProviderCall, ProviderFailure } from '../providers/port/provider.js'
import { isContextTooLong, isRetryable, type RetryBudget } from '../routing/retry.js'
import { serviceTierFor } from '../routing/tier.js'
import { endUserPseudonym } from './end-user.js'
import type { Attempt, Generation } from './generation.js'

/** What an inference has taken of limits and credit when it was let in. */
export interface Admission {
  /**
   * Gives back what was not used and writes down what was. A promise keeps the end of the answer from the caller
   * until it resolves; it never rejects.
   */
  settle(generation: Generation<RoutedRequest>, outcome: InferenceOutcome): Promise<void> | null
}

export interface RunPorts {
  readonly clock: Clock
  readonly countTokens: CountTokens
  /** Total time of an inference in milliseconds. */
  readonly deadlineMs: number
  readonly health: HealthRegistry
  readonly retries: RetryBudget
  /**
   * Before the first attempt: limits and credit. Throws or rejects with the fault that refuses; then nothing is held
   * and nothing is settled.
   */
  readonly admit: (generation: Generation<RoutedRequest>) => Admission | Promise<Admission>
  /** Told once per admitted inference, when it is over and its consumption known, before it is settled. */
  readonly observe: (generation: Generation<RoutedRequest>, outcome: InferenceOutcome) => void
  /** Hears of an exception in a step that no caller awaits. The call has been ended; this only tells the log. */
  readonly onDefect: (error: unknown) => void
}

export abstract class InferenceRun<R extends RoutedRequest, E, A> {
  readonly generation: Generation<R>
  protected readonly format: InferenceFormat<R, E, A>
  protected readonly ports: RunPorts
  readonly #simulate: string
  #next = 0
  #retries = 0
  /** Endpoints whose context was too short for the prompt. */
  #outgrown: ModelEndpoint[] | null = null
  /** The place that the attempt under way has taken. */
  #pass: BreakerPermit = REFUSED
  /** From the admission to the settlement. */
  #admission: Admission | null = null
  #waiting: (() => void) | null = null
  protected endpoint: ModelEndpoint
  protected over = false
  /** The caller has gone and may not be told anything any more. */
  protected left = false
  protected flow: CallHandle | null = null

  constructor(
    format: InferenceFormat<R, E, A>,
    generation: Generation<R>,
    simulate: string,
    ports: RunPorts,
  ) {
    this.format = format
    this.generation = generation
    this.ports = ports
    this.#simulate = simulate
    this.endpoint = generation.plan.endpoints[0]!
  }

  /** Admission, then the first attempt. Throws what refuses at once. */
  begin(): void {
    const admission = this.ports.admit(this.generation)
    if (!(admission instanceof Promise)) this.#enter(admission)
    else {
      const entered = admission.then(
        (granted) => this.#enter(granted),
        (error: unknown) => this.#refuse(error),
      )
      entered.catch((error: unknown) => this.defect(error))
    }
  }

  #enter(admission: Admission): void {
    this.#admission = admission
    this.generation.admittedAt = performance.now()
    // Whoever left during the admission has been given a place that must be given back.
    if (this.over) {
      void this.settled({ kind: 'aborted' })
      return
    }
    try {
      this.ports.retries.recordCall()
      if (this.#attempt()) return
      const failure = noHealthyEndpoint(this.generation, this.ports.health)
      setImmediate(() => this.gaveUp(failure))
    } catch (cause) {
      // Whoever began the run takes this for a refusal and will not come back to settle it.
      this.over = true
      void this.settled({ kind: 'failed', fault: new Fault('internal', { cause }) })
      throw cause
    }
  }

  #refuse(error: unknown): void {
    if (this.over) return
    this.over = true
    this.refused(error instanceof Fault ? error : new Fault('internal', { cause: error }))
  }

  /** Sends the call to the next endpoint that takes one; false when none does. */
  #attempt(): boolean {
    const endpoint = this.#choose()
    if (endpoint === null) return false
    this.endpoint = endpoint
    this.generation.attemptedAt = performance.now()
    try {
      this.flow = this.send(this.#call(endpoint))
    } catch (cause) {
      // A defect of ours must not leave the caller waiting for the deadline.
      const fault = new Fault('internal', { cause })
      setImmediate(() => this.onFailure({ fault, class: 'maybe-processed', status: 0 }))
    }
    return true
  }

  #choose(): ModelEndpoint | null {
    const { endpoints } = this.generation.plan
    while (this.#next < endpoints.length) {
      const endpoint = endpoints[this.#next++]!
      if (this.#outgrown?.every((short) => hasLargerContext(endpoint, short)) === false) continue
      this.#pass = this.ports.health.tryAcquire(endpoint)
      if (this.#pass !== REFUSED) return endpoint
    }
    return null
  }

  #call(endpoint: ModelEndpoint): ProviderCall<R> {
    const { request, caller, id, droppedFields: lost } = this.generation
    lost.length = 0
    return {
      request,
      endpoint,
      generationId: id,
      caller,
      endUser: endUserPseudonym(caller, request.user),
      serviceTier: serviceTierFor(request.service_tier, endpoint),
      simulate: this.#simulate,
      deadlineAt: this.#deadlineAt,
      droppedFields: lost,
    }
  }

  get #deadlineAt(): number {
    return this.generation.startedAt + this.ports.deadlineMs
  }

  /** The attempt under way has failed. */
  abstract onFailure(failure: ProviderFailure): void
  /** There will be no further attempt, and nothing has been answered. */
  protected abstract gaveUp(failure: ProviderFailure): void
  /** The inference was not admitted; there has been no attempt. */
  protected abstract refused(fault: Fault): void
  protected abstract send(call: ProviderCall<R>): CallHandle

  /** Takes note of a failed attempt that has answered nothing. True when the call goes on, here or elsewhere. */
  protected goesOn(failure: ProviderFailure): boolean {
    const { endpoint } = this
    this.#note(failure.status, failure.fault.kind)
    this.ports.health.recordFailure(endpoint, this.#pass, failure)
    this.#pass = REFUSED
    this.flow = null
    if (!isRetryable(failure)) return false
    if (isContextTooLong(failure.fault)) this.#outgrown = [...(this.#outgrown ?? []), endpoint]
    return this.#attempt() || this.#attemptsLater(failure)
  }

  /** All endpoints have been tried: from the first on once more, after a pause. */
  #attemptsLater(failure: ProviderFailure): boolean {
    const { retries, clock } = this.ports
    const pause = retries.pauseAfter(failure, this.#retries)
    if (pause === null || performance.now() + pause >= this.#deadlineAt) return false
    this.#retries++
    this.#waiting = clock.runAfter(pause, () => {
      this.#waiting = null
      this.#next = 0
      if (!this.over && !this.#attempt()) this.gaveUp(failure)
    })
    return true
  }

  /** Ends what is under way; an attempt counts as one although it has no status. */
  protected leaves(): void {
    this.left = true
    this.#waiting?.()
    if (this.#pass !== REFUSED) {
      const answering = this.generation.served !== null
      if (answering) this.stamp()
      else this.#note(0, 'aborted')
      this.ports.health.recordAbort(this.endpoint, this.#pass, answering)
      this.#pass = REFUSED
    }
    this.flow?.cancel()
  }

  /** The endpoint under way answers. */
  protected serve(): void {
    const { generation, endpoint } = this
    generation.served = endpoint
    this.#note(200)
    this.ports.health.recordAnswer(endpoint, this.#pass, performance.now() - generation.attemptedAt)
  }

  /** The answer is complete. `tokens` of it came within `ms`; 0 where that says nothing of the endpoint. */
  protected completed(tokens: number, ms: number): void {
    this.ports.health.recordEnd(this.endpoint, this.#pass, tokens, ms)
    this.#pass = REFUSED
  }

  /** The answer breaks off. That our own time for it is up is not its endpoint's fault: it was answering. */
  protected breaksOff(failure: ProviderFailure): void {
    const { health } = this.ports
    const isOurs = failure.fault.kind === 'provider-timeout' && performance.now() >= this.#deadlineAt
    if (isOurs) health.recordAbort(this.endpoint, this.#pass, true)
    else health.recordFailure(this.endpoint, this.#pass, failure)
    this.#pass = REFUSED
    this.stamp()
    this.generation.markBroken(failure.status, failure.fault.kind)
  }

  /** The attempt under way is over, or has begun to answer. */
  #note(status: number, error?: string): void {
    const { endpoint, flow, generation } = this
    const startedAt = generation.attemptedAt
    const waits = flow?.waits?.() ?? null
    const attempt: Attempt = { endpoint, status, startedAt, endedAt: performance.now(), waits }
    if (error !== undefined) attempt.error = error
    generation.attempts.push(attempt)
  }

  /** What answers has come to its end. */
  protected stamp(): void {
    this.generation.attempts.at(-1)!.endedAt = performance.now()
  }

  /** The provider's figures, where they come to what can be charged; null where they have to be estimated. */
  protected chargeable(usage: Usage | null): Usage | null {
    return usage !== null && isChargeable(usage, this.endpoint.prices) ? usage : null
  }

  protected consumed(usage: Usage, estimated: boolean): void {
    const cost = costOf(usage, this.endpoint.prices)
    this.generation.consumption = { usage, cost, estimated }
  }

  /**
   * Counts what the provider has not told. Never rejects: where counting fails, through a defect of ours, the log is
   * told and the generation is settled with a guess.
   */
  protected async estimate(hear: () => OutputSample): Promise<void> {
    const { format, generation, ports } = this
    const { operation, request } = generation
    let said: OutputSample | null = null
    try {
      said = hear()
      this.consumed(await format.estimate(request, said, ports.countTokens), true)
    } catch (error) {
      ports.onDefect(error)
      this.consumed(guessUsage(operation, request, this.endpoint, said), true)
    }
  }

  /**
   * Settles what has been admitted, once, also where whoever observes it has a defect: what was taken would be held
   * for ever. Never throws: a caller is told of the end also where settling failed.
   */
  protected settled(outcome: InferenceOutcome): Promise<void> | null {
    const admission = this.#admission
    if (admission === null) return null
    this.#admission = null
    try {
      this.ports.observe(this.generation, outcome)
    } catch (error) {
      this.ports.onDefect(error)
    }
    try {
      return admission.settle(this.generation, outcome)
    } catch (error) {
      this.ports.onDefect(error)
      return null
    }
  }

  /**
   * Owns what a promise of this run rejects with: an exception that nobody catches would end the whole process. The
   * log is told, what was admitted is settled, and a caller that still waits hears of the end.
   */
  protected defect(cause: unknown): void {
    const { onDefect } = this.ports
    onDefect(cause)
    const fault = new Fault('internal', { detail: 'a defect at the end of the call' })
    this.over = true
    try {
      void this.settled({ kind: 'failed', fault })
      if (!this.left) this.refused(fault)
    } catch (another) {
      onDefect(another)
    }
  }
}

/**
 * Whether an endpoint may take a prompt that was too long for another one. One that does not say how much it takes
 * is no hope, and where the other one did not say either, only another model is.
 */
function hasLargerContext(endpoint: ModelEndpoint, short: ModelEndpoint): boolean {
  const least = contextLengthOf(short)
  return least === 0 ? endpoint.model !== short.model : contextLengthOf(endpoint) > least
}

function contextLengthOf(endpoint: ModelEndpoint): number {
  return endpoint.contextLength ?? endpoint.model.contextLength ?? 0
}

/** Nobody has been asked, because every breaker is open. */
function noHealthyEndpoint({ plan }: Generation<RoutedRequest>, health: HealthRegistry): ProviderFailure {
  const now = health.now()
  const waits = plan.endpoints.map((endpoint) => health.of(endpoint).breaker.waitMs(now))
  const fault = new Fault('unavailable', {
    note: `No endpoint of ${plan.requested} is healthy at the moment`,
    metadata: { error_type: 'provider_unavailable' },
    retryAfter: Math.max(1, Math.ceil(Math.min(...waits) / 1000)),
    detail: 'every breaker is open',
  })
  return { fault, class: 'not-sent', status: 0 }
}
