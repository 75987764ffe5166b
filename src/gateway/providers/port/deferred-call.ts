/** A call that waits for something before it is sent: a file that is fetched, a module that is loaded. */
import { Fault } from '../../../base/fault.js'
import { CallAdapter, type CallHandle, type ConnectionWaits, type FailureReceiver } from './provider.js'

/**
 * Begins a call with what was waited for, unless the caller has gone by then. What the wait rejects with ends the call;
 * its provider has seen nothing. `onCancel` ends what is waited for.
 */
export function deferCall<T>(
  ready: Promise<T>,
  begin: (value: T) => CallHandle,
  receiver: FailureReceiver,
  onCancel: () => void = () => {},
): CallHandle {
  return new DeferredCall(ready, begin, receiver, onCancel)
}

class DeferredCall<T> extends CallAdapter {
  readonly #onCancel: () => void
  #isPaused = false
  #waitedMs = 0

  constructor(
    ready: Promise<T>,
    begin: (value: T) => CallHandle,
    receiver: FailureReceiver,
    onCancel: () => void,
  ) {
    super()
    this.#onCancel = onCancel
    const beganAt = performance.now()
    const fail = (error: unknown): void => {
      if (this.cancelled) return
      const fault = error instanceof Fault ? error : new Fault('internal', { cause: error })
      receiver.onFailure({ fault, class: 'not-sent', status: 0 })
    }
    const send = (value: T): void => {
      if (this.cancelled) return
      this.#waitedMs = performance.now() - beganAt
      this.attach(begin(value))
      if (this.#isPaused) this.call?.pause()
    }
    void ready.then(send).catch(fail)
  }

  override cancel(): void {
    super.cancel()
    this.#onCancel()
  }

  override waits(): ConnectionWaits | null {
    const waits = super.waits()
    return waits === null ? null : { ...waits, preparedMs: this.#waitedMs + (waits.preparedMs ?? 0) }
  }

  override pause(): void {
    this.#isPaused = true
    super.pause()
  }

  override resume(): void {
    this.#isPaused = false
    super.resume()
  }
}
