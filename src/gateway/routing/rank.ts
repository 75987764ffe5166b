/** In which order the endpoints that are left are tried (contract/gateway 2.7). */

import type { ModelEndpoint } from '../catalog/catalog.js'
import type { ProviderPreferences, RoutedRequest } from '../formats/canonical.js'
import type { HealthRegistry } from '../health/health-registry.js'
import { positionInOrder } from './preferences.js'
import type { SessionAffinity } from './session.js'

/** What planning looks at besides the request and the catalogue. */
export interface RoutingState {
  readonly health: HealthRegistry
  readonly sessions: SessionAffinity
  /** From 0 to 1. */
  readonly random: () => number
}

/** Why an endpoint stands where it does, for who asks. */
export type RankReasons = Map<ModelEndpoint, string[]>

type RankFunction = (endpoint: ModelEndpoint) => number

/**
 * The endpoints in order of trial. What weighs more comes first: whether calls may go there at all, the caller's
 * `order`, the tier, soft preferences, then `sort`; where none of `order` and `sort` is given, the session's endpoint
 * or a price-weighted draw.
 */
export function rankEndpoints(
  endpoints: readonly ModelEndpoint[],
  request: RoutedRequest,
  session: string | null,
  situation: RoutingState,
  reasons: RankReasons | null,
): readonly ModelEndpoint[] {
  if (endpoints.length === 0 || (endpoints.length === 1 && reasons === null)) return endpoints
  const { health } = situation
  const now = health.now()
  const stateOf = (each: ModelEndpoint): string => (each.hasBreaker ? health.of(each).state(now) : 'closed')
  const ranks: RankFunction[] = [
    stateRank(situation, now, reasons),
    ...preferenceRanks(request, situation, now, reasons),
  ]
  const preferences = request.provider ?? NONE
  if (requestedSort(request) === null && requestedOrder(preferences) === null) {
    ranks.push(drawRank(endpoints, session, situation, stateOf, reasons))
  }
  return [...endpoints]
    .map((endpoint) => ({ endpoint, rank: ranks.map((rank) => rank(endpoint)) }))
    .sort((one, other) => compareRanks(one.rank, other.rank))
    .map(({ endpoint }) => endpoint)
}

const NONE: ProviderPreferences = Object.freeze({})

function compareRanks(one: readonly number[], other: readonly number[]): number {
  for (let at = 0; at < one.length; at++) {
    // Not by their difference: of two infinite ones there is none.
    if (one[at]! < other[at]!) return -1
    if (one[at]! > other[at]!) return 1
  }
  return 0
}

function addReason(reasons: RankReasons | null, endpoint: ModelEndpoint, reason: string): void {
  if (reasons === null) return
  const noted = reasons.get(endpoint)
  if (noted === undefined) reasons.set(endpoint, [reason])
  else noted.push(reason)
}

// ── Health ──────────────────────────────────────────────────────────────────

const STATE_RANKS = { closed: 0, 'half-open': 0, cooling: 1, open: 2 } as const

/** A half-open one keeps its place: one call at a time tries it, the others pass on. */
function stateRank({ health }: RoutingState, now: number, reasons: RankReasons | null): RankFunction {
  return (endpoint) => {
    const state = endpoint.hasBreaker ? health.of(endpoint).state(now) : 'closed'
    if (state !== 'closed') addReason(reasons, endpoint, `its breaker is ${state}`)
    return STATE_RANKS[state]
  }
}

// ── The caller's wishes ─────────────────────────────────────────────────────

function requestedOrder({ order }: ProviderPreferences): readonly string[] | null {
  return order === undefined || order === null || order.length === 0 ? null : order
}

/** `by` of the wished sort; null when there is none. */
function requestedSort({ provider }: RoutedRequest): string | null {
  const sort = provider?.sort
  return (typeof sort === 'string' ? sort : sort?.by) ?? null
}

function preferenceRanks(
  request: RoutedRequest,
  situation: RoutingState,
  now: number,
  reasons: RankReasons | null,
): RankFunction[] {
  const preferences = request.provider ?? NONE
  const ranks: RankFunction[] = []
  const order = requestedOrder(preferences)
  if (order !== null) ranks.push(orderRank(order, reasons))
  if (request.service_tier === 'ultrafast') ranks.push(tierRank(reasons))
  const slowness = parseThresholds(preferences.preferred_max_latency, 1000)
  const speed = parseThresholds(preferences.preferred_min_throughput, 1)
  if (slowness !== null || speed !== null) ranks.push(thresholdRank(slowness, speed, situation, now, reasons))
  const by = sortRank(requestedSort(request), situation, now, reasons)
  if (by !== null) ranks.push(by)
  return ranks
}

function orderRank(order: readonly string[], reasons: RankReasons | null): RankFunction {
  return (endpoint) => {
    const place = positionInOrder(order, endpoint)
    addReason(
      reasons,
      endpoint,
      place < order.length ? `place ${place + 1} of provider.order` : 'not in provider.order',
    )
    return place
  }
}

