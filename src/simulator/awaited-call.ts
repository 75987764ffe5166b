/** A call that cannot begin before something has been read. */
import { Fault } from '../base/fault.js'
import type { CallHandle, FailureReceiver } from '../gateway/providers/port/provider.js'

/** Begins the call with what `ready` brings, unless it has been cancelled by then. */
export class AwaitedCall<T> implements CallHandle {
  #call: CallHandle | null = null
  #isPaused = false
  #isCancelled = false

  /** What `begin` throws ends the call, as does a rejection: nobody waits for it any more. */
  constructor(ready: Promise<T>, receiver: FailureReceiver, begin: (brought: T) => CallHandle) {
    const go = (brought: T): void => {
      if (this.#isCancelled) return
      this.#call = begin(brought)
      if (this.#isPaused) this.#call.pause()
    }
    ready.then(go).catch((cause: unknown) => {
      receiver.onFailure({ fault: new Fault('internal', { cause }), class: 'maybe-processed', status: 0 })
    })
  }

  pause(): void {
    this.#isPaused = true
    this.#call?.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#call?.resume()
  }

  cancel(): void {
    this.#isCancelled = true
    this.#call?.cancel()
  }
}
