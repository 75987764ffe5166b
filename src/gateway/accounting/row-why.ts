/** What a row of the ledger tells of how it came about: who asked, who could have answered, where the time went. */
import type { RowAsked, RowAttempt, RowCandidate, RowWhy } from '../../store/ledger-store.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import { distinctEndpoints } from '../catalog/own-accounts.js'
import type { ChatRequest, RoutedRequest } from '../formats/canonical.js'
import { cacheDiscount, pricesInForce } from '../pricing/price.js'
import { demandsOf } from '../routing/parameters.js'
import type { Plan, PlanTrace } from '../routing/plan.js'
import type { Attempt, Generation } from '../run/generation.js'

/** Candidates and attempts that a row has room for. */
const MOST_LISTED = 12
/** Reasons of one candidate. */
const MOST_REASONS = 6
/** Characters of what a caller says of itself in headers. */
const LONGEST_TEXT = 256
const NOBODY: readonly RowCandidate[] = Object.freeze([])
const NO_ATTEMPTS: readonly RowAttempt[] = Object.freeze([])

export function rowWhy(generation: Generation<RoutedRequest>): RowWhy {
  const { plan, attempts, served, request, client } = generation
  const endpoint = served ?? plan.endpoints[0]!
  const waits = served === null ? null : (attempts.at(-1)?.waits ?? null)
  const candidates = plan.trace === null ? NOBODY : listCandidates(plan, plan.trace)
  const all = plan.trace === null ? 0 : distinctEndpoints(plan.endpoints).length + plan.trace.excluded.length
  return {
    configVersion: plan.version,
    priceVersion: endpoint.prices.version,
    region: endpoint.region,
    queueMs: waits === null ? 0 : Math.round(waits.queueMs),
    connectMs: waits === null ? 0 : Math.round(waits.connectMs),
    admitMs: Math.max(0, Math.round(generation.admittedAt - generation.plannedAt)),
    candidates,
    unlisted: all - candidates.length,
    attempts: listAttempts(generation),
    user: request.user ?? null,
    referer: textOf(client.referer),
    agent: textOf(client.agent),
    title: textOf(client.title),
    cacheDiscount: savedByCaches(generation, endpoint),
    metadata: (request as Pick<ChatRequest, 'metadata'>).metadata ?? null,
    trace: request.trace ?? null,
    asked: askedOf(request),
  }
}

/** Of `provider`, what planning goes by. */
const PREFERENCES = [
  ...['order', 'only', 'ignore', 'allow_fallbacks', 'require_parameters', 'data_collection', 'zdr'],
  ...['enforce_distillable_text', 'quantizations', 'sort', 'max_price', 'preferred_min_throughput'],
  'preferred_max_latency',
] as const
/** Characters of JSON; what is longer is not told. */
const LONGEST_ASKED = 2_000

/** Most requests name a model and nothing else that matters here. */
function askedOf(request: RoutedRequest): RowWhy['asked'] {
  const { models, provider, route, modalities, service_tier: serviceTier } = request
  const needs = demandsOf(request)
  const isPlain = models === undefined && modalities === undefined && needs.length === 0
  if (isPlain && provider == null && route == null && serviceTier == null) return null
  const preferences = PREFERENCES.filter((name) => provider?.[name] != null)
  const asked: RowAsked = {
    ...(models !== undefined && { models }),
    ...(preferences.length > 0 && {
      provider: Object.fromEntries(preferences.map((name) => [name, provider![name]])),
    }),
    ...(route != null && { route }),
    ...(modalities !== undefined && { modalities }),
    ...(serviceTier != null && { serviceTier }),
    ...(needs.length > 0 && { needs }),
  }
  return JSON.stringify(asked).length > LONGEST_ASKED ? 'untold' : asked
}

function savedByCaches(
  { consumption, serviceTier }: Generation<RoutedRequest>,
  { prices }: ModelEndpoint,
): number {
  if (consumption === null) return 0
  return cacheDiscount(consumption.usage, pricesInForce(prices, serviceTier), consumption.cost)
}

/** One call that answered, or none: the row tells as much. */
function isPlain(attempts: readonly Attempt[]): boolean {
  return attempts.length === 0 || (attempts.length === 1 && attempts[0]!.error === undefined)
}

function listCandidates(
  { endpoints }: Plan,
  { excluded, reasons, chances }: PlanTrace,
): readonly RowCandidate[] {
  const planned = distinctEndpoints(endpoints)
    .slice(0, MOST_LISTED)
    .map((endpoint, at) => ({
      ...nameOf(endpoint),
      place: at + 1,
      chance: chances.get(endpoint) ?? null,
      why: (reasons.get(endpoint) ?? []).slice(0, MOST_REASONS),
    }))
  const others = excluded.slice(0, MOST_LISTED - planned.length).map(({ endpoint, reason }) => ({
    ...nameOf(endpoint),
    place: 0,
    chance: null,
    why: [reason],
  }))
  return [...planned, ...others]
}

function listAttempts({ attempts, startedAt: arrivedAt }: Generation<RoutedRequest>): readonly RowAttempt[] {
  if (isPlain(attempts)) return NO_ATTEMPTS
  return attempts.slice(0, MOST_LISTED).map(({ endpoint, status, error, startedAt, endedAt }) => ({
    ...nameOf(endpoint),
    status,
    fault: error ?? null,
    durationMs: Math.round(endedAt - startedAt),
    startMs: Math.max(0, Math.round(startedAt - arrivedAt)),
  }))
}

function nameOf({ provider, model }: ModelEndpoint): { readonly provider: string; readonly model: string } {
  return { provider: provider.name, model: model.id }
}

function textOf(header: string): string | null {
  return header === '' ? null : header.slice(0, LONGEST_TEXT)
}
