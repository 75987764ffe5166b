/** How much memory files may take that were fetched for calls under way (contract/decisions 64). */
import type { CompletionReceiver, ProviderFailure, StreamReceiver } from '../port/provider.js'

/** Of one worker; an organization gets a quarter of it, so that none keeps all others out. */
const MOST_BYTES = 256 * 1024 * 1024
const SHARE = 4

export class MediaRoom {
  readonly #most: number
  readonly #held = new Map<string, number>()
  #total = 0

  constructor(most = MOST_BYTES) {
    this.#most = most
  }

  /** Bytes of one call of an organization: they are given back together. */
  begin(organizationId: string): HeldMedia {
    let held = 0
    let isOver = false
    return {
      take: (bytes) => {
        if (isOver) return false
        const own = this.#held.get(organizationId) ?? 0
        if (own + bytes > this.#most / SHARE || this.#total + bytes > this.#most) return false
        held += bytes
        this.#total += bytes
        this.#held.set(organizationId, own + bytes)
        return true
      },
      release: () => {
        isOver = true
        const left = (this.#held.get(organizationId) ?? 0) - held
        this.#total -= held
        held = 0
        if (left > 0) this.#held.set(organizationId, left)
        else this.#held.delete(organizationId)
      },
    }
  }
}

export interface HeldMedia {
  /** False where there is no room for so many more. */
  take(bytes: number): boolean
  /** Gives all of it back, for good; once is enough. */
  release(): void
}

type AnyReceiver = Partial<StreamReceiver<unknown> & CompletionReceiver<unknown>> & {
  onFailure(failure: ProviderFailure): void
}

/** Hands everything on, and tells when the call is over. */
export class EndWatcher implements StreamReceiver<unknown>, CompletionReceiver<unknown> {
  readonly #receiver: AnyReceiver
  readonly #onOver: () => void

  constructor(receiver: AnyReceiver, onOver: () => void) {
    this.#receiver = receiver
    this.#onOver = onOver
  }

  onRequestSent(body: unknown): void {
    this.#receiver.onRequestSent?.(body)
  }

  onEvent(event: unknown): void {
    this.#receiver.onEvent?.(event)
  }

  onFlush(): void {
    this.#receiver.onFlush?.()
  }

  onEnd(answer?: unknown): void {
    this.#onOver()
    this.#receiver.onEnd?.(answer)
  }

  onFailure(failure: ProviderFailure): void {
    this.#onOver()
    this.#receiver.onFailure(failure)
  }
}
