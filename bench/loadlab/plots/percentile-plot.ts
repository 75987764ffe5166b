/** Distributions of latencies: by percentile over logarithmic nines, and as shares of the samples. */

import type { CurvePoint } from '../report/repetition.js'
import {
  decadeRange,
  formatFigure,
  logAxis,
  PLOT_WIDTH,
  plotLegend,
  plotTitle,
  TEXT_PX,
  valueAxis,
} from './axes.js'
import { colourOf, ownColour, SERIES_COLOURS, seriesColour } from './palette.js'
import { renderChart } from './svg-chart.js'

export interface PercentileCurve {
  readonly name: string
  /** Which of the three sides it shows; `ours` and `other` for tools beside each other. */
  readonly side: 'client' | 'server' | 'theory' | 'ours' | 'other'
  readonly points: readonly CurvePoint[]
}

const HEIGHT = 392
const BROAD_HEIGHT = 480
const LEGEND_LINE = 19
/** What stands before and behind a name of the legend, and a letter of it. */
const LEGEND_GAPS = 40
const LETTER = TEXT_PX * 0.6
const TICKS = [0, 50, 90, 99, 99.9, 99.99, 99.999]
/** Beyond these many nines no run of seconds has samples. */
const MOST_NINES = 5
/** 99.9 % is not quite three nines in binary. */
const ROUNDING = 1e-6

/**
 * Latency by percentile: what a tool leaves out opens as a gap between the lines. Curves without points are left out;
 * without any there is nothing to draw, and null. `width` in pixels: text keeps its size.
 */
export function percentilePlot(
  title: string,
  subtitle: string,
  curves: readonly PercentileCurve[],
  width = PLOT_WIDTH,
): string | null {
  const drawn = curves.filter(({ points }) => points.some(({ ms }) => ms > 0))
  if (drawn.length === 0) return null
  const values = drawn.flatMap(({ points }) => points.map(({ ms }) => ms)).filter((ms) => ms > 0)
  const reach = Math.min(MOST_NINES, Math.ceil(Math.max(...drawn.map(furthestNines)) - 0.01))
  const ticks = TICKS.map(ninesOf).flatMap((at) => (at <= reach + ROUNDING ? [Math.min(at, reach)] : []))
  const wide = Math.max(...values) / Math.min(...values) > 100
  const y = wide
    ? logAxis('latency, ms', values, { nameGap: 52 })
    : valueAxis('latency, ms', { nameGap: 52, min: 0 })
  const floor = wide ? decadeRange(values)[0] : 0
  const many = drawn.length > 4
  const legendHeight =
    LEGEND_LINE *
    countLines(
      drawn.map(({ name }) => name),
      width - 92,
    )
  return renderChart(
    {
      title: plotTitle(title, subtitle),
      legend: plotLegend(
        drawn.map(({ name }) => name),
        many ? { type: 'plain', right: 20, left: width < PLOT_WIDTH ? 14 : 72 } : {},
      ),
      grid: { left: 78, right: 40, top: many ? 64 + legendHeight : 84, bottom: 56 },
      xAxis: valueAxis('percentile', {
        min: 0,
        max: reach,
        axisLabel: {
          customValues: ticks,
          formatter: percentLabel,
          hideOverlap: true,
          color: colourOf('muted'),
          fontSize: TEXT_PX,
        },
        axisTick: { customValues: ticks, lineStyle: { color: colourOf('muted') } },
        interval: 1,
      }),
      yAxis: y,
      series: drawn.map((curve) => lineOf(curve, toneOf(curve, drawn), floor, reach)),
    },
    { width, height: (width > PLOT_WIDTH ? BROAD_HEIGHT : HEIGHT) + (many ? legendHeight : 0) },
    `${title}: ${drawn.map(({ name, points }) => `${name} up to ${formatFigure(points.at(-1)?.ms ?? 0)} ms`).join(', ')}`,
  )
}

/** How many lines of a legend so many names fill. */
function countLines(names: readonly string[], width: number): number {
  let lines = 1
  let used = 0
  for (const name of names) {
    const own = LEGEND_GAPS + name.length * LETTER
    if (used > 0 && used + own > width) {
      lines++
      used = 0
    }
    used += own
  }
  return lines
}

/** What is due is a broad band of the text's colour, on which the others lie or do not. */
const WIDTHS = { client: 2.6, server: 2.2, theory: 4.5, ours: 3, other: 1.8 }
const LAYERS = { client: 5, server: 4, theory: 2, ours: 5, other: 3 }
const SYMBOLS = ['circle', 'rect', 'triangle', 'diamond']

