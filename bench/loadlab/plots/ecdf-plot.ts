/** Share of the samples up to a latency: how a reader of a stream waited. */
import type { CurvePoint } from '../report/repetition.js'
import { logAxis, plotLegend, plotTitle, valueAxis } from './axes.js'
import { colourOf, seriesColour } from './palette.js'
import { renderChart } from './svg-chart.js'

interface Distribution {
  readonly name: string
  readonly points: readonly CurvePoint[]
}

const SIZE = { width: 720, height: 352 }

/** `what` names the axis, without its unit: `time to first token`. Null when no distribution has two points. */
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
    SIZE,
    `${title}: distribution of ${what}`,
  )
}
