/** One inference: admission, the attempts, the events of its answer, and the end that comes once. */
import { Fault } from '../../base/fault.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import { sendCall } from '../files/send-call.js'
import type { InferenceOutcome, RoutedRequest } from '../formats/canonical.js'
import { type InferenceFormat, StreamTotals } from '../metering/format.js'
import type {
  CallHandle,
  CompletionReceiver,
  ProviderCall,
  ProviderFailure,
  StreamReceiver,
} from '../providers/port/provider.js'
import { emptyAnswerFailure } from './attempt-failures.js'
import { Attempts } from './attempts.js'
import { BesideReceiver, MOST_HELD } from './beside-receiver.js'
import { reportedConsumption } from './consumption.js'
import { countConsumption } from './count-consumption.js'
import type { Generation, LostAttempt, LostCost } from './generation.js'
import type { Admission, AttemptSender, RunPorts, StreamListener } from './ports.js'
import { lostCostOf } from './rescue.js'
import { settleAdmission, whenSettled } from './settle-admission.js'

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
  #totals = new StreamTotals()
  /** From the admission to the settlement. */
  #admission: Admission | null = null
  /** Lifecycle events of an attempt that has no content yet. */
  #held: E[] | null = null
  /** Of an attempt that was sent beside a late one. */
  #beside: BesideReceiver<R, E, A> | null = null
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

  get isWhole(): boolean {
    return this.#mode === 'complete'
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
    return this.#send(call, endpoint, this)
  }

  sendBeside(call: ProviderCall<R>, endpoint: ModelEndpoint): CallHandle {
    this.#beside = new BesideReceiver(this.#format, endpoint, this)
    return this.#send(call, endpoint, this.#beside)
  }

  #send(call: ProviderCall<R>, endpoint: ModelEndpoint, to: this | BesideReceiver<R, E, A>): CallHandle {
    const handle = sendCall(this.#format, this.#mode, call, endpoint, to, this.#ports.files)
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
        this.beginAnswer()
        return
      }
      this.beginAnswer()
    }
    if (!this.#over) this.#listener.onEvent(event)
  }

  beginAnswer(): void {
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
    whenSettled(
      this.#settle({ kind: 'completed' }),
      () => this.#listener.onEnd(this.#generation, this.#answer),
      (error) => this.#handleDefect(error),
    )
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

  #lostCost(
    failure: Pick<ProviderFailure, 'class'>,
    endpoint = this.#attempts.endpoint,
    totals = this.#totals,
  ): LostCost | null {
    try {
      return lostCostOf(this.#generation, endpoint, failure, totals, this.isWhole)
    } catch (error) {
      // The failure has to be told all the same.
      this.#ports.onDefect(error)
      return null
    }
  }

  overtake(): void {
    this.#attempts.overtake(this.#lostCost(ABANDONED))
    this.onOnlyBeside()
  }

  onOnlyBeside(): void {
    const beside = this.#beside!
    this.#beside = null
    this.#totals = beside.totals
    this.#held = beside.held
    beside.becomeOnly()
  }

  lostBeside(): LostCost | null {
    const beside = this.#beside
    this.#beside = null
    return beside === null ? null : this.#lostCost(ABANDONED, beside.endpoint, beside.totals)
  }

  onBesideFailure(failure: ProviderFailure): void {
    const beside = this.#beside
    if (beside === null || this.#over) return
    this.#beside = null
    this.#attempts.failBeside(failure, this.#lostCost(failure, beside.endpoint, beside.totals))
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
    if (!this.#over) this.#attempts.pause()
  }

  resume(): void {
    this.#paused = false
    if (!this.#over) this.#attempts.resume()
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

  /** Counts what the provider has not told. Never rejects. */
  async #estimate(): Promise<void> {
    const heard = { totals: this.#totals, answer: this.#answer, endpoint: this.#attempts.endpoint }
    this.#generation.consumption = await countConsumption(this.#format, this.#generation, heard, this.#ports)
  }

  /** Settles what has been admitted, once. Never throws. */
  #settle(outcome: InferenceOutcome): Promise<void> | null {
    const admission = this.#admission
    if (admission === null) return null
    this.#admission = null
    return settleAdmission(admission, this.#generation, outcome, this.#ports)
  }

  /**
   * Owns what a promise of this run rejects with: an exception that nobody catches would end the whole process. The
   * log is told, what was admitted is settled, and a caller that still waits hears of the end.
   */
  #handleDefect(cause: unknown): void {
    const { onDefect } = this.#ports
    onDefect(cause)
    this.#over = true
    const fault = new Fault('internal', { detail: 'a defect at the end of the call' })
    try {
      void this.#settle({ kind: 'failed', fault })
      if (!this.#silenced) this.#listener.onFailure(fault, this.#generation)
    } catch (another) {
      onDefect(another)
    }
  }
}
