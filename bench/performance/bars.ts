/** What a scenario is held to: a figure of every round, its limit, and whether the interval over the rounds decides. */
import { mergeHistograms } from '../../src/base/histogram.js'
import { LEAST_CONFIDENCE, type MedianInterval, medianInterval } from '../harness/figures/statistics.js'
import type { RoundFigures, SideFigures } from './job.js'

/** A limit of one figure; lower or upper, not both. */
export interface Bar {
  readonly figure: BarFigure
  readonly atLeast?: number
  readonly atMost?: number
}

type BarFigure = keyof typeof FIGURES
type OfRound = (round: RoundFigures) => number | null

/** A figure of our side and the floor's, in one round; null where there is no floor or the side lacks it. */
const ofPair =
  (
    figure: (side: SideFigures) => number | null,
    together: (ours: number, floor: number) => number,
  ): OfRound =>
  ({ ours, floor }) => {
    const own = figure(ours)
    const other = floor === null ? null : figure(floor)
    return own === null || other === null ? null : together(own, other)
  }

const gapP99 = ({ stream }: SideFigures): number | null =>
  stream === null ? null : mergeHistograms([stream.gap]).quantile(0.99)
const addedUs =
  (quantile: 'p50' | 'p99') =>
  ({ added }: SideFigures): number | null =>
    added === undefined ? null : added[quantile] * 1_000
const less = (ours: number, floor: number): number => ours - floor

const FIGURES = {
  /** The floor's CPU per reply over ours: it does not depend on the generator's speed. */
  cpuRatio: {
    says: 'CPU ratio to the floor',
    of: ofPair(
      (side) => side.cpuUsPerRequest,
      (ours, floor) => floor / ours,
    ),
  },
  /** Our rate over the floor's. */
  rateRatio: {
    says: 'rate ratio to the floor',
    of: ofPair(
      (side) => side.rate,
      (ours, floor) => ours / floor,
    ),
  },
  gapP99: { says: 'gap p99, ms', of: ({ ours }: RoundFigures) => gapP99(ours) },
  gapP99OverFloor: { says: "gap p99 over the floor's, ms", of: ofPair(gapP99, less) },
  addedP50OverFloor: { says: "added p50 over the floor's, µs", of: ofPair(addedUs('p50'), less) },
  addedP99OverFloor: { says: "added p99 over the floor's, µs", of: ofPair(addedUs('p99'), less) },
} as const satisfies Record<string, { readonly says: string; readonly of: OfRound }>

/** The median of a figure over all rounds that have it, with its interval; null where none has. */
export function overRounds(
  figure: BarFigure | OfRound,
  rounds: readonly RoundFigures[],
): MedianInterval | null {
  const of: OfRound = typeof figure === 'function' ? figure : FIGURES[figure].of
  const values = rounds.map(of).filter((value) => value !== null && Number.isFinite(value))
  return medianInterval(values as number[])
}

/** `met` and `missed` where the whole interval lies on one side of the limit; `open` where it does not, or has too few rounds. */
type BarVerdict = 'met' | 'missed' | 'open'

export interface JudgedBar extends Bar {
  readonly says: string
  readonly value: MedianInterval | null
  /** What the median alone says. */
  readonly medianMeets: boolean
  readonly verdict: BarVerdict
}

/** Holds the rounds against a bar. */
export function judgeBar(bar: Bar, rounds: readonly RoundFigures[]): JudgedBar {
  const value = overRounds(bar.figure, rounds)
  const { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY } = bar
  const meets = (one: number): boolean => one >= atLeast && one <= atMost
  const decide = ({ low, high, confidence }: MedianInterval): BarVerdict => {
    if (confidence < LEAST_CONFIDENCE || meets(low) !== meets(high)) return 'open'
    return meets(low) ? 'met' : 'missed'
  }
  return {
    ...bar,
    says: FIGURES[bar.figure].says,
    value,
    medianMeets: value !== null && meets(value.median),
    verdict: value === null ? 'open' : decide(value),
  }
}