/** Who does not say what tiers it has stands with those that have priority. */
function tierRank(reasons: RankReasons | null): RankFunction {
  return (endpoint) => {
    const { serviceTiers } = endpoint
    if (serviceTiers?.has('ultrafast') === true) {
      addReason(reasons, endpoint, 'has the tier ultrafast')
      return 0
    }
    return serviceTiers === null || serviceTiers.has('priority') ? 1 : 2
  }
}

type PercentileThresholds = readonly (readonly [p: number, value: number])[]

const PERCENTILES = [
  ['p50', 0.5],
  ['p75', 0.75],
  ['p90', 0.9],
  ['p99', 0.99],
] as const

/** A number is one for the median. `scale` turns the caller's unit into ours. */
function parseThresholds(wish: unknown, scale: number): PercentileThresholds | null {
  if (typeof wish === 'number') return [[0.5, wish * scale]]
  if (typeof wish !== 'object' || wish === null) return null
  const members = wish as Record<string, unknown>
  const found: [number, number][] = []
  for (const [name, p] of PERCENTILES) {
    const value = members[name]
    if (typeof value === 'number') found.push([p, value * scale])
  }
  return found.length === 0 ? null : found
}

/** Who is known to miss a wish stands behind; who is not known gets the chance to show. */
function thresholdRank(
  slowness: PercentileThresholds | null,
  speed: PercentileThresholds | null,
  { health }: RoutingState,
  now: number,
  reasons: RankReasons | null,
): RankFunction {
  return (endpoint) => {
    const known = health.of(endpoint)
    const slow = slowness?.some(([p, most]) => (known.latencyMs(p, now) ?? 0) > most) ?? false
    const lame = speed?.some(([p, least]) => (known.throughput(p, now) ?? Infinity) < least) ?? false
    if (slow) addReason(reasons, endpoint, 'slower than preferred_max_latency')
    if (lame) addReason(reasons, endpoint, 'slower than preferred_min_throughput')
    return slow || lame ? 1 : 0
  }
}

/** `exacto` asks for quality, of which nothing is known here: the order of the configuration stays. */
function sortRank(
  by: string | null,
  { health }: RoutingState,
  now: number,
  reasons: RankReasons | null,
): RankFunction | null {
  switch (by) {
    case 'price':
      return (endpoint) => {
        const price = combinedPrice(endpoint)
        addMeasuredReason(reasons, endpoint, 'price per million tokens', price / 1e9)
        return price
      }
    case 'latency':
      return (endpoint) => {
        const ms = health.of(endpoint).latencyMs(0.5, now)
        addMeasuredReason(reasons, endpoint, 'median latency in ms', ms)
        // Unmeasured ones come first: one call measures them.
        return ms ?? 0
      }
    case 'throughput':
      return (endpoint) => {
        const speed = health.of(endpoint).throughput(0.5, now)
        addMeasuredReason(reasons, endpoint, 'median tokens per second', speed)
        return speed === null ? Number.NEGATIVE_INFINITY : -speed
      }
    default:
      return by === null ? null : () => 0
  }
}

function addMeasuredReason(
  reasons: RankReasons | null,
  endpoint: ModelEndpoint,
  what: string,
  value: number | null,
): void {
  addReason(reasons, endpoint, `${what}: ${value === null ? 'not measured' : formatRounded(value)}`)
}

function formatRounded(value: number): string {
  return String(Math.round(value * 1000) / 1000)
}

/** Prompt and completion weigh alike: how long an answer gets is not known. */
export function combinedPrice({ prices }: ModelEndpoint): number {
  return prices.prompt + prices.completion
}

// ── Where nothing is asked ──────────────────────────────────────────────────

/** Of prices that are all zero none is cheaper; beside a free one the others hardly count. */
function priceWeights(endpoints: readonly ModelEndpoint[]): (endpoint: ModelEndpoint) => number {
  const cheapest = Math.max(1, Math.min(...endpoints.map(combinedPrice)))
  return (endpoint) => (cheapest / Math.max(1, combinedPrice(endpoint))) ** 2
}

/** Half the price gets four times the calls; a session draws once and for all. */
function drawRank(
  endpoints: readonly ModelEndpoint[],
  session: string | null,
  { sessions, random }: RoutingState,
  stateOf: (endpoint: ModelEndpoint) => string,
  reasons: RankReasons | null,
): RankFunction {
  const weightOf = priceWeights(endpoints)
  const isHealthy = (each: ModelEndpoint): boolean => stateOf(each) === 'closed'
  // Were a half-open one's own sessions kept from it, nobody might ever try it: one call at a time does.
  const mayStay = (each: ModelEndpoint): boolean => isHealthy(each) || stateOf(each) === 'half-open'
  const home = session === null ? null : homeOf(session)
  function homeOf(id: string): ModelEndpoint {
    // Who only asks why must not move it.
    return reasons === null
      ? sessions.chooseEndpoint(id, endpoints, isHealthy, weightOf, mayStay)
      : sessions.previewEndpoint(id, endpoints, isHealthy, weightOf, mayStay)
  }
  return (endpoint) => {
    if (endpoint === home) {
      addReason(reasons, endpoint, 'the session stays with it')
      return -1
    }
    addReason(reasons, endpoint, `weight by price: ${formatRounded(weightOf(endpoint))}`)
    return -Math.log(1 - random()) / weightOf(endpoint)
  }
}
