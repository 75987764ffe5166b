/** The port to a model provider. One implementation per wire format, and the simulated one. */
import type { Fault } from '../../base/fault.js'
import type { ChatRequest, Completion, InferenceEvent } from '../canonical.js'
import type { ModelEndpoint } from '../catalog.js'

/**
 * What a retry after a failure may assume: the provider never had the request, may have worked on it (and may
 * bill it), or has said no.
 */
export type FailureClass = 'not-sent' | 'maybe-processed' | 'refused'

/** How a provider call failed. The fault is what the caller would see. */
export interface ProviderFailure {
  readonly fault: Fault
  readonly class: FailureClass
  /** Status the provider answered with; 0 when it did not. */
  readonly status: number
}

export interface ProviderCall {
  readonly request: ChatRequest
  readonly endpoint: ModelEndpoint
  /** Our generation id; providers may use it as an idempotency key. */
  readonly generationId: string
  /** Hashed identity of the end user, or of the account when the caller named none. Safe to send upstream. */
  readonly endUser: string
  /** Text of the header that asks the simulated provider for a fault; `''` when absent. */
  readonly simulate: string
  /** `performance.now()` beyond which the whole call is late. */
  readonly deadlineAt: number
}

/** Takes a streamed answer. After `ended` or `failed`, and after `Flow.cancel`, nothing more is called. */
export interface StreamReceiver {
  /** The body that goes to the provider, as sent; called only when `call.request.debug.echo_upstream_body` asks. */
  sent?(body: unknown): void
  event(event: InferenceEvent): void
  /** Everything that arrived in one turn has been handed over; a good moment to write. */
  flush(): void
  /** The provider finished properly, with its terminator. */
  ended(): void
  /** Before or after the first event. An answer without its terminator ends here too. */
  failed(failure: ProviderFailure): void
}

export interface CompletionReceiver {
  ended(completion: Completion): void
  failed(failure: ProviderFailure): void
}

/** Control over a call under way. */
export interface Flow {
  /** Stops reading from the provider, so that its socket fills: backpressure. A call that does not stream ignores it. */
  pause(): void
  resume(): void
  /** Ends the provider call at once, in every phase: the socket is destroyed, no timer stays. Idempotent. */
  cancel(): void
}

export interface Provider {
  /** Never throws: what fails at once is told to the receiver in a later turn. */
  stream(call: ProviderCall, receiver: StreamReceiver): Flow
  complete(call: ProviderCall, receiver: CompletionReceiver): Flow
}
