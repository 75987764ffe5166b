/** What a run of an inference needs, and whom it tells. */
import type { Clock } from '../../base/clock.js'
import type { Fault } from '../../base/fault.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { FilePorts } from '../files/send-call.js'
import type { InferenceOutcome, RoutedRequest } from '../formats/canonical.js'
import type { HealthRegistry } from '../health/health-registry.js'
import type { CountTokens } from '../metering/format.js'
import type {
  CallHandle,
  FailureReceiver,
  ProviderCall,
  ProviderFailure,
} from '../providers/port/provider.js'
import type { Generation, LostAttempt, LostCost } from './generation.js'
import type { Hedging } from './hedging.js'
import type { RetryBudget } from './rescue.js'

/** What an inference has taken of limits and credit when it was let in. */
export interface Admission {
  /** Writes down at once what an attempt that answered nothing may cost upstream. Nothing of it is charged. */
  recordLost(generation: Generation<RoutedRequest>, attempt: LostAttempt): void
  /**
   * Gives back what was not used and writes down what was. A promise keeps the end of the answer from the caller
   * until it resolves; it never rejects.
   */
  settle(generation: Generation<RoutedRequest>, outcome: InferenceOutcome): Promise<void> | null
}

export interface AttemptPorts {
  readonly clock: Clock
  /** Total time of an inference in milliseconds. */
  readonly deadlineMs: number
  readonly health: HealthRegistry
  readonly retries: RetryBudget
  readonly hedging: Hedging
}

/** Sends the attempts of one inference and takes what comes of them. */
export interface AttemptSender<R extends RoutedRequest> extends FailureReceiver {
  readonly isOver: boolean
  /** The answer is asked for whole. */
  readonly isWhole: boolean
  send(call: ProviderCall<R>, endpoint: ModelEndpoint): CallHandle
  /** Sends a second attempt beside the one that is late. */
  sendBeside(call: ProviderCall<R>, endpoint: ModelEndpoint): CallHandle
  onBesideFailure(failure: ProviderFailure): void
  /** What the attempt beside the late one may cost, if it goes on no longer. */
  lostBeside(): LostCost | null
  /** The one beside is the only one now. */
  onOnlyBeside(): void
  /** Told of an attempt that has answered nothing and may cost something upstream. */
  onLost(attempt: LostAttempt): void
  /** There will be no further attempt, and nothing has been answered. */
  giveUp(failure: ProviderFailure): void
}

export interface RunPorts extends AttemptPorts {
  readonly files: FilePorts
  readonly countTokens: CountTokens
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

/** Takes a streamed answer. Nothing comes after `onEnd` or `onFailure`, nor after `CallHandle.cancel`. */
export interface StreamListener<R extends RoutedRequest, E, A = unknown> {
  /** The body the serving provider was sent; only where the request asks for it, and before the first event. */
  onRequestSent?(body: unknown): void
  /** Lifecycle and content, as the format classes them; the first one is followed by content in the same turn. */
  onEvent(event: E): void
  /** What arrived in one turn is complete. */
  onFlush(): void
  /** The answer is complete and its consumption known. `answer` is there where it was asked for whole. */
  onEnd(generation: Generation<R>, answer: A | null): void
  /** No (further) answer. Whether events came before decides how it is told. */
  onFailure(fault: Fault, generation: Generation<R>): void
}
