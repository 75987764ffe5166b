/** Which models a panel is made of, where the request does not say (contract/tools 3.7). */
import type { Catalog } from '../../catalog/catalog.js'
import { byPrice, type Candidate, findCandidates, qualityOf } from '../../plugins/routers/candidates.js'

export type PanelPreset = 'general-high' | 'general-budget' | 'general-fast'

const SEATS = 3

/** Small models answer soonest. */
const FAST_TIERS: ReadonlySet<string | null> = new Set(['low', 'medium'])

type PanelChoice =
  | { readonly models: readonly string[] }
  /** The column of the catalogue without which there is no such panel. */
  | { readonly missing: 'quality' | 'tier' }

/**
 * `general-high` are the best by the column `quality`; `general-budget` the cheapest of the better half;
 * `general-fast` the best of the tiers `low` and `medium`.
 */
export function choosePanel(catalog: Catalog, preset: PanelPreset): PanelChoice {
  const judged = findCandidates(catalog, {})
    .filter((candidate) => qualityOf(candidate, 'overall') !== null)
    .sort((one, other) => qualityOf(other, 'overall')! - qualityOf(one, 'overall')! || byPrice(one, other))
  if (judged.length === 0) return { missing: 'quality' }
  const among = amongWhich(judged, preset)
  if (among.length === 0) return { missing: 'tier' }
  return { models: among.slice(0, SEATS).map(({ model }) => model.id) }
}

/** @param judged the best first */
function amongWhich(judged: readonly Candidate[], preset: PanelPreset): readonly Candidate[] {
  if (preset === 'general-fast') return judged.filter(({ model }) => FAST_TIERS.has(model.tier))
  if (preset === 'general-high') return judged
  return judged.slice(0, Math.max(SEATS, Math.ceil(judged.length / 2))).sort(byPrice)
}

/** The best; where the catalogue has no figures, the model of the request, which is asked several times. */
export function defaultPanel(catalog: Catalog, outer: string): readonly string[] {
  const best = choosePanel(catalog, 'general-high')
  return 'models' in best ? best.models : Array<string>(SEATS).fill(outer)
}
