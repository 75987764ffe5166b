/** In which order the endpoints that are left are tried (contract/gateway 2.7). */

import type { Principal } from '../../base/principal.js'
import type { CallerAccount } from '../catalog/caller-key.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { RoutedRequest } from '../formats/canonical.js'
import type { HealthRegistry } from '../health/health-registry.js'
import { positionInOrder } from './preferences.js'
import type { SessionAffinity } from './session.js'

/** What planning looks at besides the request and the catalogue. */
export interface RoutingState {
  readonly health: HealthRegistry
  readonly sessions: SessionAffinity
  /** From 0 to 1. */
  readonly random: () => number
  /** Absent where nobody has keys with providers. */
  readonly accountOf?: (caller: Principal) => CallerAccount
}

/** Why endpoints stand where they do. */
export interface RankTrace {
  readonly reasons: Map<ModelEndpoint, string[]>
  /** Where a draw decided who comes first: the chance that each had. */
  readonly chances: Map<ModelEndpoint, number>
  /** Endpoints that were arranged together; of a preview only. */
  readonly groups: RankedGroup[]
}

/** What a rank is of; `speed` are the preferred latency and throughput. */
export type RankKind = 'state' | 'order' | 'tier' | 'speed' | SortKind | 'draw'

const SORT_KINDS = ['price', 'latency', 'throughput', 'context'] as const

type SortKind = (typeof SORT_KINDS)[number]

/** Endpoints in order of trial, with the ranks that put them there: less comes first, and the first rank weighs most. */
export interface RankedGroup {
  readonly kinds: readonly RankKind[]
  readonly ranked: readonly RankedEndpoint[]
}

export interface RankedEndpoint {
  readonly endpoint: ModelEndpoint
  readonly rank: readonly number[]
}

type RankFunction = (endpoint: ModelEndpoint) => number

type NamedRank = readonly [RankKind, RankFunction]

/** What the ranks of one request have in common. */
interface RankContext extends RoutingState {
  readonly now: number
  /** The organization that asks. */
  readonly caller: string
  readonly reasons: RankTrace['reasons']
  /** Nobody is going to carry the plan out. */
  readonly isPreview: boolean
}

/**
 * The endpoints in order of trial. What weighs more comes first: whether calls may go there at all, the caller's
 * `order`, the tier, soft preferences, then `sort`; where none of `order` and `sort` is given, the session's endpoint
 * or a price-weighted draw.
 */
export function rankEndpoints(
  endpoints: readonly ModelEndpoint[],
  request: RoutedRequest,
  { organizationId: caller }: Pick<Principal, 'organizationId'>,
  session: string | null,
  state: RoutingState,
  { reasons, chances, groups }: RankTrace,
  isPreview: boolean,
): readonly ModelEndpoint[] {
  if (endpoints.length === 0 || (endpoints.length === 1 && !isPreview)) return endpoints
  const context = { ...state, now: state.health.now(), caller, reasons, isPreview }
  const ranks = preferenceRanks(endpoints, request, session, context)
  const ranked = endpoints
    .map((endpoint) => ({ endpoint, rank: ranks.map(([, rank]) => rank(endpoint)) }))
    .sort((one, other) => compareRanks(one.rank, other.rank))
  if (isPreview) groups.push({ kinds: ranks.map(([kind]) => kind), ranked })
  if (isDrawn(request)) recordChances(ranked, chances)
  return ranked.map(({ endpoint }) => endpoint)
}

/** Who could have come first: all that are alike in every rank but the last, which is the draw. */
function recordChances(ranked: readonly RankedEndpoint[], chances: RankTrace['chances']): void {
  const [first] = ranked
  const last = first!.rank.length - 1
  if (first!.rank[last] === HOME) return
  const alike = ranked.filter(({ rank }) => rank.every((each, at) => at === last || each === first!.rank[at]))
  const weightOf = priceWeights(ranked.map(({ endpoint }) => endpoint))
  const all = alike.reduce((sum, { endpoint }) => sum + weightOf(endpoint), 0)
  if (alike.length < 2) return
  for (const { endpoint } of alike) chances.set(endpoint, weightOf(endpoint) / all)
}

