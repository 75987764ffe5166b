/** For which calls a second endpoint may be asked where the first is late, and how many of them. */
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { RoutingConfig } from '../catalog/configuration.js'
import type { ChatRequest, RoutedRequest } from '../formats/canonical.js'
import type { Generation } from './generation.js'

/** Parts of a second attempt in which the budget counts, so that shares add up exactly. */
const WHOLE = 1_000_000
/** A long time without late answers lets no more than this many be asked at once. */
const MOST_SAVED = 20 * WHOLE
/** Organizations whose budgets are kept; the one that was met first goes first, and begins anew with nothing. */
const MOST_ORGANIZATIONS = 10_000

/** The second attempts of a process: of each organization a share of its calls, so that none uses up that of another. */
export class Hedging {
  readonly #config: () => RoutingConfig
  /** What organizations have left. */
  readonly #saved = new Map<string, number>()

  constructor(config: () => RoutingConfig) {
    this.#config = config
  }

  /** Calls are watched at all. */
  get isOn(): boolean {
    return this.#config().hedge !== 'never'
  }

  /** A call begins. True where a second endpoint may be asked for it. */
  begin({ operation, request, caller }: Generation<RoutedRequest>): boolean {
    const { hedge, hedgeBudget, rescue } = this.#config()
    if (hedge === 'never' || (operation !== 'chat' && operation !== 'messages')) return false
    this.#earn(caller.organizationId, Math.floor(hedgeBudget * WHOLE))
    const asked = request.provider?.hedge ?? null
    const isWanted = hedge === 'always' ? asked !== false : asked === true
    // Who wants nothing sent again that may have been worked on does not want it sent twice.
    return isWanted && rescue === 'unanswered' && mayBeAskedTwice(request)
  }

  hasRoom(organizationId: string): boolean {
    return (this.#saved.get(organizationId) ?? 0) >= WHOLE
  }

  /** A second endpoint is asked for a call of the organization. */
  spend(organizationId: string): void {
    this.#saved.set(organizationId, (this.#saved.get(organizationId) ?? 0) - WHOLE)
  }

  #earn(organizationId: string, share: number): void {
    const saved = this.#saved.get(organizationId) ?? 0
    this.#saved.set(organizationId, Math.min(MOST_SAVED, saved + share))
    if (this.#saved.size > MOST_ORGANIZATIONS) this.#saved.delete(this.#saved.keys().next().value!)
  }
}

/** Kinds of tools that the caller runs. */
const CALLERS_TOOLS = /^(function|custom|bash_\d+|text_editor_\d+)$/

/** What is read of a request; the names are the same in both formats. */
interface ReadMembers extends RoutedRequest {
  readonly tools?: readonly { readonly type?: string | null }[]
  readonly web_search_options?: unknown
  readonly debug?: { readonly echo_upstream_body?: boolean }
}

/**
 * Whether two providers may work on a call at once: they run no tool themselves, not even one that only reads, keep no
 * files of the answer here, are sent none of the caller's, and the caller is not told what one of them was sent.
 */
export function mayBeAskedTwice(request: RoutedRequest): boolean {
  const { tools = [], files, modalities, web_search_options, debug } = request as ReadMembers & ChatRequest
  if (files !== undefined || debug?.echo_upstream_body === true) return false
  if (web_search_options !== undefined && web_search_options !== null) return false
  if (modalities?.some((each) => each !== 'text') === true) return false
  return tools.every(({ type }) => CALLERS_TOOLS.test(type ?? 'custom'))
}

/**
 * Whether an endpoint may be asked beside another one: it serves the same model, the answer is text alone, and both are
 * on the operator's account, because the loser's bill goes to whoever owns that.
 */
export function isLike(late: ModelEndpoint, other: ModelEndpoint): boolean {
  if (late.own !== undefined || other.own !== undefined || late.model !== other.model) return false
  return !late.model.outputModalities.includes('image')
}
