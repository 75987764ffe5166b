/** The port to a model provider. One implementation per wire format, and the simulated one. */
import type { Cancellation } from '../../../base/cancellation.js'
import type { Fault } from '../../../base/fault.js'
import type { Principal } from '../../../base/principal.js'
import type {
  NoSpeechAnswer,
  SpeechEvent,
  SpeechRequest,
  Transcript,
  TranscriptionRequest,
} from '../../formats/audio.js'
import type {
  ChatEvent,
  ChatRequest,
  Completion,
  ReasoningEffort,
  RoutedRequest,
} from '../../formats/canonical.js'
import type { Embeddings, EmbeddingsRequest } from '../../formats/embeddings.js'
import type { MessagesAnswer, MessagesEvent, MessagesRequest } from '../../formats/messages.js'
import type {
  AccountCall,
  AccountFile,
  AccountFilePage,
  AccountFileQuery,
  NewAccountFile,
} from './account-files.js'

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

/** What a provider is told of the endpoint that is to answer. An endpoint of the catalogue is one. */
export interface TargetEndpoint {
  /** The same in every process and over reloads. */
  readonly key: string
  readonly model: { readonly id: string; readonly outputModalities?: readonly string[] }
  readonly provider: { readonly name: string; readonly slug: string }
  /** Name of the model at the provider. */
  readonly upstreamModel: string
  readonly contextLength: number | null
  readonly maxCompletionTokens: number | null
  /** Parameters of the request that the endpoint supports. */
  readonly supportedParameters: ReadonlySet<string>
  /** Behaviour of a simulated endpoint, already validated; null for real ones. */
  readonly simulation: unknown
  /** Present where it is called with a key of the caller's own. */
  readonly own?: { readonly keyId: string }
}

export interface ProviderCall<R extends RoutedRequest = ChatRequest> {
  readonly request: R
  readonly endpoint: TargetEndpoint
  /** Our generation id; providers may use it as an idempotency key. */
  readonly generationId: string
  /** Who calls; for what is kept here, never for a provider's eyes. */
  readonly caller: Principal
  /** Hashed identity of the end user, or of the account when the caller named none. Safe to send upstream. */
  readonly endUser: string
  /** The tier to ask this endpoint for; undefined when the request names none. */
  readonly serviceTier: string | undefined
  /** Text of the header that asks the simulated provider for a fault; `''` when absent. */
  readonly simulate: string
  /** `performance.now()` beyond which the whole call is late. */
  readonly deadlineAt: number
  /** It changes nothing at the provider but a bill, so it may be sent again where nothing was answered. */
  readonly repeatable: boolean
  /** Takes the names of request fields that this provider's format cannot say and that were left out. */
  readonly droppedFields: string[]
}

/** The effort that a chat request asks for: an update within the conversation is the latest word. */
export function requestedEffort(request: ChatRequest): ReasoningEffort | null | undefined {
  const { messages, reasoning, reasoning_effort } = request
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i]!
    if (message.role !== 'system' && message.role !== 'developer') continue
    const effort = message.configuration_update?.reasoning.effort
    if (effort !== undefined) return effort
  }
  return reasoning_effort ?? reasoning?.effort
}

export interface FailureReceiver {
  /** Before or after the first event. An answer without its terminator ends here too. */
  onFailure(failure: ProviderFailure): void
}

/** Takes a streamed answer. After `ended` or `failed`, and after `Flow.cancel`, nothing more is called. */
export interface StreamReceiver<E = ChatEvent> extends FailureReceiver {
  /** The body that goes to the provider, as sent; called only when `call.request.debug.echo_upstream_body` asks. */
  onRequestSent?(body: unknown): void
  onEvent(event: E): void
  /** Everything that arrived in one turn has been handed over; a good moment to write. */
  onFlush(): void
  /** The provider finished properly, with its terminator. */
  onEnd(): void
}

export interface CompletionReceiver<A = Completion> extends FailureReceiver {
  onEnd(answer: A): void
}

/** Control over a call under way. */
export interface CallHandle {
  /**
   * Stops reading from the provider, so that its socket fills: backpressure. A call that does not stream ignores
   * it.
   */
  pause(): void
  resume(): void
  /** Ends the provider call at once, in every phase: the socket is destroyed, no timer stays. Idempotent. */
  cancel(): void
  /** What the call has waited for, as far as it has come; absent where there is nothing to wait for. */
  waits?(): ConnectionWaits | null
}