interface LineTone {
  readonly colour: string
  /** Among those of its side. */
  readonly index: number
}

function toneOf(curve: PercentileCurve, drawn: readonly PercentileCurve[]): LineTone {
  const { side } = curve
  const index = drawn.filter((each) => each.side === side).indexOf(curve)
  if (side === 'theory') return { colour: colourOf('ink'), index }
  if (side === 'ours') return { colour: ownColour(index), index }
  return { colour: side === 'other' ? seriesColour(index) : colourOf(side), index }
}

function lineOf(
  { name, side, points }: PercentileCurve,
  { colour, index }: LineTone,
  floor: number,
  reach: number,
) {
  return {
    name,
    type: 'line' as const,
    data: pointsUpTo(points, reach).map(({ percentile, ms }) => [
      Math.min(reach, ninesOf(percentile)),
      Math.max(floor, ms),
    ]),
    // Few points are what a tool printed and not a measured curve: they are shown as such.
    showSymbol: points.length <= 12 && side !== 'theory',
    symbol: SYMBOLS[index % SYMBOLS.length]!,
    symbolSize: side === 'ours' ? 8 : 6,
    itemStyle: { color: colour },
    lineStyle: {
      color: colour,
      width: WIDTHS[side],
      type: index >= SERIES_COLOURS ? ([6, 5] as number[]) : ('solid' as const),
    },
    z: LAYERS[side],
  }
}

/** The maximum, which is at no percentile below 100, ends the curve at the right. */
function pointsUpTo(points: readonly CurvePoint[], reach: number): readonly CurvePoint[] {
  return points.filter(({ percentile }) => percentile >= 100 || ninesOf(percentile) <= reach + ROUNDING)
}

function furthestNines({ points }: PercentileCurve): number {
  return Math.max(
    1,
    ...points.filter(({ percentile }) => percentile < 100).map(({ percentile }) => ninesOf(percentile)),
  )
}

/** 1 for 90 %, 2 for 99 %, and so on. */
function ninesOf(percentile: number): number {
  return percentile >= 100 ? MOST_NINES : -Math.log10(1 - percentile / 100)
}

const percentLabel = (at: number): string => `${Number((100 - 100 * 10 ** -at).toFixed(3))} %`

interface Distribution {
  readonly name: string
  readonly points: readonly CurvePoint[]
}

const ECDF_SIZE = { width: PLOT_WIDTH, height: 352 }

/**
 * Share of the samples up to a latency: how a reader of a stream waited. `what` names the axis, without its unit:
 * `time to first token`. Null when no distribution has two points.
 */
export function ecdfPlot(title: string, what: string, distributions: readonly Distribution[]): string | null {
  const drawn = distributions.filter(({ points }) => points.length > 1)
  if (drawn.length === 0) return null
  const values = drawn.flatMap(({ points }) => points.map(({ ms }) => ms)).filter((ms) => ms > 0)
  const wide = Math.max(...values) / Math.min(...values) > 30
  const x = wide ? logAxis(`${what}, ms`, values) : valueAxis(`${what}, ms`, { scale: true })
  return renderChart(
    {
      title: plotTitle(title),
      legend: plotLegend(
        drawn.map(({ name }) => name),
        { top: 36 },
      ),
      grid: { left: 70, right: 28, top: 64, bottom: 56 },
      xAxis: x,
      yAxis: valueAxis('share of the samples, %', { min: 0, max: 100, nameGap: 44 }),
      series: drawn.map(({ name, points }, index) => ({
        name,
        type: 'line' as const,
        showSymbol: false,
        data: points.filter(({ ms }) => ms > 0).map(({ percentile, ms }) => [ms, percentile]),
        itemStyle: { color: seriesColour(index) },
        lineStyle: { color: seriesColour(index), width: 2.2 },
        ...(index === 0 && {
          markLine: {
            silent: true,
            symbol: 'none',
            lineStyle: { color: colourOf('muted'), width: 1, type: [4, 4] as number[] },
            label: {
              color: colourOf('muted'),
              fontSize: 11,
              formatter: 'p{c}',
              position: 'insideStartTop' as const,
            },
            data: [{ yAxis: 50 }, { yAxis: 99 }],
          },
        }),
      })),
    },
    ECDF_SIZE,
    `${title}: distribution of ${what}`,
  )
}
