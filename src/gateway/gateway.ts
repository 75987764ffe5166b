/**
 * One inference from the checked request to the last event: plan, admission, attempts in order, settlement.
 * Knows no wire format; what it needs of one is an `InferenceFormat`.
 */
import type { Cancellation } from '../base/cancellation.js'
import { Fault } from '../base/fault.js'
import { newGenerationId } from '../base/ids.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import type { Principal } from '../base/principal.js'
import type { Catalog } from './catalog/catalog.js'
import { withNamedFiles } from './files/named-files.js'
import type { RoutedRequest } from './formats/canonical.js'
import type { MessagesRequest } from './formats/messages.js'
import type { InferenceFormat } from './metering/format.js'
import { countInputTokens } from './metering/messages-format.js'
import type { CallHandle } from './providers/port/provider.js'
import { keepEndpoint, type Plan, planFor, type RoutingState } from './routing/plan.js'
import type { SessionAffinity } from './routing/session.js'
import { type CallingClient, Generation, type ParentGeneration } from './run/generation.js'
import type { RunPorts, StreamListener } from './run/ports.js'
import { createProviderCall } from './run/provider-call.js'
import { InferenceRun } from './run/run.js'

export type { InferenceOutcome } from './formats/canonical.js'
export type { StreamListener } from './run/ports.js'

/** What a caller asks for. */
export interface Inference<R extends RoutedRequest> {
  readonly request: R
  readonly caller: Principal
  /** Text of the header that asks the simulated provider for a fault; `''` when absent. */
  readonly simulate: string
  /** The `traceparent` header; `''` when absent. */
  readonly traceparent: string
  readonly client?: CallingClient
}

interface GatewayPorts extends RunPorts, Pick<RoutingState, 'accountOf'> {
  /** The catalogue of this moment. */
  readonly catalog: () => Catalog
  readonly sessions: SessionAffinity
  /** Before the tokens of an input are counted: limits and credit. Rejects with what refuses; else gives what frees. */
  readonly admitCount: (generation: Generation<RoutedRequest>) => Promise<() => void>
  /** From 0 to 1. */
  readonly random: () => number
}

/** A turn of a loop: its place beneath what the caller sees. */
interface TurnPlace {
  readonly id: string
  readonly parent: ParentGeneration
  /** Key of the endpoint that has served the turn before; null for the first one. */
  readonly servedBy: string | null
  /** Unix milliseconds: of the call, so that its money falls into one period. */
  readonly createdMs: number
}

/** What of a run is a matter of its turn. */
interface TurnTerms {
  /** Milliseconds that are left. */
  readonly deadlineMs: number
  /** Its consumption is known and about to be settled; once, unless it was never admitted. */
  readonly onConsumed: () => void
}

const NO_TIME_TO_COUNT = new Fault('unavailable', { retryAfter: 1, detail: 'no time to count tokens' })

/** What a credential that is refused, or at its limit, is told as. */
const CREDENTIAL_FAULTS: ReadonlySet<string> = new Set(['provider-failed', 'rate-limited'])

/** A whole answer, or why there is none. */
type CompletionResult<A> =
  | { readonly answer: A; readonly fault: null }
  | { readonly answer: null; readonly fault: Fault }

export class Gateway {
  readonly #ports: GatewayPorts

  constructor(ports: GatewayPorts) {
    this.#ports = ports
  }

  /** Nothing but simulated models is in the catalogue. */
  get hasOnlySimulated(): boolean {
    const { models } = this.#ports.catalog()
    return models.every(({ endpoints }) => endpoints.every(({ simulation }) => simulation !== null))
  }

