/** One inference: admission, the attempts, the events of its answer, and the end that comes once. */
import { NEVER_ABORTED } from '../../base/cancellation.js'
import { Fault } from '../../base/fault.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import { sendCall } from '../files/send-call.js'
import type { InferenceOutcome, RoutedRequest } from '../formats/canonical.js'
import {
  type CountTexts,
  type EstimatedUsage,
  type InferenceFormat,
  type OutputSample,
  StreamTotals,
} from '../metering/format.js'
import { guessUsage } from '../pricing/reservation.js'
import type {
  CallHandle,
  CompletionReceiver,
  ProviderCall,
  ProviderFailure,
  StreamReceiver,
} from '../providers/port/provider.js'
import { type AttemptSender, Attempts, emptyAnswerFailure } from './attempts.js'
import { estimatedConsumption, reportedConsumption } from './consumption.js'
import type { Generation, LostAttempt, LostCost } from './generation.js'
import type { Admission, RunPorts, StreamListener } from './ports.js'
import { lostCostOf } from './rescue.js'

/** Events without content that an attempt may bring before they count as an answer. */
const MOST_HELD = 1_000

/** A provider whose caller has gone may work on and bill it all the same. */
const ABANDONED = { class: 'maybe-processed' } as const

/** A run in one object: it receives the provider's answer, and is the caller's handle of it. */
export class InferenceRun<R extends RoutedRequest, E, A>
  implements AttemptSender<R>, StreamReceiver<E>, CompletionReceiver<A>, CallHandle
{
  readonly #format: InferenceFormat<R, E, A>
  readonly #generation: Generation<R>
  readonly #mode: 'stream' | 'complete'
  readonly #ports: RunPorts
  readonly #listener: StreamListener<R, E, A>
  readonly #attempts: Attempts<R>
  readonly #totals = new StreamTotals()
  /** From the admission to the settlement. */
  #admission: Admission | null = null
  /** Lifecycle events of an attempt that has no content yet. */
  #held: E[] | null = null
  /** The whole answer, where it was asked for whole. */
  #answer: A | null = null
  #paused = false
  /** The caller has kept the provider waiting: how fast it was says nothing. */
  #slowed = false
  #over = false
  /** The listener has been told of the end, or may not be told any more. */
  #silenced = false

  constructor(
    format: InferenceFormat<R, E, A>,
    generation: Generation<R>,
    mode: 'stream' | 'complete',
    ports: RunPorts,
    listener: StreamListener<R, E, A>,
  ) {
    this.#format = format
    this.#generation = generation
    this.#mode = mode
    this.#ports = ports
    this.#listener = listener
    this.#attempts = new Attempts(generation, ports, this)
  }

  get isOver(): boolean {
    return this.#over
  }

  // ── Beginning ─────────────────────────────────────────────────────────────

  /** Admission, then the first attempt. Throws what refuses at once. */
  start(): void {
    const admission = this.#ports.admit(this.#generation)
    if (!(admission instanceof Promise)) this.#onAdmitted(admission)
    else {
      const entered = admission.then(
        (granted) => this.#onAdmitted(granted),
        (error: unknown) => this.#onRefused(error),
      )
      entered.catch((error: unknown) => this.#handleDefect(error))
    }
  }

  #onAdmitted(admission: Admission): void {
    this.#admission = admission
    this.#generation.admittedAt = performance.now()
    // A caller that left during the admission has been given a place that must be given back.
    if (this.#over) {
      void this.#settle({ kind: 'aborted' })
      return
    }
    try {
      this.#attempts.start()
    } catch (cause) {
      // The one who began the run takes this for a refusal and will not come back to settle it.
      this.#over = true
      void this.#settle({ kind: 'failed', fault: new Fault('internal', { cause }) })
      throw cause
    }
  }

  #onRefused(error: unknown): void {
    if (this.#over) return
    this.#over = true
    const fault = error instanceof Fault ? error : new Fault('internal', { cause: error })
    this.#listener.onFailure(fault, this.#generation)
  }

  send(call: ProviderCall<R>, endpoint: ModelEndpoint): CallHandle {
    const handle = sendCall(this.#format, this.#mode, call, endpoint, this, this.#ports.files)
    if (this.#paused) handle.pause()
    return handle
  }

  // ── The answer ────────────────────────────────────────────────────────────

  onRequestSent(body: unknown): void {
    if (!this.#over) this.#listener.onRequestSent?.(body)
  }

  onEvent(event: E): void {
    if (this.#over) return
    const eventClass = this.#format.observe(event, this.#totals)
    if (eventClass === 'bookkeeping') return
    if (this.#generation.served === null) {
      if (eventClass === 'lifecycle') {
        this.#held ??= []
        this.#held.push(event)
        if (this.#held.length < MOST_HELD) return
        this.#emitFirst()
        return
      }
      this.#emitFirst()
    }
    if (!this.#over) this.#listener.onEvent(event)
  }

  #emitFirst(): void {
    this.#attempts.markServing()
    this.#generation.firstEventAt = performance.now()
    for (const event of this.#held?.splice(0) ?? []) if (!this.#over) this.#listener.onEvent(event)
  }

  onFlush(): void {
    if (!this.#over) this.#listener.onFlush()
  }

  /** `answer`: where it was asked for whole. */
  onEnd(answer?: A): void {
    if (this.#over) return
    if (answer !== undefined) this.#observeAnswer(answer)
    else if (this.#generation.served === null) {
      this.onFailure(emptyAnswerFailure(this.#attempts.endpoint))
      return
    } else this.#attempts.markEnd()
    const { firstEventAt } = this.#generation
    const ms = this.#attempts.endedAt - (firstEventAt === 0 ? this.#attempts.askedAt : firstEventAt)
    this.#generation.finish = this.#totals.finish
    this.#generation.serviceTier = this.#totals.serviceTier
    if (this.#chargeReported()) this.#complete(ms)
    else {
      // What came with the end need not wait for the counting.
      this.#listener.onFlush()
      this.#estimate()
        .then(() => this.#complete(ms))
        .catch((error: unknown) => this.#handleDefect(error))
    }
  }

  #observeAnswer(answer: A): void {
    this.#attempts.markServing()
    this.#answer = answer
    const { finish, serviceTier, images } = this.#format.finishOf(answer)
    this.#totals.finish = finish
    this.#totals.serviceTier = serviceTier
    this.#totals.images = images
    this.#totals.usage = this.#format.usageOf(answer, this.#attempts.endpoint.prices)
  }

  #complete(ms: number): void {
    if (this.#over) return
    this.#over = true
    this.#attempts.complete(this.#slowed ? 0 : this.#generation.consumption!.usage.completion, ms)
    const settled = this.#settle({ kind: 'completed' })
    if (settled === null) this.#listener.onEnd(this.#generation, this.#answer)
    else {
      settled
        .then(() => this.#listener.onEnd(this.#generation, this.#answer))
        .catch((error: unknown) => this.#handleDefect(error))
    }
  }

  onFailure(failure: ProviderFailure): void {
    if (this.#over) return
    if (this.#generation.served !== null) {
      this.#attempts.failMidAnswer(failure)
      this.giveUp(failure)
      return
    }
    const lost = this.#lostCost(failure)
    this.#totals.forget()
    this.#held = null
    this.#attempts.continueAfter(failure, lost)
  }

  #lostCost(failure: Pick<ProviderFailure, 'class'>): LostCost | null {
    const { endpoint } = this.#attempts
    try {
      return lostCostOf(this.#generation, endpoint, failure, this.#totals, this.#mode === 'complete')
    } catch (error) {
      // The failure has to be told all the same.
      this.#ports.onDefect(error)
      return null
    }
  }

  onLost(attempt: LostAttempt): void {
    try {
      this.#admission?.recordLost(this.#generation, attempt)
    } catch (error) {
      this.#ports.onDefect(error)
    }
  }

  giveUp({ fault }: ProviderFailure): void {
    if (this.#over) return
    this.#over = true
    this.#close({ kind: 'failed', fault })
    this.#listener.onFailure(fault, this.#generation)
  }

  // ── The caller ────────────────────────────────────────────────────────────

  pause(): void {
    this.#paused = true
    this.#slowed = true
    if (!this.#over) this.#attempts.call?.pause()
  }

  resume(): void {
    this.#paused = false
    if (!this.#over) this.#attempts.call?.resume()
  }

  /** The caller has gone: the upstream call ends in the same turn, in every phase. */
  cancel(): void {
    if (this.#over) return
    this.#over = true
    this.#silenced = true
    this.#attempts.abort(this.#generation.served === null ? this.#lostCost(ABANDONED) : null)
    this.#close({ kind: 'aborted' })
  }

  // ── Settlement ────────────────────────────────────────────────────────────

  /** What was generated before the end is consumed, whether or not the caller has read it. */
  #close(outcome: InferenceOutcome): void {
    this.#silenced = true
    this.#generation.serviceTier = this.#totals.serviceTier
    if (this.#generation.served === null || this.#chargeReported()) void this.#settle(outcome)
    else {
      this.#estimate()
        .then(() => this.#settle(outcome))
        .catch((error: unknown) => this.#handleDefect(error))
    }
  }

  /** Takes the provider's figures. False where it has sent none, or none that can be charged. */
  #chargeReported(): boolean {
    const consumption = reportedConsumption(this.#generation.request, this.#attempts.endpoint, this.#totals)
    if (consumption !== null) this.#generation.consumption = consumption
    return consumption !== null
  }

  #chargeEstimated(usage: EstimatedUsage): void {
    const { request } = this.#generation
    this.#generation.consumption = estimatedConsumption(request, this.#attempts.endpoint, this.#totals, usage)
  }

  /**
   * Counts what the provider has not told. Never rejects: where counting fails, through a defect of ours, the log is
   * told and the generation is settled with a guess.
   */
  async #estimate(): Promise<void> {
    const { operation, request, caller } = this.#generation
    const { countTokens, onDefect } = this.#ports
    let sample: OutputSample | null = null
    try {
      sample = this.#answer === null ? this.#totals.sample : this.#format.sampleOf(this.#answer)
      // What is charged is counted whether or not the caller is still there.
      const count: CountTexts = (texts) => countTokens(texts, caller.organizationId, NEVER_ABORTED)
      this.#chargeEstimated(
        await this.#format.estimate(request, sample, count, this.#attempts.endpoint.prices),
      )
    } catch (error) {
      onDefect(error)
      const usage = guessUsage(operation, request, this.#attempts.endpoint, sample)
      this.#chargeEstimated({ usage, isGuessed: true })
    }
  }

  /**
   * Settles what has been admitted, once, also where the observer has a defect: what was taken would be held for
   * ever. Never throws: a caller is told of the end also where settling failed.
   */
  #settle(outcome: InferenceOutcome): Promise<void> | null {
    const admission = this.#admission
    if (admission === null) return null
    this.#admission = null
    const { observe, onDefect } = this.#ports
    try {
      observe(this.#generation, outcome)
    } catch (error) {
      onDefect(error)
    }
    try {
      return admission.settle(this.#generation, outcome)
    } catch (error) {
      onDefect(error)
      return null
    }
  }

  /**
   * Owns what a promise of this run rejects with: an exception that nobody catches would end the whole process. The
   * log is told, what was admitted is settled, and a caller that still waits hears of the end.
   */
  #handleDefect(cause: unknown): void {
    const { onDefect } = this.#ports
    onDefect(cause)
    const fault = new Fault('internal', { detail: 'a defect at the end of the call' })
    this.#over = true
    try {
      void this.#settle({ kind: 'failed', fault })
      if (!this.#silenced) this.#listener.onFailure(fault, this.#generation)
    } catch (another) {
      onDefect(another)
    }
  }
}
