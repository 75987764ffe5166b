/** `pareto-router`: the cheapest model that codes well enough, of those that no cheaper one is as good as. */
import { Fault } from '../../../base/fault.js'
import type { Catalog } from '../../catalog/catalog.js'
import type { RequestedPlugin } from '../../formats/tooling.js'
import type { Plugin, RouteChoice } from '../port/plugin.js'
import {
  byPrice,
  type Candidate,
  findCandidates,
  missingColumn,
  noCandidate,
  qualityOf,
  type RoutableRequest,
} from './candidates.js'

interface ParetoOptions {
  /** Dollars per million tokens. */
  readonly max_price?: number
  readonly min_coding_score?: number
  readonly price_source?: 'prompt' | 'weighted_avg'
}

const ID = 'pareto-router'
const NANOS = 1_000_000_000
const CHOSEN = 3

export function createParetoRouter(catalog: () => Catalog): Plugin {
  return {
    id: ID,
    prepare: (asked, { request }) => ({
      route: () => chooseCoder(asked, catalog(), request as RoutableRequest),
    }),
  }
}

function chooseCoder(
  asked: RequestedPlugin,
  catalog: Catalog,
  request: RoutableRequest,
): RouteChoice | Fault {
  const { max_price: most, min_coding_score: least, price_source: source } = asked.options as ParetoOptions
  const all = findCandidates(catalog, request)
  if (all.length === 0) return noCandidate(ID)
  const coders = all.filter(({ model }) => model.quality !== null && Object.hasOwn(model.quality, 'coding'))
  if (coders.length === 0) return missingColumn(asked, 'quality.coding')
  const priceOf = (each: Candidate): number => (source === 'prompt' ? each.promptPrice : each.price)
  const frontier = frontierOf(coders, priceOf).filter(
    (each) => most === undefined || priceOf(each) <= most * NANOS,
  )
  const best = frontier.at(-1)
  if (best === undefined) return unmet(`costs at most ${most} dollars`)
  const at = least === undefined ? frontier.length - 1 : frontier.findIndex((each) => scoreOf(each) >= least)
  const chosen = frontier[at]
  if (chosen === undefined) return unmet(`has a coding score of ${least}; the best has ${scoreOf(best)}`)
  // Those that are stronger may take over, cheapest first; where it is the strongest, the next below.
  const others = at === frontier.length - 1 ? frontier.slice(0, at).reverse() : frontier.slice(at + 1)
  return {
    models: [chosen, ...others].slice(0, CHOSEN).map(({ model }) => model.id),
    strategy: 'pareto',
    reason: `${ID} chose ${chosen.model.id}, coding score ${scoreOf(chosen)}, of ${frontier.length} that nothing cheaper equals`,
  }
}

function scoreOf(candidate: Candidate): number {
  return qualityOf(candidate, 'coding')!
}

/** Cheapest first; each is better than all that are cheaper. */
function frontierOf(coders: readonly Candidate[], priceOf: (each: Candidate) => number): Candidate[] {
  let best = -1
  const sorted = coders.toSorted(
    (one, other) => priceOf(one) - priceOf(other) || scoreOf(other) - scoreOf(one) || byPrice(one, other),
  )
  return sorted.filter((each) => {
    if (scoreOf(each) <= best) return false
    best = scoreOf(each)
    return true
  })
}

function unmet(what: string): Fault {
  return new Fault('item-not-found', {
    note: `No model that ${ID} may choose ${what}`,
    metadata: { error_type: 'not_found' },
  })
}
