/** What stands between a provider's call and the receiver of its answer, and changes the answer on its way. */
import type { CallHandle, ConnectionWaits, ProviderFailure, StreamReceiver } from './provider.js'

/** Hands control over the call through to the one it wraps. */
export abstract class CallAdapter implements CallHandle {
  protected cancelled = false
  #call: CallHandle | null = null

  /** The call whose answer comes here; its first event comes in a later turn. */
  attach(call: CallHandle): this {
    this.#call = call
    return this
  }

  pause(): void {
    this.#call?.pause()
  }

  resume(): void {
    this.#call?.resume()
  }

  cancel(): void {
    this.cancelled = true
    this.#call?.cancel()
  }

  waits(): ConnectionWaits | null {
    return this.#call?.waits?.() ?? null
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
