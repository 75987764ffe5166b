/** One inference whose answer comes whole. */
import type { Fault } from '../../base/fault.js'
import type { RoutedRequest } from '../formats/canonical.js'
import type { InferenceFormat } from '../metering/format.js'
import type {
  CallHandle,
  CompletionReceiver,
  ProviderCall,
  ProviderFailure,
} from '../providers/port/provider.js'
import type { Generation } from './generation.js'
import { InferenceRun, type RunPorts } from './run.js'

/** A whole answer, or why there is none. */
export type CompletionResult<R extends RoutedRequest, A> =
  | { readonly generation: Generation<R>; readonly answer: A; readonly fault: null }
  | { readonly generation: Generation<R>; readonly answer: null; readonly fault: Fault }

export class CompletionRun<R extends RoutedRequest, E, A>
  extends InferenceRun<R, E, A>
  implements CompletionReceiver<A>
{
  readonly #resolve: (answer: CompletionResult<R, A>) => void

  constructor(
    format: InferenceFormat<R, E, A>,
    generation: Generation<R>,
    simulate: string,
    ports: RunPorts,
    resolve: (answer: CompletionResult<R, A>) => void,
  ) {
    super(format, generation, simulate, ports)
    this.#resolve = resolve
  }

  protected send(call: ProviderCall<R>): CallHandle {
    return this.format.apiOf(this.endpoint.provider).complete(call, this)
  }

  onEnd(answer: A): void {
    if (this.over) return
    this.serve()
    const { format, generation } = this
    const ms = performance.now() - generation.attemptedAt
    const { finish, serviceTier } = format.finishOf(answer)
    generation.finish = finish
    generation.serviceTier = serviceTier
    const usage = this.chargeable(format.usageOf(answer))
    if (usage !== null) {
      this.consumed(usage, false)
      this.#finish(answer, ms)
      return
    }
    this.estimate(() => format.sampleOf(answer))
      .then(() => this.#finish(answer, ms))
      .catch((error: unknown) => this.defect(error))
  }

  #finish(answer: A, ms: number): void {
    if (this.over) return
    this.over = true
    this.completed(this.generation.consumption!.usage.completion, ms)
    const told: CompletionResult<R, A> = { generation: this.generation, answer, fault: null }
    const waiting = this.settled({ kind: 'completed' })
    if (waiting === null) this.#resolve(told)
    else waiting.then(() => this.#resolve(told)).catch((error: unknown) => this.defect(error))
  }

  override onFailure(failure: ProviderFailure): void {
    if (!this.over && !this.goesOn(failure)) this.gaveUp(failure)
  }

  protected override gaveUp({ fault }: ProviderFailure): void {
    if (this.over) return
    this.over = true
    void this.settled({ kind: 'failed', fault })
    this.refused(fault)
  }

  protected override refused(fault: Fault): void {
    this.#resolve({ generation: this.generation, answer: null, fault })
  }

  /** The caller has gone: the upstream call ends in the same turn. An answer that is being counted is counted on. */
  leave(): void {
    if (this.over || this.generation.served !== null) return
    this.over = true
    this.leaves()
    void this.settled({ kind: 'aborted' })
  }
}
