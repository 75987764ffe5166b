/**
 * What besides the request would have another endpoint tried first. Endpoints stand in the order of their ranks, so of
 * each fact it is known exactly when it would turn two of them round: the ranks are compared anew, with that one changed.
 */
import type { ModelEndpoint } from '../catalog/catalog.js'
import { endpointTag } from './preferences.js'
import { compareRanks, HOME, type RankedEndpoint, type RankedGroup, type RankKind } from './rank.js'

/** Figures by which endpoints are sorted; `sign` is -1 where more is better, as ranks have it. */
const FIGURES: Partial<Record<RankKind, Figure>> = {
  price: { what: 'its price', unit: 'dollars per million tokens', sign: 1, scale: 1e9, digits: 9 },
  latency: { what: 'its median latency', unit: 'ms', sign: 1, scale: 1, digits: 2 },
  throughput: { what: 'its median speed', unit: 'tokens per second', sign: -1, scale: 1, digits: 2 },
  context: { what: 'its context length', unit: 'tokens', sign: -1, scale: 1, digits: 0 },
}

interface Figure {
  readonly what: string
  readonly unit: string
  readonly sign: 1 | -1
  /** Of the rank to what is told. */
  readonly scale: number
  readonly digits: number
}

/** The best rank of a fact that is as it should be. */
const WELL = 0
/** The rank of an endpoint whose breaker is open. */
const OPEN = 2

/**
 * Of the endpoint that is tried first, what would take it its place; of another one of its group, what would give it
 * that place. Nothing where it takes more than one fact, or where the request or a draw has decided.
 * @param restMs how long its breaker or its provider keeps calls away from it
 */
export function circumstancesFor(
  endpoint: ModelEndpoint,
  { kinds, ranked }: RankedGroup,
  restMs: number,
): readonly string[] {
  const own = ranked.find((each) => each.endpoint === endpoint)
  const [first, second] = ranked
  if (own === undefined || second === undefined) return []
  return own === first ? losses(first, second, kinds) : gains(own, first!, kinds, restMs)
}

function losses(first: RankedEndpoint, second: RankedEndpoint, kinds: readonly RankKind[]): string[] {
  const next = kinds.includes('draw') ? 'another one' : endpointTag(second.endpoint)
  const opens = first.endpoint.hasBreaker && second.rank[0]! < OPEN && first.rank[0]! < OPEN
  const told = opens ? [`its breaker opens: ${next} is tried first then`] : []
  const at = kinds.findIndex((kind) => kind in FIGURES)
  if (at < 0 || compareRanks(first.rank.slice(0, at), second.rank.slice(0, at)) !== 0) return told
  const beyond = toldFigure(FIGURES[kinds[at]!]!, second, at, 'worse')
  return beyond === null ? told : [...told, beyond]
}

function gains(
  own: RankedEndpoint,
  first: RankedEndpoint,
  kinds: readonly RankKind[],
  restMs: number,
): string[] {
  const at = own.rank.findIndex((rank, place) => rank !== first.rank[place])
  const kind = kinds[at]
  if (kind === undefined) return []
  if (kind in FIGURES) {
    const beyond = toldFigure(FIGURES[kind]!, first, at, 'better')
    return beyond === null ? [] : [beyond]
  }
  if (kind !== 'state' && kind !== 'speed') return []
  const fact =
    kind === 'speed'
      ? 'it is as quick as the request prefers'
      : `calls may go there again, which is in ${Math.ceil(restMs / 1000)} s`
  const changed = own.rank.with(at, WELL)
  const decisive = changed.findIndex((rank, place) => rank !== first.rank[place])
  if (kinds[decisive] === 'draw') {
    return first.rank[decisive] === HOME ? [] : [`${fact}, and the draw falls on it`]
  }
  return compareRanks(changed, first.rank) < 0 ? [fact] : []
}

/** Where a figure would have to be, to be better or worse than that of `other`; null where none is there. */
function toldFigure(
  { what, unit, sign, scale, digits }: Figure,
  other: RankedEndpoint,
  at: number,
  wanted: 'better' | 'worse',
): string | null {
  const value = (other.rank[at]! * sign) / scale
  if (!Number.isFinite(value)) return null
  const falls = (wanted === 'better') === (sign === 1)
  // Rounded to the side on which it is true.
  const factor = 10 ** digits
  const bound = (falls ? Math.floor(value * factor) : Math.ceil(value * factor)) / factor
  // Nothing is below zero, and a latency of zero is one that is not known.
  if (value === 0 || bound === 0) return null
  return `${what} ${falls ? 'falls below' : 'rises above'} ${bound} ${unit}, that of ${endpointTag(other.endpoint)}`
}