/** Below zero where the first of the two is tried before the other. */
export function compareRanks(one: readonly number[], other: readonly number[]): number {
  for (let at = 0; at < one.length; at++) {
    // Not by their difference: of two infinite ones there is none.
    if (one[at]! < other[at]!) return -1
    if (one[at]! > other[at]!) return 1
  }
  return 0
}

function addReason({ reasons }: RankContext, endpoint: ModelEndpoint, reason: string): void {
  const known = reasons.get(endpoint)
  if (known === undefined) reasons.set(endpoint, [reason])
  else known.push(reason)
}

// ── Health ──────────────────────────────────────────────────────────────────

const STATE_RANKS = { closed: 0, 'half-open': 0, cooling: 1, open: 2 } as const

function breakerStateOf(
  endpoint: ModelEndpoint,
  { health, now, caller }: RankContext,
): keyof typeof STATE_RANKS {
  return endpoint.hasBreaker ? health.of(endpoint).state(now, caller) : 'closed'
}

/** A half-open endpoint keeps its place: one call at a time tries it, the others go on to the next endpoint. */
function stateRank(context: RankContext): RankFunction {
  return (endpoint) => {
    const state = breakerStateOf(endpoint, context)
    if (state !== 'closed') addReason(context, endpoint, `its breaker is ${state}`)
    return STATE_RANKS[state]
  }
}

// ── The caller's preferences ────────────────────────────────────────────────

/** `by` of the requested sort; null when there is none. */
function requestedSort({ provider }: RoutedRequest): SortKind | null {
  const sort = provider?.sort
  const by = typeof sort === 'string' ? sort : sort?.by
  return SORT_KINDS.find((kind) => kind === by) ?? null
}

function preferenceRanks(
  endpoints: readonly ModelEndpoint[],
  request: RoutedRequest,
  session: string | null,
  context: RankContext,
): NamedRank[] {
  const order = request.provider?.order ?? []
  const latency = parseThresholds(request.provider?.preferred_max_latency, 1000)
  const throughput = parseThresholds(request.provider?.preferred_min_throughput, 1)
  const sort = requestedSort(request)
  const ranks: (NamedRank | null)[] = [
    ['state', stateRank(context)],
    order.length === 0 ? null : ['order', orderRank(order, context)],
    request.service_tier === 'ultrafast' ? ['tier', tierRank(context)] : null,
    latency === null && throughput === null ? null : ['speed', thresholdRank(latency, throughput, context)],
    sort === null ? null : [sort, sortRank(sort, context)],
    isDrawn(request) ? ['draw', drawRank(endpoints, session, context)] : null,
  ]
  return ranks.filter((rank) => rank !== null)
}

function orderRank(order: readonly string[], context: RankContext): RankFunction {
  return (endpoint) => {
    const place = positionInOrder(order, endpoint)
    const isNamed = place < order.length
    addReason(context, endpoint, isNamed ? `place ${place + 1} of provider.order` : 'not in provider.order')
    return place
  }
}

/** An endpoint whose tiers are not known stands with those that have `priority`. */
function tierRank(context: RankContext): RankFunction {
  return (endpoint) => {
    const { serviceTiers } = endpoint
    if (serviceTiers?.has('ultrafast') === true) {
      addReason(context, endpoint, 'has the tier ultrafast')
      return 0
    }
    return serviceTiers === null || serviceTiers.has('priority') ? 1 : 2
  }
}

type PercentileThresholds = readonly (readonly [p: number, value: number])[]

const PERCENTILES = { p50: 0.5, p75: 0.75, p90: 0.9, p99: 0.99 } as const

/** A number is a threshold of the median. `scale` turns the caller's unit into ours. */
function parseThresholds(preference: unknown, scale: number): PercentileThresholds | null {
  if (typeof preference === 'number') return [[0.5, preference * scale]]
  if (typeof preference !== 'object' || preference === null) return null
  const members = preference as Record<string, unknown>
  const found = Object.entries(PERCENTILES).flatMap(([name, p]): PercentileThresholds => {
    const value = members[name]
    return typeof value === 'number' ? [[p, value * scale]] : []
  })
  return found.length === 0 ? null : found
}

