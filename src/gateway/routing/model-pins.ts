/** Which model a session stays with, where its caller wants it to. */

/** A session has been given a model. `session` is the id of its organization, a space, and an opaque name. */
export interface ModelPin {
  readonly session: string
  readonly model: string
}

/** Sessions that are remembered; of the organization that has pinned longest ago the oldest is forgotten first. */
const MAX_PINNED = 20_000
/** Of one organization: many sessions of one do not make those of others forgotten. */
const MAX_OF_ONE = 1_000

export class ModelPins {
  /** By organization. */
  readonly #pinned = new Map<string, Map<string, string>>()
  readonly #broadcast: ((pin: ModelPin) => void) | null
  #size = 0

  constructor(broadcast: ((pin: ModelPin) => void) | null = null) {
    this.#broadcast = broadcast
  }

  /** The session's model, or null. */
  find(session: string): string | null {
    return this.#pinned.get(ownerOf(session))?.get(session) ?? null
  }

  /** A pin that stands already is told to nobody. */
  pin(pin: ModelPin): void {
    if (this.find(pin.session) === pin.model) return
    this.applyPeerPin(pin)
    this.#broadcast?.(pin)
  }

  /** Another process has pinned it. */
  applyPeerPin({ session, model }: ModelPin): void {
    const owner = ownerOf(session)
    const own = this.#pinned.get(owner) ?? new Map<string, string>()
    this.#pinned.delete(owner)
    this.#pinned.set(owner, own)
    if (own.delete(session)) this.#size--
    own.set(session, model)
    this.#size++
    if (own.size > MAX_OF_ONE) this.#forgetOldest(owner)
    if (this.#size > MAX_PINNED) this.#forgetOldest(this.#pinned.keys().next().value!)
  }

  #forgetOldest(owner: string): void {
    const own = this.#pinned.get(owner)!
    own.delete(own.keys().next().value!)
    this.#size--
    if (own.size === 0) this.#pinned.delete(owner)
  }
}

function ownerOf(session: string): string {
  return session.slice(0, session.indexOf(' '))
}
