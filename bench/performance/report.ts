/** The report as data and as Markdown. */

import type { MedianRange } from '../harness/figures/statistics.js'
import type { MachineRecord, SourceRecord } from '../harness/machine/machine.js'
import type { Pinning } from '../harness/machine/pinning.js'
import type { RoundFigures } from './figures.js'
import type { GeneratorName } from './job.js'
import { GENERATOR_CEILING, type ScenarioSummary, type SideSummary, type StreamSummary } from './summary.js'

interface RunRecord {
  readonly startedAt: string
  readonly finishedAt: string
  readonly command: string
  readonly tool: GeneratorName
  readonly toolVersion: string
  readonly workers: number
  readonly poolThreadsPerWorker: number
  /** The other gateway and its version; null when none ran. */
  readonly peer: string | null
  readonly rounds: number
  readonly warmupSeconds: number
  readonly measureSeconds: number
  readonly warmupRule: string
  readonly order: string
  readonly sequenceSeed: number
  readonly pinning: Pinning
  readonly machine: MachineRecord
  readonly source: SourceRecord
}

export interface BenchReport {
  readonly run: RunRecord
  readonly scenarios: readonly ScenarioSummary[]
  readonly rounds: Readonly<Record<string, readonly RoundFigures[]>>
}

/** The whole report in Markdown, its tables padded so that they read well in a terminal too. */
export function renderMarkdown({ run, scenarios }: BenchReport): string {
  const parts = [
    '# Benchmark',
    table(MAIN_HEAD, scenarios.map(mainRow)),
    LEGEND,
    ...streamPart(scenarios),
    ...peerPart(run, scenarios),
    ...perItemPart(scenarios),
    ...listPart('Checks', scenarios, (scenario) =>
      scenario.checks.map((check) => `${check.good ? 'ok' : 'FAILED'}: ${check.text}`),
    ),
    ...warningPart(run, scenarios),
    `## How it was measured\n\n${methodLines(run).join('\n')}`,
    `## What this does not show\n\n${LIMITS}`,
  ]
  return `${parts.join('\n\n')}\n`
}

const MAIN_HEAD = [
  'scenario',
  'conns',
  'req/s',
  'p50 ms',
  'p99 ms',
  'errors',
  'CPU µs/req',
  'server CPU',
  'RSS MiB',
  'gen. CPU',
  'floor/s',
  'floor µs/req',
  'rate ratio to floor',
  'CPU ratio to floor',
  'health p99 ms',
]

const LEGEND = `Medians over the rounds. \`rate ratio\` is our rate over the floor's, \`CPU ratio\` the floor's CPU per request over ours
(1 would be the bare program's cost), both paired by round, with [smallest..largest]. CPU columns are cores. \`*\`: the
generator used ${GENERATOR_CEILING} of its core or more, so the rate is its ceiling and only a lower bound of the server's. \`errors\` counts
replies outside 2xx, timeouts, lost connections, incomplete answers and failed polls over warm-up and measurement. In
a gateway's row a request is a whole call, and the generator's CPU holds that of the mock upstream. \`health p99\` is a second,
light caller beside the load, timed from when its requests were due. Latencies are those of a closed loop at
saturation: they show queueing at full load, not what a caller sees at a moderate rate.`

const LIMITS = `Loopback only: no network, no TLS, no proxy. One generator process, so one core of load at most. Closed loops find
capacity; a latency to quote needs an open loop at 80 % of it or less. A copy floor has no store, no validation and no
statistics, so the ratio of a write holds the whole price of durability. On a shared machine compare only ratios and CPU
per request, and call two runs different only when their ranges do not touch.`

function mainRow(scenario: ScenarioSummary): string[] {
  const { ours, floor, poll } = scenario
  return [
    scenario.name,
    String(scenario.connections),
    formatGrouped(ours.rate) + ceilingMark(ours),
    formatMs(ours.p50),
    formatMs(ours.p99),
    String(ours.errors + (floor?.errors ?? 0)),
    formatDecimal(ours.cpuUsPerRequest),
    formatDecimal(ours.serverShare, 2),
    ours.rssBytes === null ? '–' : (ours.rssBytes / 2 ** 20).toFixed(0),
    formatDecimal(ours.generatorShare, 2),
    floor === null ? '–' : formatGrouped(floor.rate) + ceilingMark(floor),
    formatDecimal(floor?.cpuUsPerRequest ?? null),
    formatRatio(scenario.rateRatio),
    formatRatio(scenario.cpuRatio),
    formatMs(poll?.latency.p99 ?? null),
  ]
}

/** Streams by side: a rate of streams says little about what their readers saw. */
function streamPart(scenarios: readonly ScenarioSummary[]): string[] {
  const rows = scenarios.flatMap(({ name, ours, floor, peer }) =>
    [
      { side: 'ours', of: ours },
      { side: 'floor', of: floor },
      { side: 'peer', of: peer },
    ].flatMap(({ side, of }) => (of?.stream ? [streamRow(name, side, of.stream)] : [])),
  )
  const head = [
    'scenario',
    'side',
    'tokens/s',
    'first p50 ms',
    'first p99 ms',
    'gap p50 ms',
    'gap p99 ms',
    'gap max ms',
  ]
  return rows.length === 0 ? [] : ['## Streams', table(head, rows)]
}