/** An endpoint known to miss a threshold stands behind; one that is not known gets the chance to show its speed. */
function thresholdRank(
  latency: PercentileThresholds | null,
  throughput: PercentileThresholds | null,
  context: RankContext,
): RankFunction {
  const { health, now } = context
  return (endpoint) => {
    const known = health.of(endpoint)
    const isLate = latency?.some(([p, most]) => (known.latency.quantile(p, now) ?? 0) > most) ?? false
    const isSlow =
      throughput?.some(([p, least]) => (known.throughput.quantile(p, now) ?? Infinity) < least) ?? false
    if (isLate) addReason(context, endpoint, 'slower than preferred_max_latency')
    if (isSlow) addReason(context, endpoint, 'slower than preferred_min_throughput')
    return isLate || isSlow ? 1 : 0
  }
}

function sortRank(by: SortKind, context: RankContext): RankFunction {
  const { health, now } = context
  const addFigure = (endpoint: ModelEndpoint, what: string, value: number | null): void =>
    addReason(context, endpoint, `${what}: ${value === null ? 'not measured' : formatRounded(value)}`)
  switch (by) {
    case 'price':
      return (endpoint) => {
        const price = combinedPrice(endpoint)
        addFigure(endpoint, 'price per million tokens', price / 1e9)
        return price
      }
    case 'latency':
      return (endpoint) => {
        const ms = health.of(endpoint).latency.quantile(0.5, now)
        addFigure(endpoint, 'median latency in ms', ms)
        // Unmeasured ones come first: one call measures them.
        return ms ?? 0
      }
    case 'throughput':
      return (endpoint) => {
        const speed = health.of(endpoint).throughput.quantile(0.5, now)
        addFigure(endpoint, 'median tokens per second', speed)
        return speed === null ? Number.NEGATIVE_INFINITY : -speed
      }
    case 'context':
      return (endpoint) => {
        const length = endpoint.contextLength ?? endpoint.model.contextLength ?? 0
        addFigure(endpoint, 'context length', length)
        return -length
      }
  }
}

function formatRounded(value: number): string {
  return String(Math.round(value * 1000) / 1000)
}

/** Prompt and completion weigh alike: how long an answer gets is not known. */
export function combinedPrice({ prices }: ModelEndpoint): number {
  return prices.prompt + prices.completion
}

// ── Where the caller has no preference ──────────────────────────────────────

function isDrawn(request: RoutedRequest): boolean {
  return (request.provider?.order ?? []).length === 0 && requestedSort(request) === null
}

/** Of the endpoint that a session stays with; lots are not below 0. */
export const HOME = -1

/** Of prices that are all zero none is cheaper; beside a free one the others hardly count. */
function priceWeights(endpoints: readonly ModelEndpoint[]): RankFunction {
  const cheapest = Math.max(1, Math.min(...endpoints.map(combinedPrice)))
  return (endpoint) => (cheapest / Math.max(1, combinedPrice(endpoint))) ** 2
}

/** Half the price gets four times the calls; a session draws once and for all. */
function drawRank(
  endpoints: readonly ModelEndpoint[],
  session: string | null,
  context: RankContext,
): RankFunction {
  const { sessions, random, isPreview } = context
  const weightOf = priceWeights(endpoints)
  const isHealthy = (each: ModelEndpoint): boolean => breakerStateOf(each, context) === 'closed'
  // Sessions may stay at a half-open endpoint: it needs calls that try it.
  const mayStay = (each: ModelEndpoint): boolean => STATE_RANKS[breakerStateOf(each, context)] === 0
  const judgement = { isHealthy, mayStay, weightOf }
  // A preview must not move the session.
  const home = session === null ? null : sessions.chooseEndpoint(session, endpoints, judgement, isPreview)
  return (endpoint) => {
    if (endpoint === home) {
      addReason(context, endpoint, 'the session stays with it')
      return HOME
    }
    addReason(context, endpoint, `weight by price: ${formatRounded(weightOf(endpoint))}`)
    return -Math.log(1 - random()) / weightOf(endpoint)
  }
}
