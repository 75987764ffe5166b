/** Latency over time as a map: stalls lean, warm-up fades, two modes are two bands. */
import type { HeatCells } from '../report/repetition.js'
import { formatFigure, PLOT_WIDTH, plotTitle, TEXT_PX, valueAxis } from './axes.js'
import { colourOf } from './palette.js'
import { renderChart } from './svg-chart.js'

const SIZE = { width: PLOT_WIDTH, height: 360 }

/** Null when no cell holds anything. */
export function heatPlot(
  title: string,
  subtitle: string,
  { stepMs, edgesMs, counts }: HeatCells,
): string | null {
  const most = Math.max(0, ...counts.flat())
  if (most === 0) return null
  const bands = edgesMs.slice(0, -1)
  const used = bands.map((_, band) => counts.some((step) => (step[band] ?? 0) > 0))
  const low = Math.max(0, used.indexOf(true) - 1)
  const high = Math.min(bands.length - 1, used.lastIndexOf(true) + 1)
  const cells = counts.flatMap((step, at) =>
    step.slice(low, high + 1).flatMap((count, band) => (count > 0 ? [[at, band, count]] : [])),
  )
  const labels = edgesMs.slice(low, high + 1)
  return renderChart(
    {
      title: plotTitle(title, subtitle),
      grid: { left: 78, right: 100, top: 62, bottom: 56 },
      xAxis: categoryAxis(
        counts.map((_, at) => String((at * stepMs) / 1000)),
        'seconds of the measurement',
        30,
        isFullSecond(stepMs),
      ),
      yAxis: categoryAxis(labels.map(formatFigure), 'latency, ms', 52, isDecadeStart(labels)),
      // One hue over the paper's own colour reads the same on a light and a dark ground.
      visualMap: {
        type: 'piecewise',
        pieces: countClasses(most),
        dimension: 2,
        right: 10,
        top: 62,
        itemWidth: 14,
        itemHeight: 14,
        textStyle: { color: colourOf('muted'), fontSize: 11 },
      },
      series: [{ type: 'heatmap', data: cells, itemStyle: { borderWidth: 0 }, progressive: 0 }],
    },
    SIZE,
    `${title}: number of requests by time and latency`,
  )
}

const OPACITIES = [0.16, 0.32, 0.5, 0.72, 1]

/** Bounds that grow by the same factor: one slow request must be seen beside a thousand quick ones. */
function countClasses(most: number) {
  const growth = Math.max(2, most) ** (1 / OPACITIES.length)
  return OPACITIES.map((opacity, index) => {
    const above = index === 0 ? 0 : growth ** index
    const upTo = index === OPACITIES.length - 1 ? most : growth ** (index + 1)
    const from = Math.floor(above) + 1
    return {
      gt: above,
      lte: upTo,
      label: from >= Math.floor(upTo) ? `${from}` : `${from}–${Math.floor(upTo)}`,
      color: colourOf('client'),
      colorAlpha: opacity,
      opacity,
    }
  }).filter(({ gt, lte }) => Math.floor(lte) > Math.floor(gt))
}

function categoryAxis(
  data: readonly string[],
  name: string,
  nameGap: number,
  interval: number | ((index: number) => boolean),
) {
  return {
    ...valueAxis(name, { nameGap, splitLine: { show: false } }),
    type: 'category' as const,
    data: [...data],
    axisLabel: { color: colourOf('muted'), fontSize: TEXT_PX, interval },
    axisTick: { show: true, interval, lineStyle: { color: colourOf('muted') } },
  }
}

/** Bands that are the first of their power of ten: the only ones with a round number. */
function isDecadeStart(edgesMs: readonly number[]): (index: number) => boolean {
  const decade = (edge: number | undefined) => Math.floor(Math.log10(edge ?? 0) + 1e-6)
  return (index) => index === 0 || decade(edgesMs[index]) !== decade(edgesMs[index - 1])
}

function isFullSecond(stepMs: number): (index: number) => boolean {
  const steps = Math.max(1, Math.round(1000 / stepMs))
  return (index) => index % steps === 0
}
