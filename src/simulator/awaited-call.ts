/** A call that cannot begin before something has been read. */
import { Fault } from '../base/fault.js'
import type { CallHandle, FailureReceiver } from '../gateway/providers/port/provider.js'

/** Begins the call once `ready` is over, whatever comes of it, unless it has been cancelled by then. */
export class AwaitedCall implements CallHandle {
  #call: CallHandle | null = null
  #isPaused = false
  #isCancelled = false

  /** What `begin` throws ends the call: nobody waits for it any more. */
  constructor(ready: Promise<unknown>, receiver: FailureReceiver, begin: () => CallHandle) {
    const go = (): void => {
      if (this.#isCancelled) return
      this.#call = begin()
      if (this.#isPaused) this.#call.pause()
    }
    ready.then(go, go).catch((cause: unknown) => {
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
