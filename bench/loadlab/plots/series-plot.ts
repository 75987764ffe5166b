/** What the server saw, step by step: arrivals and answers, what was under way, how late its loop was. */
import type { SeriesStep } from '../../../src/lab/run-summary.js'
import { formatFigure, PLOT_WIDTH, plotLegend, plotTitle, TEXT_PX, valueAxis } from './axes.js'
import { type ColourRole, colourOf } from './palette.js'
import { renderChart } from './svg-chart.js'

/** A time in which a worker stood, in milliseconds of the series. */
export interface StallShade {
  readonly kind: string
  readonly fromMs: number
  readonly toMs: number
}

const SIZE = { width: PLOT_WIDTH, height: 524 }
const PANELS = [
  { top: 84, height: 180, name: 'requests per step' },
  { top: 294, height: 84, name: 'in flight' },
  { top: 404, height: 66, name: 'loop lag, ms' },
] as const

export function seriesPlot(
  title: string,
  subtitle: string,
  steps: readonly SeriesStep[],
  stalls: readonly StallShade[],
): string | null {
  if (steps.length < 2) return null
  const stepMs = steps[1]!.atMs - steps[0]!.atMs
  const endS = (steps.at(-1)!.atMs + stepMs) / 1000
  const line = (
    name: string,
    panel: number,
    role: ColourRole,
    of: (step: SeriesStep) => number,
    filled = false,
  ) => ({
    name,
    type: 'line' as const,
    xAxisIndex: panel,
    yAxisIndex: panel,
    step: 'end' as const,
    showSymbol: false,
    data: steps.map((step) => [step.atMs / 1000, of(step)]),
    itemStyle: { color: colourOf(role) },
    lineStyle: { color: colourOf(role), width: 1.6 },
    ...(filled && { areaStyle: { color: colourOf(role), opacity: 0.16 } }),
    ...(stalls.length > 0 && filled && { markArea: stallAreas(stalls, panel === 0) }),
  })
  return renderChart(
    {
      title: plotTitle(title, subtitle),
      legend: plotLegend(['arrivals', 'completions', 'errors', 'max in flight', 'max loop lag']),
      grid: PANELS.map(({ top, height }) => ({ left: 78, right: 28, top, height })),
      xAxis: PANELS.map((_, index) =>
        valueAxis(index === 2 ? 'seconds of the measurement' : '', {
          gridIndex: index,
          min: 0,
          max: endS,
          nameGap: 30,
          axisLabel: { show: index === 2, color: colourOf('muted'), fontSize: TEXT_PX },
          splitLine: { show: false },
        }),
      ),
      yAxis: PANELS.map(({ name }, index) =>
        valueAxis(name, {
          gridIndex: index,
          nameGap: 52,
          min: 0,
          splitNumber: index === 0 ? 5 : 2,
          axisLabel: { color: colourOf('muted'), fontSize: 11, formatter: formatFigure },
        }),
      ),
      series: [
        line('arrivals', 0, 'server', ({ arrivals }) => arrivals, true),
        line('completions', 0, 'theory', ({ completions }) => completions),
        line('errors', 0, 'error', ({ errors }) => errors),
        line('max in flight', 1, 'violet', ({ inFlightMax }) => inFlightMax, true),
        line('max loop lag', 2, 'slate', ({ lagMax }) => lagMax, true),
      ],
    },
    SIZE,
    `${title}: arrivals, completions, errors, requests in flight and loop lag in steps of ${stepMs} ms`,
  )
}

function stallAreas(stalls: readonly StallShade[], named: boolean) {
  return {
    silent: true,
    itemStyle: { color: colourOf('stall'), opacity: 0.2 },
    label: { show: named, color: colourOf('muted'), fontSize: 11, position: 'insideTop' as const },
    data: stalls.map(({ kind, fromMs, toMs }): [Record<string, unknown>, Record<string, unknown>] => [
      { name: kind === 'unplanned' ? '' : kind, xAxis: fromMs / 1000 },
      { xAxis: toMs / 1000 },
    ]),
  }
}
