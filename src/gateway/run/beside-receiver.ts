/** Takes the answer of an attempt that was sent beside a late one, until one of the two is the answer of the call. */
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { RoutedRequest } from '../formats/canonical.js'
import { type InferenceFormat, StreamTotals } from '../metering/format.js'
import type { CompletionReceiver, ProviderFailure, StreamReceiver } from '../providers/port/provider.js'
import { emptyAnswerFailure } from './attempt-failures.js'

/** Events without content that an attempt may bring before they count as an answer. */
export const MOST_HELD = 1_000

/** The run, which hears of the late one itself. */
interface LateReceiver<E, A> extends StreamReceiver<E>, CompletionReceiver<A> {
  readonly isOver: boolean
  onEnd(answer?: A): void
  /** The one beside has answered first, and goes on in the place of the late one. */
  overtake(): void
  /** What is held is the begin of the answer. */
  beginAnswer(): void
  onBesideFailure(failure: ProviderFailure): void
}

export class BesideReceiver<R extends RoutedRequest, E, A>
  implements StreamReceiver<E>, CompletionReceiver<A>
{
  readonly totals = new StreamTotals()
  /** What has come so far. */
  readonly held: E[] = []
  readonly #format: InferenceFormat<R, E, A>
  readonly #run: LateReceiver<E, A>
  /** Of the attempt. */
  readonly endpoint: ModelEndpoint
  #isOnly = false

  constructor(format: InferenceFormat<R, E, A>, endpoint: ModelEndpoint, run: LateReceiver<E, A>) {
    this.#format = format
    this.endpoint = endpoint
    this.#run = run
  }

  /** From now on what comes is handed on as it comes. */
  becomeOnly(): void {
    this.#isOnly = true
  }

  onEvent(event: E): void {
    if (this.#isOnly) {
      this.#run.onEvent(event)
      return
    }
    if (this.#run.isOver) return
    const eventClass = this.#format.observe(event, this.totals)
    if (eventClass === 'bookkeeping') return
    this.held.push(event)
    if (eventClass === 'lifecycle' && this.held.length < MOST_HELD) return
    this.#run.overtake()
    this.#run.beginAnswer()
  }

  onFlush(): void {
    if (this.#isOnly) this.#run.onFlush()
  }

  onEnd(answer?: A): void {
    if (!this.#isOnly) {
      if (this.#run.isOver) return
      if (answer === undefined) {
        this.onFailure(emptyAnswerFailure(this.endpoint))
        return
      }
      this.#run.overtake()
    }
    this.#run.onEnd(answer)
  }

  onFailure(failure: ProviderFailure): void {
    if (this.#isOnly) this.#run.onFailure(failure)
    else if (!this.#run.isOver) this.#run.onBesideFailure(failure)
  }
}
