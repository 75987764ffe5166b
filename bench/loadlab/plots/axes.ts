/** What all plots have in common: axes with names and units, quiet grids, legends. */
import { colourOf } from './palette.js'

export const TEXT_PX = 12

/** Of a plot of one tool, in pixels: two stand beside each other on a desk, one on a telephone. */
export const PLOT_WIDTH = 600

/** An axis of values. `name` holds the unit. */
export function valueAxis(name: string, more: Readonly<Record<string, unknown>> = {}) {
  return {
    type: 'value' as const,
    name,
    nameLocation: 'middle' as const,
    nameGap: 34,
    nameTextStyle: { color: colourOf('muted'), fontSize: TEXT_PX },
    axisLabel: { color: colourOf('muted'), fontSize: TEXT_PX },
    axisLine: { show: true, lineStyle: { color: colourOf('muted') } },
    axisTick: { show: true, lineStyle: { color: colourOf('muted') } },
    splitLine: { show: true, lineStyle: { color: colourOf('grid') } },
    ...more,
  }
}

/** An axis of milliseconds over several powers of ten. */
export function logAxis(
  name: string,
  values: readonly number[],
  more: Readonly<Record<string, unknown>> = {},
) {
  const [min, max] = decadeRange(values)
  return {
    ...valueAxis(name),
    type: 'log' as const,
    logBase: 10,
    min,
    max,
    axisLabel: { color: colourOf('muted'), fontSize: TEXT_PX, formatter: formatFigure },
    ...more,
  }
}

/** Less than a microsecond is noise of the clock, and no axis starts below it. */
const LEAST_MS = 0.001

/** Powers of ten around positive values; a few percent above one do not open another decade. */
export function decadeRange(values: readonly number[]): readonly [number, number] {
  const positive = values.filter((value) => value > 0)
  if (positive.length === 0) return [0.1, 10]
  const low = Math.max(LEAST_MS, 10 ** Math.floor(Math.log10(Math.min(...positive))))
  const high = 10 ** Math.ceil(Math.log10(Math.max(...positive) * 0.97))
  return [low, Math.max(high, low * 10)]
}

/** `0.05`, `12`, `1 200`: as short as can be. */
export function formatFigure(value: number): string {
  if (value === 0) return '0'
  if (Math.abs(value) < 0.001) return String(Number(value.toPrecision(1)))
  if (Math.abs(value) < 10) return String(Number(Number(value.toPrecision(3)).toFixed(3)))
  return value.toFixed(0).replace(/\B(?=(\d{3})+(?!\d))/g, ' ')
}

export function plotTitle(text: string, subtext = '') {
  return {
    text,
    subtext,
    left: 14,
    top: 8,
    itemGap: 4,
    textStyle: { color: colourOf('ink'), fontSize: 15, lineHeight: 20, fontWeight: 600 as const },
    subtextStyle: { color: colourOf('muted'), fontSize: TEXT_PX, lineHeight: 16 },
  }
}

/** Below title and subtitle, which may be as wide as the plot. */
export function plotLegend(names: readonly string[], more: Readonly<Record<string, unknown>> = {}) {
  return {
    data: [...names],
    left: 72,
    top: 54,
    itemWidth: 18,
    itemHeight: 8,
    itemGap: 8,
    textStyle: { color: colourOf('ink'), fontSize: TEXT_PX },
    ...more,
  }
}
