/** The short table of `--quick`: our figure, the floor's and the peer's side by side. */
import { bulletList, markdownTable } from '../harness/figures/markdown.js'
import type { MedianInterval } from '../harness/figures/statistics.js'
import type { ScenarioSummary, SideSummary } from './summary.js'

/** What `--quick` runs, in the order of its table. */
export const QUICK_SCENARIOS: readonly string[] = ['get', 'list', 'chat', 'stream-64', 'latency']

const NONE = '–'

type Cell = (side: SideSummary) => string

interface QuickRow {
  readonly says: string
  readonly cell: Cell
  readonly ratio: (scenario: ScenarioSummary) => string
}

const grouped = (value: number): string => Math.round(value).toLocaleString('en-US')
const micros = (ms: number): string => `${(ms * 1_000).toFixed(0)} µs`

const perSecond: Cell = ({ rate, cpuUsPerRequest }) =>
  `${grouped(rate)}/s${cpuUsPerRequest === null ? '' : `, ${cpuUsPerRequest.toFixed(1)} µs`}`

function intervalText(value: MedianInterval | null): string {
  if (value === null) return NONE
  const [middle, low, high] = [value.median, value.low, value.high].map((one) => one.toFixed(2))
  return `${middle} [${low}..${high}]`
}

const byCpu = ({ cpuRatio }: ScenarioSummary): string => intervalText(cpuRatio)

const added = (of: 'p50' | 'p99'): QuickRow => ({
  says: `latency added to a whole chat call, one connection, ${of}`,
  cell: (side) => (side.added === null ? NONE : micros(side.added[of])),
  ratio: ({ ours, floor }) =>
    ours.added && floor?.added ? `+${micros(ours.added[of] - floor.added[of])}` : NONE,
})

const ROWS: Readonly<Record<string, readonly QuickRow[]>> = {
  get: [{ says: '`GET /items/{id}`, 64 connections', cell: perSecond, ratio: byCpu }],
  list: [{ says: '`GET /items`, 20 items, 64 connections', cell: perSecond, ratio: byCpu }],
  chat: [{ says: 'chat, whole, 32 connections', cell: perSecond, ratio: byCpu }],
  'stream-64': [
    {
      says: 'chat, streams of 64 events, 32 connections',
      cell: ({ stream }) =>
        stream === null
          ? NONE
          : `${grouped(stream.tokensPerSecond)} tokens/s, ${stream.cpuUsPerToken?.toFixed(1) ?? NONE} µs`,
      ratio: byCpu,
    },
  ],
  latency: [added('p50'), added('p99')],
}

/** The table; `peer` is the name of the other gateway, null when none ran. */
export function quickTable(scenarios: readonly ScenarioSummary[], peer: string | null): string {
  const head = ['what', 'Sluice', 'floor', ...(peer === null ? [] : [peer]), 'floor/Sluice by CPU']
  const rows = scenarios.flatMap((scenario) =>
    (ROWS[scenario.name] ?? []).map(({ says, cell, ratio }) => {
      const sides = [scenario.ours, scenario.floor, ...(peer === null ? [] : [scenario.peer])]
      return [says, ...sides.map((side) => (side === null ? NONE : cell(side))), ratio(scenario)]
    }),
  )
  const doubts = scenarios.flatMap(({ name, warnings }) => warnings.map((line) => `${name}: ${line}`))
  return [markdownTable(head, rows), LEGEND, ...(doubts.length === 0 ? [] : [bulletList(doubts)])].join(
    '\n\n',
  )
}

const LEGEND = `Requests a second and CPU time of all processes of the server for each, one worker on one core with the settings as
shipped; medians of paired rounds, with the range of their ratio. The floor of the reads is a bare uWebSockets.js that
sends the same bytes, that of the gateway a bare relay (uWebSockets.js and undici) before the same mock provider.`
