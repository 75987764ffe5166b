/**
 * Which endpoint a session stays with. The choice follows from the session's name alone, so every process makes the
 * same one without asking; only a session that had to move is remembered, and told to the others.
 */
import type { ModelEndpoint } from '../catalog/catalog.js'

/** A session has moved. `session` is an opaque name. */
export interface SessionMove {
  readonly session: string
  readonly endpoint: string
  /** How often it has moved by now. */
  readonly moves: number
}

/** Moved sessions that are remembered; the one that moved longest ago is forgotten first. */
const MAX_MOVED = 20_000

/** How endpoints are judged where a session is placed. */
interface EndpointJudgement {
  /** Whether a session may move there. */
  isHealthy(endpoint: ModelEndpoint): boolean
  /** Whether one that is there may stay. */
  mayStay(endpoint: ModelEndpoint): boolean
  /** How sessions spread. */
  weightOf(endpoint: ModelEndpoint): number
}

export class SessionAffinity {
  readonly #moved = new Map<string, SessionMove>()
  readonly #broadcast: ((move: SessionMove) => void) | null

  constructor(broadcast: ((move: SessionMove) => void) | null) {
    this.#broadcast = broadcast
  }

  /**
   * The endpoint of a session among `candidates` (at least one). When none is healthy the session stays where it is.
   * With `isPreview` it is not moved: this is where it would go.
   */
  chooseEndpoint(
    session: string,
    candidates: readonly ModelEndpoint[],
    { isHealthy, mayStay, weightOf }: EndpointJudgement,
    isPreview = false,
  ): ModelEndpoint {
    const moved = this.#moved.get(session)
    const home =
      candidates.find((each) => each.key === moved?.endpoint) ??
      rendezvousChoice(session, candidates, weightOf)
    if (mayStay(home)) return home
    const healthy = candidates.filter(isHealthy)
    if (healthy.length === 0) return home
    const chosen = rendezvousChoice(session, healthy, weightOf)
    if (chosen === home || isPreview) return chosen
    const move = { session, endpoint: chosen.key, moves: (moved?.moves ?? 0) + 1 }
    this.#remember(move)
    this.#broadcast?.(move)
    return chosen
  }

  /**
   * Another process has seen it move. Two that saw it at once may have moved it to different endpoints: the later
   * move counts, and of two alike the first by name, so that all agree.
   */
  applyPeerMove(move: SessionMove): void {
    const known = this.#moved.get(move.session)
    if (known !== undefined) {
      if (known.moves > move.moves) return
      if (known.moves === move.moves && known.endpoint <= move.endpoint) return
    }
    this.#remember(move)
  }

  #remember(move: SessionMove): void {
    this.#moved.delete(move.session)
    this.#moved.set(move.session, move)
    if (this.#moved.size > MAX_MOVED) this.#moved.delete(this.#moved.keys().next().value!)
  }
}

/** Rendezvous hashing: each endpoint draws a lot from the session's name and its own, and the best lot wins. */
function rendezvousChoice(
  session: string,
  candidates: readonly ModelEndpoint[],
  weightOf: (endpoint: ModelEndpoint) => number,
): ModelEndpoint {
  let best = candidates[0]!
  let bestLot = Number.POSITIVE_INFINITY
  for (const each of candidates) {
    const lot = -Math.log(hashToFraction(`${session} ${each.key}`)) / weightOf(each)
    if (lot >= bestLot) continue
    best = each
    bestLot = lot
  }
  return best
}

/** A number between 0 and 1, neither included, that follows from the text: FNV-1a, then a finishing mix. */
function hashToFraction(text: string): number {
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
