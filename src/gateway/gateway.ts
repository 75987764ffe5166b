/**
 * One inference from the checked request to the last event: plan, admission, attempts in order, settlement.
 * Knows no wire format; what it needs of one is a `Format`.
 */
import type { Cancellation } from '../base/cancellation.js'
import { newGenerationId } from '../base/ids.js'
import type { Principal } from '../base/principal.js'
import type { Catalog } from './catalog/catalog.js'
import type { RoutedRequest } from './formats/canonical.js'
import type { MessagesRequest } from './formats/messages.js'
import type { InferenceFormat } from './metering/format.js'
import { messagesFormat } from './metering/messages-format.js'
import type { CallHandle } from './providers/port/provider.js'
import { planFor } from './routing/plan.js'
import type { SessionAffinity } from './routing/session.js'
import { Generation } from './run/generation.js'
import { countMessageTokens } from './run/messages-count.js'
import type { RunPorts } from './run/run.js'
import { type CompletionResult, CompletionRun } from './run/run-completion.js'
import { type StreamListener, StreamRun } from './run/run-stream.js'

export type { InferenceOutcome } from './formats/outcome.js'
export type { StreamListener } from './run/run-stream.js'

/** What a caller asks for. */
export interface Inference<R extends RoutedRequest> {
  readonly request: R
  readonly caller: Principal
  /** Text of the header that asks the simulated provider for a fault; `''` when absent. */
  readonly simulate: string
  /** The `traceparent` header; `''` or absent when there is none. */
  readonly traceparent?: string
}

/** How long somebody waits for the answer; a `Call` is one. */
interface CallLifetime extends Cancellation {
  readonly arrivedAt: number
}

interface GatewayPorts extends RunPorts {
  /** The catalogue of this moment. */
  readonly catalog: () => Catalog
  readonly sessions: SessionAffinity
  /** From 0 to 1. */
  readonly random: () => number
}

export interface StartedStream<R extends RoutedRequest> {
  readonly generation: Generation<R>
  readonly flow: CallHandle
}

export class Gateway {
  readonly #ports: GatewayPorts

  constructor(ports: GatewayPorts) {
    this.#ports = ports
  }

  /**
   * A whole answer, or the fault of the last attempt. Throws when the plan or the admission is impossible. When
   * the caller leaves, the upstream call ends and the promise stays as it is: nobody waits for it.
   */
  complete<R extends RoutedRequest, E, A>(
    format: InferenceFormat<R, E, A>,
    inference: Inference<R>,
    lifetime: CallLifetime,
  ): Promise<CompletionResult<R, A>> {
    const generation = this.#begin(format, inference, lifetime)
    return new Promise((resolve) => {
      const run = new CompletionRun(format, generation, inference.simulate, this.#ports, resolve)
      lifetime.onAbort(() => run.leave())
      run.begin()
    })
  }

  /**
   * Begins a streamed answer. Throws when the plan or the admission is impossible; the listener is first called in
   * a later turn.
   */
  stream<R extends RoutedRequest, E, A>(
    format: InferenceFormat<R, E, A>,
    inference: Inference<R>,
    lifetime: CallLifetime,
    listener: StreamListener<R, E>,
  ): StartedStream<R> {
    const generation = this.#begin(format, inference, lifetime)
    const run = new StreamRun(format, generation, inference.simulate, this.#ports, listener)
    run.begin()
    return { generation, flow: run }
  }

  /**
   * Input tokens of a messages request. Throws when the plan is impossible, and rejects with the fault of the
   * provider that was asked to count.
   */
  countInput(inference: Inference<MessagesRequest>, lifetime: CallLifetime): Promise<number> {
    return countMessageTokens(
      this.#begin(messagesFormat, inference, lifetime),
      inference.simulate,
      this.#ports,
    )
  }

  #begin<R extends RoutedRequest, E, A>(
    format: InferenceFormat<R, E, A>,
    { request, caller, traceparent = '' }: Inference<R>,
    { arrivedAt }: CallLifetime,
  ): Generation<R> {
    const decodedAt = performance.now()
    const plan = planFor(this.#ports.catalog(), request, caller, format.serves, this.#ports)
    const now = Math.floor(this.#ports.clock.unixSeconds() * 1000)
    const generation = new Generation(newGenerationId(now), request, caller, plan, now, arrivedAt)
    generation.operation = format.name
    generation.traceparent = traceparent
    generation.decodedAt = decodedAt
    generation.plannedAt = performance.now()
    return generation
  }
}