function streamRow(
  name: string,
  side: string,
  { tokensPerSecond, firstToken, gap }: StreamSummary,
): string[] {
  return [
    name,
    side,
    formatGrouped(tokensPerSecond),
    formatMs(firstToken.p50),
    formatMs(firstToken.p99),
    formatMs(gap.p50),
    formatMs(gap.p99),
    formatMs(gap.max),
  ]
}

function peerPart(run: RunRecord, scenarios: readonly ScenarioSummary[]): string[] {
  const rows = scenarios.flatMap(({ name, peer, peerRatio }) =>
    peer === null
      ? []
      : [
          [
            name,
            formatGrouped(peer.rate) + ceilingMark(peer),
            formatMs(peer.p50),
            formatMs(peer.p99),
            String(peer.errors),
            formatDecimal(peer.cpuUsPerRequest),
            peer.rssBytes === null ? '–' : (peer.rssBytes / 2 ** 20).toFixed(0),
            formatRatio(peerRatio),
          ],
        ],
  )
  if (rows.length === 0) return []
  const head = [
    'scenario',
    'peer/s',
    'p50 ms',
    'p99 ms',
    'errors',
    'CPU µs/req',
    'RSS MiB',
    'our rate / peer',
  ]
  return [`## Beside ${run.peer}`, table(head, rows)]
}

function ceilingMark(side: SideSummary): string {
  return (side.generatorShare ?? 0) >= GENERATOR_CEILING ? '*' : ''
}

function perItemPart(scenarios: readonly ScenarioSummary[]): string[] {
  const rows = scenarios.flatMap(({ name, perItem }) =>
    perItem === null
      ? []
      : [
          [
            name,
            formatGrouped(perItem.items),
            formatDecimal(perItem.cpuNs),
            formatDecimal(perItem.latencyNs),
            formatDecimal(perItem.floorNs),
          ],
        ],
  )
  if (rows.length === 0) return []
  const head = ['scenario', 'items', 'CPU ns/item', 'latency ns/item, 1 connection', 'bare loop ns/item']
  return ['## Cost of a scan', table(head, rows)]
}

function listPart(
  title: string,
  scenarios: readonly ScenarioSummary[],
  linesOf: (scenario: ScenarioSummary) => readonly string[],
): string[] {
  const lines = scenarios.flatMap((scenario) =>
    linesOf(scenario).map((line) => `- ${scenario.name}: ${line}`),
  )
  return lines.length === 0 ? [] : [`## ${title}\n\n${lines.join('\n')}`]
}

function warningPart(run: RunRecord, scenarios: readonly ScenarioSummary[]): string[] {
  const general = [
    ...run.pinning.warnings,
    ...(run.tool === 'wrk'
      ? [
          'wrk corrects its latencies after the run and starts its clock late at saturation: take rates and CPU from it, latencies from autocannon',
        ]
      : []),
  ].map((line) => `- ${line}`)
  const own = listPart('', scenarios, (scenario) => scenario.warnings).map((part) =>
    part.replace(/^## \n\n/, ''),
  )
  const lines = [...general, ...own]
  return lines.length === 0 ? [] : [`## Warnings\n\n${lines.join('\n')}`]
}

function methodLines(run: RunRecord): string[] {
  const { machine, source, pinning } = run
  const cores = (list: readonly number[] | null) => (list === null ? 'not pinned' : `core ${list.join(', ')}`)
  const libraries = Object.entries(source.libraries).map(([name, version]) => `${name} ${version}`)
  return [
    `- command: \`${run.command}\``,
    `- started ${run.startedAt}, finished ${run.finishedAt}`,
    `- revision ${source.revision}; node ${machine.node}; ${libraries.join(', ')}`,
    `- machine: ${machine.cpu}, ${machine.cores} cores, SMT ${machine.smt}, frequency policy ${machine.frequencyPolicy}, virtual machine ${machine.virtualMachine}, ${machine.memoryGiB} GiB, ${machine.kernel}; load before the run ${machine.loadAverageBefore}`,
    `- server and floor: ${cores(pinning.serverCores)}; generator: ${cores(pinning.generatorCores)}; server workers ${run.workers}, pool threads per worker ${run.poolThreadsPerWorker}; data on ${machine.dataFileSystem}`,
    `- generator: ${run.toolVersion}, one process, fresh for every measurement`,
    `- warm-up: ${run.warmupRule}`,
    `- rounds: ${run.rounds} of ${run.measureSeconds} s per side, none discarded; order: ${run.order}; seed of the request sequences ${run.sequenceSeed}`,
  ]
}

/** A Markdown table, first column to the left and figures to the right. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]!.length)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))).join(' | ')} |`
  const rule = `| ${widths.map((width, at) => (at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`
  return [line(head), rule, ...rows.map(line)].join('\n')
}

function formatGrouped(value: number): string {
  const digits = value < 100 ? value.toFixed(1) : value.toFixed(0)
  return digits.replace(/\B(?=(\d{3})+(?!\d))/g, ' ')
}

function formatDecimal(value: number | null, places = 1): string {
  return value === null ? '–' : value.toFixed(places)
}

/** Three significant digits are more than a histogram of 1.6 % steps can tell. */
function formatMs(value: number | null): string {
  if (value === null) return '–'
  return value < 10 ? value.toFixed(2) : value.toFixed(1)
}

function formatRatio(value: MedianRange | null): string {
  if (value === null) return '–'
  return `${value.median.toFixed(2)} [${value.min.toFixed(2)}..${value.max.toFixed(2)}]`
}