  /** Which endpoints would serve a request. Throws when none can. */
  planOf<R extends RoutedRequest, E, A>(
    { serves }: InferenceFormat<R, E, A>,
    request: RoutedRequest,
    caller: Principal,
  ): Plan {
    return planFor(this.#ports.catalog(), request, caller, serves, this.#ports)
  }

  /**
   * Plans an inference that arrived at `arrivedAt` (`performance.now()`). Throws when no endpoint can serve it. A turn
   * of a loop keeps the endpoint of the one before as its first. A promise only where the request names files and the
   * store of files is elsewhere.
   */
  prepare<R extends RoutedRequest, E, A>(
    { name, serves }: InferenceFormat<R, E, A>,
    { request: asked, caller, simulate, traceparent, client }: Inference<R>,
    { arrivedAt }: { readonly arrivedAt: number },
    turn?: TurnPlace,
  ): MaybePromise<Generation<R>> {
    const decodedAt = performance.now()
    const account = this.#ports.accountOf?.(caller)
    const planned = planFor(this.#ports.catalog(), asked, caller, serves, this.#ports, null, account)
    const plan = turn === undefined ? planned : keepEndpoint(planned, turn.servedBy)
    const { filesOf, maxBytes } = this.#ports.files
    const named = withNamedFiles(asked, () => filesOf(caller), maxBytes)
    const now = turn?.createdMs ?? Math.floor(this.#ports.clock.unixSeconds() * 1000)
    const parent = turn?.parent
    const arrival = { operation: name, simulate, traceparent, client, decodedAt, parent, account }
    const id = turn?.id ?? newGenerationId(now)
    const begin = (request: R): Generation<R> => {
      const generation = new Generation(id, request, caller, plan, now, arrivedAt, arrival)
      generation.plannedAt = performance.now()
      return generation
    }
    return named instanceof Promise ? named.then(begin) : begin(named)
  }

  /**
   * What `tell` makes of a whole answer, or of the fault of the last attempt; rejects with what it throws. Throws when the
   * admission is refused. When the caller leaves, the upstream call ends and the promise stays as it is; an answer that
   * is being counted is counted on.
   */
  complete<R extends RoutedRequest, E, A, T>(
    format: InferenceFormat<R, E, A>,
    generation: Generation<R>,
    caller: Cancellation,
    tell: (result: CompletionResult<A>) => T,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const listener = new CompletionListener(tell, resolve, reject)
      const run = new InferenceRun(format, generation, 'complete', this.#ports, listener)
      caller.onAbort(() => {
        if (generation.served === null) run.cancel()
      })
      run.start()
    })
  }

  /** Begins a streamed answer. Throws when the admission is refused; the listener is first called in a later turn. */
  stream<R extends RoutedRequest, E, A>(
    format: InferenceFormat<R, E, A>,
    generation: Generation<R>,
    listener: StreamListener<R, E>,
    turn?: TurnTerms,
  ): CallHandle {
    const ports = turn === undefined ? this.#ports : { ...this.#ports, ...this.#turnPorts(turn) }
    const run = new InferenceRun(format, generation, 'stream', ports, listener)
    run.start()
    return run
  }

  #turnPorts({ deadlineMs, onConsumed }: TurnTerms): Pick<RunPorts, 'deadlineMs' | 'observe'> {
    const observe: RunPorts['observe'] = (generation, outcome) => {
      try {
        this.#ports.observe(generation, outcome)
      } finally {
        onConsumed()
      }
    }
    return { deadlineMs, observe }
  }

  /**
   * Input tokens of a messages request (contract/gateway 5.9): the count of the provider that would be asked first,
   * under the first of its credentials that it takes, where it offers one, otherwise a tokenizer's. Admitted like a call; nothing is generated and nothing settled. Ends
   * with its caller. Rejects with what refuses, with the provider's fault, or with `unavailable` where there was no time
   * to count.
   */
  async countInput(generation: Generation<MessagesRequest>, caller: Cancellation): Promise<number> {
    const release = await this.#ports.admitCount(generation)
    try {
      const counted = await this.#countInput(generation, caller)
      if (typeof counted === 'number') return counted
      throw counted.withGeneration({ id: generation.id, serviceMetadata: null })
    } finally {
      release()
    }
  }

  async #countInput(generation: Generation<MessagesRequest>, caller: Cancellation): Promise<number | Fault> {
    const { countTokens, deadlineMs } = this.#ports
    const [first] = generation.plan.endpoints
    // A provider would be given contents of files to count; they are measured here instead.
    if (first!.provider.provider.countMessages !== undefined && generation.request.files === undefined) {
      let counted: number | Fault = NO_TIME_TO_COUNT
      for (const endpoint of generation.plan.endpoints) {
        const { model, provider } = endpoint
        // The same under its other credentials: what refuses one may take the next.
        if (model !== first!.model || provider.slug !== first!.provider.slug) continue
        const call = createProviderCall(generation, endpoint, deadlineMs, true)
        counted = await provider.provider.countMessages!(call, caller)
        if (typeof counted === 'number' || !CREDENTIAL_FAULTS.has(counted.kind)) break
      }
      return counted
    }
    const { organizationId } = generation.caller
    const { tokens, areGuessed } = await countInputTokens(generation.request, (texts) =>
      countTokens(texts, organizationId, caller),
    )
    return areGuessed ? NO_TIME_TO_COUNT : tokens
  }
}

/** Waits for the end of an answer that comes whole. Told where it ends: another promise would cost it a turn more. */
class CompletionListener<A, T> implements StreamListener<RoutedRequest, unknown, A> {
  readonly #tell: (result: CompletionResult<A>) => T
  readonly #resolve: (told: T) => void
  readonly #reject: (error: unknown) => void

  constructor(
    tell: (result: CompletionResult<A>) => T,
    resolve: (told: T) => void,
    reject: (error: unknown) => void,
  ) {
    this.#tell = tell
    this.#resolve = resolve
    this.#reject = reject
  }

  onEvent(): void {}
  onFlush(): void {}

  onEnd(_: Generation<RoutedRequest>, answer: A | null): void {
    this.#end({ answer: answer!, fault: null })
  }

  onFailure(fault: Fault): void {
    this.#end({ answer: null, fault })
  }

  #end(result: CompletionResult<A>): void {
    try {
      this.#resolve(this.#tell(result))
    } catch (error) {
      this.#reject(error)
    }
  }
}
