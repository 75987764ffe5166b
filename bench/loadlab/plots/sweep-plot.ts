/** Latency against throughput: where the knee is, and which rate still met the limit. */
import type { Sweep, SweepPoint } from '../report/repetition.js'
import { formatFigure, logAxis, PLOT_WIDTH, plotLegend, plotTitle, valueAxis } from './axes.js'
import { type ColourRole, colourOf } from './palette.js'
import { renderChart } from './svg-chart.js'

const SIZE = { width: PLOT_WIDTH, height: 392 }

/** The highest target that was achieved within the limit; null when none was. */
export function highestRateWithinLimit({ points, limitMs }: Sweep): SweepPoint | null {
  const good = points.filter(({ p99, achieved, target }) => p99 <= limitMs && achieved >= 0.99 * target)
  return good.reduce<SweepPoint | null>(
    (best, point) => (best === null || point.target > best.target ? point : best),
    null,
  )
}

/**
 * The point of the sweep that is furthest below the straight line from its first to its last point, in shares of the
 * sweep's width and of the logarithm of its height: after it latency grows faster than throughput. Null for under four.
 */
export function kneeOfSweep({ points }: Sweep): SweepPoint | null {
  const first = points[0]
  const last = points.at(-1)
  if (points.length < 4 || first === undefined || last === undefined) return null
  const height = (point: SweepPoint) =>
    Math.log(point.p99 / first.p99) / Math.max(1e-9, Math.log(last.p99 / first.p99))
  const below = (point: SweepPoint) =>
    (point.target - first.target) / (last.target - first.target) - height(point)
  const knee = points.reduce((best, point) => (below(point) > below(best) ? point : best))
  return below(knee) > 0.05 ? knee : null
}

export function sweepPlot(sweep: Sweep): string | null {
  const { points, capacity, limitMs, scenario } = sweep
  if (points.length < 2) return null
  const knee = kneeOfSweep(sweep)
  const best = highestRateWithinLimit(sweep)
  const values = points.flatMap(({ p50, p99 }) => [p50, p99])
  const line = (name: string, tone: string, of: (point: SweepPoint) => number) => ({
    name,
    type: 'line' as const,
    data: points.map((point) => [point.achieved, of(point)]),
    symbol: 'circle',
    symbolSize: 7,
    itemStyle: { color: tone },
    lineStyle: { color: tone, width: 2.2 },
  })
  return renderChart(
    {
      title: plotTitle(
        `Throughput against latency: ${scenario}`,
        best === null
          ? `no rate kept p99 within ${formatFigure(limitMs)} ms`
          : `p99 within ${formatFigure(limitMs)} ms up to ${formatFigure(best.target)}/s`,
      ),
      legend: plotLegend(['p50', 'p99']),
      grid: { left: 78, right: 40, top: 86, bottom: 56 },
      xAxis: valueAxis('answered requests per second', {
        min: 0,
        axisLabel: { color: colourOf('muted'), formatter: formatFigure },
      }),
      yAxis: logAxis('latency, ms', [...values, limitMs], { nameGap: 52 }),
      series: [
        line('p50', colourOf('server'), ({ p50 }) => p50),
        {
          ...line('p99', colourOf('client'), ({ p99 }) => p99),
          markLine: {
            silent: true,
            symbol: 'none',
            label: { color: colourOf('muted'), fontSize: 11, formatter: '{b}' },
            data: [
              mark({ yAxis: limitMs }, `limit ${formatFigure(limitMs)} ms`, 'error', 'insideStartTop'),
              mark({ xAxis: capacity }, `capacity ${formatFigure(capacity)}/s`, 'muted', 'insideEndBottom'),
              ...(knee === null
                ? []
                : [
                    mark(
                      { xAxis: knee.achieved },
                      `knee ${formatFigure(knee.achieved)}/s`,
                      'theory',
                      'insideEndTop',
                    ),
                  ]),
            ],
          },
        },
      ],
    },
    SIZE,
    `Throughput against latency of ${scenario}${knee === null ? '' : `, knee at ${formatFigure(knee.achieved)} requests per second`}`,
  )
}

/** A dashed line with its name. */
function mark<At extends object, Position extends string>(
  at: At,
  name: string,
  role: ColourRole,
  position: Position,
) {
  return {
    name,
    ...at,
    lineStyle: { color: colourOf(role), width: 1.4, type: [5, 4] as number[] },
    label: { position },
  }
}
