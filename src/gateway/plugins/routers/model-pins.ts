/** Which model a session stays with, where its caller wants it to. */
import type { RouteChoice } from '../port/plugin.js'
import type { RoutableRequest } from './candidates.js'

/** A choice, and every other model that could have been chosen. */
export interface OpenChoice extends RouteChoice {
  readonly eligible: ReadonlySet<string>
}

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

  /**
   * The choice with the model that the conversation has had so far, as long as it could still be chosen: the one that an
   * echoed answer names, else the one of the session. What was chosen anew becomes the session's.
   */
  keep(choice: OpenChoice, request: RoutableRequest, organizationId: string): RouteChoice {
    const { eligible, ...open } = choice
    const session = sessionName(request, organizationId)
    const pinned = this.pinnedModel(request, organizationId)
    if (pinned === null || !eligible.has(pinned)) {
      if (session !== null) this.#pin({ session, model: open.models[0]! })
      return open
    }
    const others = open.models.filter((model) => model !== pinned)
    return { ...open, models: [pinned, ...others], reason: `${pinned} has answered before and is pinned` }
  }

  /** What the conversation has had so far, or null. */
  pinnedModel(request: RoutableRequest, organizationId: string): string | null {
    const said = request.messages?.findLast(
      ({ role, model }) => role === 'assistant' && typeof model === 'string',
    )
    if (said !== undefined) return said.model as string
    const session = sessionName(request, organizationId)
    return session === null ? null : (this.#pinned.get(session) ?? null)
  }

  /** Remembers it for the session, where the request names one. */
  pin(model: string, request: RoutableRequest, organizationId: string): void {
    const session = sessionName(request, organizationId)
    if (session !== null) this.#pin({ session, model })
  }

  #pin(pin: ModelPin): void {
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

/** Sessions of two organizations have nothing to do with each other. */
function sessionName({ session_id: id }: RoutableRequest, organizationId: string): string | null {
  return id === undefined || id === '' ? null : `${organizationId} ${id}`
}