/** Milliseconds. */
export interface ConnectionWaits {
  /** For a free connection. */
  readonly queueMs: number
  /** For TCP and TLS. */
  readonly connectMs: number
  /** For what the call sends along, before it was begun: files of the caller's choice, which say nothing of the provider. */
  readonly preparedMs?: number
}

/** How one format of request is served. Never throws: what fails at once is told to the receiver in a later turn. */
export interface ProviderApi<R extends RoutedRequest, E, A> {
  stream(call: ProviderCall<R>, receiver: StreamReceiver<E>): CallHandle
  complete(call: ProviderCall<R>, receiver: CompletionReceiver<A>): CallHandle
}

export type ChatApi = ProviderApi<ChatRequest, ChatEvent, Completion>
export type SpeechApi = ProviderApi<SpeechRequest, SpeechEvent, NoSpeechAnswer>
export type TranscriptionApi = ProviderApi<TranscriptionRequest, never, Transcript>
export type EmbeddingsApi = ProviderApi<EmbeddingsRequest, never, Embeddings>
export type MessagesApi = ProviderApi<MessagesRequest, MessagesEvent, MessagesAnswer>

/** Takes a content. After `onEnd` or `onFailure`, and after `cancel`, nothing more is called. */
export interface ContentReceiver extends FailureReceiver {
  /** The content will come. */
  onHead(): void
  /** Borrowed. */
  onData(piece: Uint8Array): void
  onEnd(): void
}

/**
 * The files of one account. Promises reject with the fault that the caller is told. Ids become part of a path: whoever
 * calls has seen to it that they are words.
 */
export interface AccountFiles {
  create(call: AccountCall, file: NewAccountFile): Promise<AccountFile>
  list(call: AccountCall, page: AccountFileQuery): Promise<AccountFilePage>
  read(call: AccountCall, id: string): Promise<AccountFile>
  remove(call: AccountCall, id: string): Promise<void>
  /** Nothing is told before it has returned. Larger contents than `maxBytes` fail with `bad-request`. */
  content(call: AccountCall, id: string, maxBytes: number, receiver: ContentReceiver): CallHandle
}

/** Every provider serves chat; one whose own format is another one translates. */
export interface Provider extends ChatApi {
  /** Where it speaks text. Its `complete` is never called. */
  readonly speech?: SpeechApi
  /** Where it transcribes. Its `stream` is never called. */
  readonly transcription?: TranscriptionApi
  /** Where it embeds. Its `stream` is never called. */
  readonly embeddings?: EmbeddingsApi
  /** Where it speaks the messages format itself; otherwise the gateway translates. */
  readonly messages?: MessagesApi
  /** The files of its account, where it keeps any. */
  readonly files?: AccountFiles
  /** It runs tools under the names that the messages format has for them (contract/tools 3.12). */
  readonly runsNativeTools?: boolean
  /**
   * Input tokens of a messages request as the provider itself counts them, where it offers that; otherwise ours are
   * estimated. Resolves to a fault when the provider refuses or fails; never rejects.
   */
  countMessages?(call: ProviderCall<MessagesRequest>, caller: Cancellation): Promise<number | Fault>
}

// ── Between a call and the receiver of its answer ───────────────────────────

/** Hands control over the call through to the one it wraps. */
export abstract class CallAdapter<C extends CallHandle = CallHandle> implements CallHandle {
  protected cancelled = false
  protected call: C | null = null

  /** The call whose answer comes here; its first event comes in a later turn. */
  attach(call: C): this {
    this.call = call
    return this
  }

  pause(): void {
    this.call?.pause()
  }

  resume(): void {
    this.call?.resume()
  }

  cancel(): void {
    this.cancelled = true
    this.call?.cancel()
  }

  waits(): ConnectionWaits | null {
    return this.call?.waits?.() ?? null
  }
}

/** Turns the events of one format into those of another; what it does not override passes through. */
export abstract class StreamAdapter<In, Out> extends CallAdapter implements StreamReceiver<In> {
  protected readonly receiver: StreamReceiver<Out>

  constructor(receiver: StreamReceiver<Out>) {
    super()
    this.receiver = receiver
  }

  abstract onEvent(event: In): void

  onRequestSent(body: unknown): void {
    this.receiver.onRequestSent?.(body)
  }

  onFlush(): void {
    this.receiver.onFlush()
  }

  onEnd(): void {
    this.receiver.onEnd()
  }

  onFailure(failure: ProviderFailure): void {
    this.receiver.onFailure(failure)
  }

  /** A receiver that has cancelled while it took an event is not told the rest of it. */
  protected emit(event: Out): void {
    if (!this.cancelled) this.receiver.onEvent(event)
  }
}
