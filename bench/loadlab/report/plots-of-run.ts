/** Which plots a comparison has, and their files. */
import type { RunSummary } from '../../../src/lab/run-summary.js'
import { heatPlot } from '../plots/heat-plot.js'
import { ecdfPlot, type PercentileCurve, percentilePlot } from '../plots/percentile-plot.js'
import { type StallShade, seriesPlot } from '../plots/series-plot.js'
import { sweepPlot } from '../plots/sweep-plot.js'
import type { ComparisonRun, CurvePoint, Repetition } from './repetition.js'
import { expectedLatency, type ScenarioSummary, type ToolSummary } from './summary.js'

export interface Plot {
  /** Without its ending: letters, digits and dashes. */
  readonly file: string
  readonly scenario: string
  /** Null for a plot of all tools. */
  readonly tool: string | null
  readonly kind: 'overview' | 'percentiles' | 'series' | 'heat' | 'sweep' | 'stream'
  readonly svg: string
  /** The same for a narrow window, where it is drawn for a broad one. */
  readonly narrow?: string
}

/** Widths of a plot of all tools, in pixels. */
const BROAD = 1200
const NARROW = 400

/** A plot, where there was anything to draw; its file is named by `parts`. */
function plotOf(
  kind: Plot['kind'],
  svg: string | null,
  scenario: string,
  tool: string | null,
  ...parts: string[]
) {
  return svg === null ? [] : [{ file: fileName(...parts), scenario, tool, kind, svg }]
}

export function plotsOfRun(run: ComparisonRun, scenarios: readonly ScenarioSummary[]): Plot[] {
  return [
    ...scenarios.flatMap((scenario) => [
      ...overviewPlot(scenario),
      ...scenario.tools.flatMap((tool) => toolPlots(scenario, tool, run.rounds)),
      ...streamPlots(scenario),
    ]),
    ...(run.sweeps ?? []).flatMap((sweep) =>
      plotOf('sweep', sweepPlot(sweep), sweep.scenario, null, 'sweep', sweep.scenario),
    ),
  ]
}

function overviewPlot({ name, tools }: ScenarioSummary): Plot[] {
  const typical = tools.flatMap(({ typical }) => (typical === null ? [] : [typical]))
  const curves = typical.map(
    (one): PercentileCurve => ({
      name: one.tool,
      side: one.tool.startsWith('drive') ? 'ours' : 'other',
      points: clientCurve(one),
    }),
  )
  const stalled = typical.some(({ truth }) => truth.stalls.length > 0)
  if (stalled) curves.push({ name: 'expected', side: 'theory', points: theoryCurve(typical[0]!) })
  const draw = (width: number) =>
    percentilePlot(`What the tools print: ${name}`, 'the round with the median p99 of each', curves, width)
  const narrow = draw(NARROW)
  return plotOf('overview', draw(BROAD), name, null, name, 'all').map((plot) => ({
    ...plot,
    ...(narrow !== null && { narrow }),
  }))
}

function toolPlots({ name }: ScenarioSummary, { tool, typical }: ToolSummary, rounds: number): Plot[] {
  if (typical === null) return []
  const { histograms, truth, series, heat } = typical
  const which = `round ${typical.round} of ${rounds}, the one with the median p99`
  const title = `${tool}, ${name}: `
  const server = withMaximumLast(histograms.server, truth.total.completed)
  const percentiles = percentilePlot(`${title}latency by percentile`, which, [
    { name: 'expected', side: 'theory', points: theoryCurve(typical) },
    { name: 'client', side: 'client', points: clientCurve(typical) },
    { name: 'server', side: 'server', points: server },
  ])
  const what = heat?.side === 'server' ? 'service time at the server' : 'latency'
  const drawn = {
    percentiles,
    series: seriesPlot(`${title}what the server saw`, which, series, stallShades(truth)),
    heat: heat === undefined ? null : heatPlot(`${title}requests by ${what}`, which, heat),
  }
  const kinds = ['percentiles', 'series', 'heat'] as const
  return kinds.flatMap((kind) => plotOf(kind, drawn[kind], name, tool, name, tool, kind))
}

function streamPlots({ name, tools }: ScenarioSummary): Plot[] {
  const typical = tools.flatMap(({ typical }) =>
    typical?.streams === undefined ? [] : [{ tool: typical.tool, ...typical.streams }],
  )
  if (typical.length === 0) return []
  const named = (of: 'firstToken' | 'gap') =>
    typical.map((one) => ({ name: `${one.tool}, ${one.streams} streams`, points: one[of] }))
  const first = ecdfPlot(`${name}: time to first token`, 'time to first token', named('firstToken'))
  const gap = ecdfPlot(`${name}: gaps between tokens`, 'gap between tokens', named('gap'))
  return [
    ...plotOf('stream', first, name, null, name, 'first-token'),
    ...plotOf('stream', gap, name, null, name, 'gap'),
  ]
}

function clientCurve({ histograms, report }: Repetition): CurvePoint[] {
  return withMaximumLast(histograms.client, report.done)
}

/** The greatest of `count` samples stands for all above the last but one. */
function withMaximumLast(points: readonly CurvePoint[], count: number): CurvePoint[] {
  const last = 100 * (1 - 1 / Math.max(2, count))
  return points.flatMap((point) =>
    point.percentile < 100 ? (point.percentile < last ? [point] : []) : [{ percentile: last, ms: point.ms }],
  )
}

const THEORY_POINTS = 160

function theoryCurve(one: Repetition): CurvePoint[] {
  const expected = expectedLatency(one)
  if (expected === null) return []
  const reach = Math.log10(Math.max(10, Math.min(10_000, one.report.done)))
  return Array.from({ length: THEORY_POINTS + 1 }, (_, index) => {
    const p = 1 - 10 ** ((-reach * index) / THEORY_POINTS)
    return { percentile: p * 100, ms: expected.quantile(p) }
  })
}

function stallShades({ stalls, window }: RunSummary): StallShade[] {
  const at = (ns: string) => Number(BigInt(ns) - BigInt(window.fromNs)) / 1e6
  const seen = new Map<string, StallShade>()
  for (const { kind, startNs, endNs } of stalls) {
    const shade = { kind, fromMs: at(startNs), toMs: at(endNs) }
    // A fault stops every worker at once: one shade is enough.
    seen.set(`${kind} ${Math.round(shade.fromMs / 50)}`, shade)
  }
  return [...seen.values()]
}

export function fileName(...parts: readonly string[]): string {
  return parts
    .join('-')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}
