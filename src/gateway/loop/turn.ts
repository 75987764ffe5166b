/** One turn of a loop: an ordinary run of the gateway, waited for until its consumption is known. */
import { Fault } from '../../base/fault.js'
import type { RoutedRequest } from '../formats/canonical.js'
import type { InferenceFormat } from '../metering/format.js'
import { affordableTokens, reservationFor } from '../pricing/reservation.js'
import type { CallHandle } from '../providers/port/provider.js'
import type { Generation } from '../run/generation.js'
import type { StreamListener } from '../run/ports.js'
import type { LoopSite } from './loop-call.js'

/** Whom a turn tells while it runs. */
export interface TurnWatcher<E> {
  onRequestSent(body: unknown): void
  /** The first event has come: `generation.served` answers. */
  onServed(generation: Generation<RoutedRequest>): void
  onEvent(event: E): void
  onFlush(): void
}

/** `fault` is null where the turn has ended properly, `generation` where it was not even planned. */
interface TurnResult {
  readonly generation: Generation<RoutedRequest> | null
  readonly fault: Fault | null
}

export const LATE = new Fault('provider-timeout', {
  metadata: { error_type: 'timeout' },
  detail: 'the time of the call was used up by the turns and tools before',
})
/** The caller has left: nobody is told. */
export const LEFT = new Fault('internal', { detail: 'the caller has left' })

/** What a nested run may spend does not suffice for another turn; told to the tool by name. */
export const OUT_OF_BUDGET = new Fault('payment-required', {
  note: 'The budget of the run does not suffice for another turn',
  metadata: { error_type: 'payment_required' },
  detail: 'budget',
})

export class Turn<R extends RoutedRequest, E> implements StreamListener<R, E>, CallHandle {
  readonly ended: Promise<TurnResult>
  readonly #watcher: TurnWatcher<E>
  readonly #consumed: Promise<void>
  #onConsumed!: () => void
  #end!: (result: TurnResult) => void
  #generation: Generation<R> | null = null
  #handle: CallHandle | null = null
  #served = false

  constructor(watcher: TurnWatcher<E>) {
    this.#watcher = watcher
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
    this.#consumed = new Promise((resolve) => {
      this.#onConsumed = resolve
    })
  }

  /** Plans and begins it. What refuses is told by `ended`. `servedBy`: the endpoint of the turn before. */
  async start<A>(
    { call, meter, purpose, depth, signal }: LoopSite,
    format: InferenceFormat<R, E, A>,
    request: R,
    servedBy: string | null,
  ): Promise<void> {
    try {
      const caller = await call.recheck()
      if (caller instanceof Fault) return this.#fail(caller)
      if (signal.aborted) return this.#fail(LEFT)
      const deadlineMs = call.timeLeft
      if (deadlineMs <= 0) return this.#fail(LATE)
      const id = call.newRowId()
      const createdMs = call.root.created * 1000
      const place = { id, parent: { root: call.root, purpose }, servedBy, createdMs }
      const arrival = { arrivedAt: performance.now() }
      const prepare = (asked: R) =>
        call.gateway.prepare(format, { ...call.facts, request: asked, caller }, arrival, place)
      let generation = await prepare(request)
      // What a nested run may spend is not passed by a turn: its answer is cut to what is left.
      if (depth > 0 && meter.limit < Number.POSITIVE_INFINITY) {
        const cut = withinBudget(generation, meter.rest)
        if (cut === null) return this.#fail(OUT_OF_BUDGET)
        if (cut !== request) generation = await prepare(cut)
      }
      if (signal.aborted) return this.#fail(LEFT)
      this.#generation = generation
      this.#handle = call.gateway.stream(format, generation, this, {
        deadlineMs,
        onConsumed: this.#onConsumed,
      })
    } catch (error) {
      this.#fail(error instanceof Fault ? error : new Fault('internal', { cause: error }))
    }
  }

  onRequestSent(body: unknown): void {
    this.#watcher.onRequestSent(body)
  }

  onEvent(event: E): void {
    if (!this.#served) {
      this.#served = true
      this.#watcher.onServed(this.#generation!)
    }
    this.#watcher.onEvent(event)
  }

  onFlush(): void {
    this.#watcher.onFlush()
  }

  onEnd(generation: Generation<R>): void {
    this.#end({ generation, fault: null })
  }

  onFailure(fault: Fault): void {
    this.#fail(fault)
  }

  /** What was admitted is waited for: the sum over all turns has to hold it. */
  #fail(fault: Fault): void {
    const generation = this.#generation
    if (generation === null || generation.admittedAt === 0) this.#end({ generation, fault })
    else void this.#consumed.then(() => this.#end({ generation, fault }))
  }

  pause(): void {
    this.#handle?.pause()
  }

  resume(): void {
    this.#handle?.resume()
  }

  cancel(): void {
    this.#handle?.cancel()
    this.#fail(LEFT)
  }
}

/** The request with an answer that `rest` nano-dollars suffice for; null where not even the question is paid. */
function withinBudget<R extends RoutedRequest>(
  { operation, request, plan }: Generation<R>,
  rest: number,
): R | null {
  const reservation = reservationFor(operation, request, plan.endpoints)
  const fits = affordableTokens(rest, reservation)
  if (fits === null || fits < 1) return null
  if (reservation.perMillion === 0) return request
  const { max_tokens: most, max_completion_tokens: newer, ...asked } = request as R & BoundedAnswer
  const allowed = newer ?? most ?? Number.POSITIVE_INFINITY
  return allowed <= fits ? request : ({ ...asked, max_completion_tokens: fits } as unknown as R)
}

interface BoundedAnswer {
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
}
