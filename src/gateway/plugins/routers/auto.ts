/** Routers that weigh quality against price: `auto-router`, `auto-beta-router` and `jev-router`. */
import { type Fault, invalidInput } from '../../../base/fault.js'
import type { Catalog } from '../../catalog/catalog.js'
import { COST_TIERS, type CostTier } from '../../catalog/configuration/models.js'
import type { RequestedPlugin } from '../../formats/tooling.js'
import type { ModelPins } from '../../routing/model-pins.js'
import type { Plugin } from '../port/plugin.js'
import {
  byPrice,
  type Candidate,
  findCandidates,
  missingColumn,
  noCandidate,
  poolOf,
  qualityOf,
  type RoutableRequest,
} from './candidates.js'
import { keepPinned, type OpenChoice, pinModel } from './pinned-model.js'
import { taskOf } from './task.js'

/** How a request asks for it (contract/gateway 2.10); checked by its schema. */
interface AutoOptions {
  readonly allowed_models?: readonly string[]
  /** Another word of `jev-router` for `allowed_models`; both count. */
  readonly models?: readonly string[]
  readonly excluded_models?: readonly string[]
  readonly cost_tier?: CostTier
  readonly cost_quality_tradeoff?: number
  readonly pin_model?: boolean
}

interface AutoKind {
  readonly id: string
  readonly strategy: string
  /** Whether figures of the task are taken, or always those that are general. */
  readonly looksAtTask: boolean
  /** From 0, quality alone, to 10, price alone; where the request does not say. */
  readonly tradeoff: number
}

const KINDS: readonly AutoKind[] = [
  { id: 'auto-router', strategy: 'auto', looksAtTask: false, tradeoff: 7 },
  { id: 'auto-beta-router', strategy: 'auto', looksAtTask: true, tradeoff: 7 },
  { id: 'jev-router', strategy: 'jev', looksAtTask: true, tradeoff: 5 },
]

/** Models that a choice comes with: the first, and two that may take over. */
const CHOSEN = 3

interface AutoPorts {
  readonly catalog: () => Catalog
  readonly pins: ModelPins
}

export function createAutoRouters({ catalog, pins }: AutoPorts): readonly Plugin[] {
  return KINDS.map((kind) => ({
    id: kind.id,
    prepare: (asked, { caller: { organizationId }, request }) => {
      const routable = request as RoutableRequest
      const choose = () => chooseModel(kind, asked, catalog(), routable)
      if (asked.options.pin_model !== true) return { route: choose }
      return {
        route: () => {
          const choice = choose()
          return 'models' in choice ? keepPinned(pins, choice, routable, organizationId) : choice
        },
        // Not before the call is admitted: whoever only wants to know where it would go changes nothing.
        before: async (question) => {
          pinModel(pins, question.request.model!, routable, organizationId)
          return { request: question.request }
        },
      }
    },
  }))
}

function chooseModel(
  { id, strategy, looksAtTask, tradeoff }: AutoKind,
  asked: RequestedPlugin,
  catalog: Catalog,
  request: RoutableRequest,
): OpenChoice | Fault {
  const options = asked.options as AutoOptions
  const lists = [options.allowed_models, options.models].filter((list) => list !== undefined)
  const allowed = lists.length === 0 ? null : lists.flat()
  const pool = poolOf(catalog, allowed, options.excluded_models)
  if (pool === null)
    return invalidInput(['body', ...asked.place], 'has patterns with too many stars for the models here')
  const all = findCandidates(catalog, request, pool)
  if (all.length === 0) return noCandidate(id)
  const task = looksAtTask ? taskOf(request) : 'overall'
  const judged = all.filter((candidate) => qualityOf(candidate, task) !== null)
  if (judged.length === 0) return missingColumn(asked, 'quality')
  const tier = options.cost_tier
  const within = tier === undefined ? judged : judged.filter(({ model }) => isWithin(model.tier, tier))
  if (within.length === 0)
    return judged.some(({ model }) => model.tier !== null) ? noCandidate(id) : missingColumn(asked, 'tier')
  // A tier says what a model may cost, and the best within it is meant.
  const weight = tier === undefined ? (options.cost_quality_tradeoff ?? tradeoff) / 10 : 0
  const ranked = rank(within, task, weight)
  const how =
    tier === undefined
      ? `${Math.round(weight * 10)} of 10 for price`
      : `the best of cost tier ${tier} or lower`
  return {
    models: ranked.slice(0, CHOSEN).map(({ model }) => model.id),
    eligible: new Set(within.map(({ model }) => model.id)),
    strategy,
    reason: `${id} chose ${ranked[0]!.model.id} of ${within.length} for ${task === 'overall' ? 'any task' : task}: ${how}`,
  }
}

function isWithin(tier: CostTier | null, asked: CostTier): boolean {
  return tier !== null && COST_TIERS.indexOf(tier) <= COST_TIERS.indexOf(asked)
}

/** Best first: quality and cheapness, each from 0 to 1 and by weight. Prices count by their order of magnitude. */
function rank(candidates: readonly Candidate[], task: string, weight: number): Candidate[] {
  const magnitudes = candidates.map(({ price }) => Math.log1p(price))
  const least = Math.min(...magnitudes)
  const span = Math.max(...magnitudes) - least
  const scoreOf = (candidate: Candidate): number => {
    const cheapness = span === 0 ? 1 : 1 - (Math.log1p(candidate.price) - least) / span
    return (1 - weight) * qualityOf(candidate, task)! + weight * cheapness
  }
  const scores = new Map(candidates.map((candidate) => [candidate, scoreOf(candidate)]))
  return candidates.toSorted((one, other) => scores.get(other)! - scores.get(one)! || byPrice(one, other))
}
