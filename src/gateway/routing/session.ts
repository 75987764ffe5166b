/**
 * Which endpoint a session stays with. The choice follows from the session's name alone, so every process makes the
 * same one without asking; only a session that had to move is remembered, and told to the others.
 */
import type { ModelEndpoint } from '../catalog.js'

/** A session has moved. `session` is an opaque name. */
export interface SessionNews {
  readonly session: string
  readonly endpoint: string
}

/** Moved sessions that are remembered; the one that moved longest ago is forgotten first. */
const MOST_MOVED = 20_000

export class Sessions {
  readonly #moved = new Map<string, string>()
  readonly #tell: ((news: SessionNews) => void) | null

  constructor(tell: ((news: SessionNews) => void) | null) {
    this.#tell = tell
  }

  /**
   * The endpoint of a session among `candidates` (at least one), of which `isHealthy` tells those that may be chosen.
   * `weightOf` decides how sessions spread. When none is healthy the session stays where it is.
   */
  choose(
    session: string,
    candidates: readonly ModelEndpoint[],
    isHealthy: (endpoint: ModelEndpoint) => boolean,
    weightOf: (endpoint: ModelEndpoint) => number,
  ): ModelEndpoint {
    const key = this.#moved.get(session)
    const home = candidates.find((each) => each.key === key) ?? drawn(session, candidates, weightOf)
    if (isHealthy(home)) return home
    const healthy = candidates.filter(isHealthy)
    if (healthy.length === 0) return home
    const moved = drawn(session, healthy, weightOf)
    this.#remember(session, moved.key)
    this.#tell?.({ session, endpoint: moved.key })
    return moved
  }

  /** Another process has seen it move. */
  hear({ session, endpoint }: SessionNews): void {
    this.#remember(session, endpoint)
  }

  #remember(session: string, endpoint: string): void {
    this.#moved.delete(session)
    this.#moved.set(session, endpoint)
    if (this.#moved.size > MOST_MOVED) this.#moved.delete(this.#moved.keys().next().value!)
  }
}

/** Rendezvous hashing: each endpoint draws a lot from the session's name and its own, and the best lot wins. */
function drawn(
  session: string,
  candidates: readonly ModelEndpoint[],
  weightOf: (endpoint: ModelEndpoint) => number,
): ModelEndpoint {
  let best = candidates[0]!
  let bestLot = Number.POSITIVE_INFINITY
  for (const each of candidates) {
    const lot = -Math.log(fraction(`${session} ${each.key}`)) / weightOf(each)
    if (lot >= bestLot) continue
    best = each
    bestLot = lot
  }
  return best
}

/** A number between 0 and 1, neither included, that follows from the text: FNV-1a, then a finishing mix. */
function fraction(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  }
  hash ^= hash >>> 16
  hash = Math.imul(hash, 0x85ebca6b)
  hash ^= hash >>> 13
  hash = Math.imul(hash, 0xc2b2ae35)
  hash ^= hash >>> 16
  return ((hash >>> 0) + 0.5) / 2 ** 32
}
