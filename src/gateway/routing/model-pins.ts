/** Which model a session stays with, where its caller wants it to. */

/** A session has been given a model. `session` is an opaque name. */
export interface ModelPin {
  readonly session: string
  readonly model: string
}

/** Sessions that are remembered; the one that was pinned longest ago is forgotten first. */
const MAX_PINNED = 20_000

export class ModelPins {
  readonly #pinned = new Map<string, string>()
  readonly #broadcast: ((pin: ModelPin) => void) | null

  constructor(broadcast: ((pin: ModelPin) => void) | null = null) {
    this.#broadcast = broadcast
  }

  /** The session's model, or null. */
  find(session: string): string | null {
    return this.#pinned.get(session) ?? null
  }

  /** A pin that stands already is told to nobody. */
  pin(pin: ModelPin): void {
    if (this.find(pin.session) === pin.model) return
    this.applyPeerPin(pin)
    this.#broadcast?.(pin)
  }

  /** Another process has pinned it. */
  applyPeerPin({ session, model }: ModelPin): void {
    this.#pinned.delete(session)
    this.#pinned.set(session, model)
    if (this.#pinned.size > MAX_PINNED) this.#pinned.delete(this.#pinned.keys().next().value!)
  }
}
