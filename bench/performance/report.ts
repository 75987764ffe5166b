/** The report as data and as Markdown. */

import { bulletList, type Columns, columnTable } from '../harness/figures/markdown.js'
import { SEQUENCE_SEED } from '../harness/figures/sequence.js'
import { LEAST_CONFIDENCE, type MedianInterval } from '../harness/figures/statistics.js'
import { describeSource, type MachineRecord, machineLine, sourceLine } from '../harness/machine/machine.js'
import { coresText } from '../harness/machine/pinning.js'
import { PROJECT_FOLDER } from '../harness/project.js'
import type { JudgedBar } from './bars.js'
import { floorsLine } from './floor-sources.js'
import { PEER_LABEL } from './gateway/peer.js'
import type { AddedLatency, RoundFigures } from './job.js'
import type { CampaignSettings } from './sides.js'
import {
  GENERATOR_CEILING,
  type ItemCost,
  type ScenarioSummary,
  type SideSummary,
  type StreamSummary,
} from './summary.js'

type RunRecord = ReturnType<typeof runRecord>

export interface BenchReport {
  readonly run: RunRecord
  readonly scenarios: readonly ScenarioSummary[]
  readonly rounds: Readonly<Record<string, readonly RoundFigures[]>>
}

/** How a run was made that ends now. */
export function runRecord(
  settings: CampaignSettings,
  args: readonly string[],
  startedAt: string,
  machine: MachineRecord,
) {
  const { generator, toolVersion, workers, rounds, warmupSeconds, durationSeconds, pinning } = settings
  const warmup = `${warmupSeconds} s of the same load before every measurement`
  return {
    startedAt,
    finishedAt: new Date().toISOString(),
    command: ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' '),
    tool: generator,
    toolVersion,
    workers,
    /** The other gateway and its version; null when none ran. */
    peer: settings.peerProgram === null ? null : PEER_LABEL,
    rounds,
    warmupSeconds,
    measureSeconds: durationSeconds,
    warmupRule: `${warmup}, ${generator === 'wrk' ? 'as a run of its own' : 'which then runs on without a pause'}`,
    order: 'the sides alternate, the order reversed in every second round; scenarios as listed',
    sequenceSeed: SEQUENCE_SEED,
    pinning,
    machine,
    source: describeSource(PROJECT_FOLDER),
    floors: floorsLine(),
  }
}

/** The whole report in Markdown, its tables padded so that they read well in a terminal too. */
export function renderMarkdown({ run, scenarios }: BenchReport): string {
  const sides = scenarios.flatMap(({ name, ours, floor, peer }) =>
    Object.entries({ ours, floor, peer }).flatMap(([side, of]) => (of === null ? [] : [{ name, side, of }])),
  )
  const streams = sides.flatMap(({ of: { stream }, ...side }) => (stream ? [{ ...side, stream }] : []))
  const added = sides.flatMap(({ of, ...side }) => (of.added ? [{ ...side, added: of.added }] : []))
  const bars = scenarios.flatMap(({ name, bars: own }) => own.map((bar) => ({ name, ...bar })))
  const peers = scenarios.flatMap(({ name, peer, peerRatio }) => (peer ? [{ name, peer, peerRatio }] : []))
  const scans = scenarios.flatMap(({ name, perItem }) => (perItem ? [{ name, ...perItem }] : []))
  const checks = scenarios.flatMap((scenario) =>
    scenario.checks.map(({ good, text }) => `${scenario.name}: ${good ? 'ok' : 'FAILED'}: ${text}`),
  )
  const parts = [
    '# Benchmark',
    columnTable(MAIN_COLUMNS, scenarios),
    LEGEND,
    ...titled('## Bars', columnTable(BAR_COLUMNS, bars), bars),
    ...titled('## Streams', columnTable(STREAM_COLUMNS, streams), streams),
    ...titled('## Added latency', columnTable(ADDED_COLUMNS, added), added),
    ...titled(`## Beside ${run.peer}`, columnTable(PEER_COLUMNS, peers), peers),
    ...titled('## Cost of a scan', columnTable(SCAN_COLUMNS, scans), scans),
    ...titled('## Checks', bulletList(checks), checks),
    ...titled('## Warnings', bulletList(warnings(run, scenarios)), warnings(run, scenarios)),
    `## How it was measured\n\n${bulletList(methodLines(run))}`,
    `## What this does not show\n\n${LIMITS}`,
  ]
  return `${parts.join('\n\n')}\n`
}

/** A part of the report, left out when it is about nothing. */
function titled(title: string, text: string, about: readonly unknown[]): string[] {
  return about.length === 0 ? [] : [`${title}\n\n${text}`]
}

const MAIN_COLUMNS: Columns<ScenarioSummary> = [
  ['scenario', ({ name }) => name],
  ['conns', ({ connections }) => String(connections)],
  ['req/s', ({ ours }) => formatRate(ours)],
  ['p50 ms', ({ ours }) => formatMs(ours.p50)],
  ['p99 ms', ({ ours }) => formatMs(ours.p99)],
  ['errors', ({ ours, floor }) => String(ours.errors + (floor?.errors ?? 0))],
  ['CPU µs/req', ({ ours }) => formatDecimal(ours.cpuUsPerRequest)],
  ['server CPU', ({ ours }) => formatDecimal(ours.serverShare, 2)],
  ['RSS MiB', ({ ours }) => formatMebibytes(ours.rssBytes)],
  ['gen. CPU', ({ ours }) => formatDecimal(ours.generatorShare, 2)],
  ['floor/s', ({ floor }) => (floor === null ? NONE : formatRate(floor))],
  ['floor µs/req', ({ floor }) => formatDecimal(floor?.cpuUsPerRequest ?? null)],
  ['rate ratio to floor', ({ rateRatio }) => formatInterval(rateRatio)],
  ['CPU ratio to floor', ({ cpuRatio }) => formatInterval(cpuRatio)],
  ['health p99 ms', ({ poll }) => formatMs(poll?.latency.p99 ?? null)],
]

/** Streams by side: a rate of streams says little about what their readers saw. */
const STREAM_COLUMNS: Columns<{ name: string; side: string; stream: StreamSummary }> = [
  ['scenario', ({ name }) => name],
  ['side', ({ side }) => side],
  ['tokens/s', ({ stream }) => formatGrouped(stream.tokensPerSecond)],
  ['first p50 ms', ({ stream }) => formatMs(stream.firstToken.p50)],
  ['first p99 ms', ({ stream }) => formatMs(stream.firstToken.p99)],
  ['gap p50 ms', ({ stream }) => formatMs(stream.gap.p50)],
  ['gap p99 ms', ({ stream }) => formatMs(stream.gap.p99)],
  ['gap max ms', ({ stream }) => formatMs(stream.gap.max)],
  ['CPU µs/token', ({ stream }) => formatDecimal(stream.cpuUsPerToken)],
]

const ADDED_COLUMNS: Columns<{ name: string; side: string; added: AddedLatency }> = [
  ['scenario', ({ name }) => name],
  ['side', ({ side }) => side],
  ['added p50 µs', ({ added }) => (added.p50 * 1_000).toFixed(0)],
  ['added p99 µs', ({ added }) => (added.p99 * 1_000).toFixed(0)],
  ['added max ms', ({ added }) => formatMs(added.max)],
]

const barText = ({ atLeast, atMost }: JudgedBar): string =>
  atLeast === undefined ? `≤ ${atMost}` : `≥ ${Number(atLeast.toFixed(3))}`

const BAR_COLUMNS: Columns<{ name: string } & JudgedBar> = [
  ['scenario', ({ name }) => name],
  ['figure', ({ says }) => says],
  ['bar', barText],
  ['measured', ({ value }) => formatInterval(value, (value?.median ?? 0) < 10 ? 3 : 1)],
  ['', barVerdictText],
]

/** A bar within the interval, or an interval of too few rounds, decides nothing. */
function barVerdictText({ verdict, medianMeets, value }: JudgedBar): string {
  if (verdict !== 'open') return verdict
  if (value === null) return 'not measured'
  const why = value.confidence < LEAST_CONFIDENCE ? 'too few rounds' : 'the bar lies in the interval'
  return `${medianMeets ? 'met' : 'missed'} by the median, not decided: ${why}`
}

const PEER_COLUMNS: Columns<{ name: string; peer: SideSummary; peerRatio: MedianInterval | null }> = [
  ['scenario', ({ name }) => name],
  ['peer/s', ({ peer }) => formatRate(peer)],
  ['p50 ms', ({ peer }) => formatMs(peer.p50)],
  ['p99 ms', ({ peer }) => formatMs(peer.p99)],
  ['errors', ({ peer }) => String(peer.errors)],
  ['CPU µs/req', ({ peer }) => formatDecimal(peer.cpuUsPerRequest)],
  ['RSS MiB', ({ peer }) => formatMebibytes(peer.rssBytes)],
  ['our rate / peer', ({ peerRatio }) => formatInterval(peerRatio)],
]

const SCAN_COLUMNS: Columns<{ name: string } & ItemCost> = [
  ['scenario', ({ name }) => name],
  ['items', ({ items }) => formatGrouped(items)],
  ['CPU ns/item', ({ cpuNs }) => formatDecimal(cpuNs)],
  ['latency ns/item, 1 connection', ({ latencyNs }) => formatDecimal(latencyNs)],
  ['bare loop ns/item', ({ floorNs }) => formatDecimal(floorNs)],
]

const LEGEND = `Medians over the rounds. \`rate ratio\` is our rate over the floor's, \`CPU ratio\` the floor's CPU per request over ours
(1 would be the bare program's cost), both paired by round, with [an interval] that holds the true median in at least
95 of 100 runs, by the order of the rounds' values alone; below 6 rounds it is their range, which decides nothing. CPU columns are cores. \`*\`: the
generator used ${GENERATOR_CEILING} of its core or more, so the rate is its ceiling and only a lower bound of the server's. \`errors\` counts
replies outside 2xx, timeouts, lost connections, incomplete answers and failed polls over warm-up and measurement. In
a gateway's row a request is a whole call, and the generator's CPU holds that of the mock upstream. \`health p99\` is a second,
light caller beside the load, timed from when its requests were due. Latencies are those of a closed loop at
saturation: they show queueing at full load, not what a caller sees at a moderate rate.`

const LIMITS = `Loopback only: no network, no TLS, no proxy. One generator process, so one core of load at most. Closed loops find
capacity; a latency to quote needs an open loop at 80 % of it or less. A copy floor has no store, no validation and no
statistics, so the ratio of a write holds the whole price of durability. On a shared machine compare only ratios and CPU
per request, and call two runs different only when their ranges do not touch.`

function warnings(run: RunRecord, scenarios: readonly ScenarioSummary[]): string[] {
  const aboutWrk =
    'wrk corrects its latencies after the run and starts its clock late at saturation: take rates and CPU from it, latencies from autocannon'
  return [
    ...run.pinning.warnings,
    ...(run.tool === 'wrk' ? [aboutWrk] : []),
    ...scenarios.flatMap(({ name, warnings: own }) => own.map((line) => `${name}: ${line}`)),
  ]
}

function methodLines(run: RunRecord): string[] {
  const { machine, source, pinning } = run
  return [
    `command: \`${run.command}\``,
    `started ${run.startedAt}, finished ${run.finishedAt}`,
    sourceLine(source, machine),
    machineLine(machine),
    run.floors,
    `server and floor: ${coresText(pinning.serverCores)}; generator: ${coresText(pinning.generatorCores)}; server workers ${run.workers}, all other settings as shipped; data on ${machine.dataFileSystem}`,
    `generator: ${run.toolVersion}, one process, fresh for every measurement`,
    `warm-up: ${run.warmupRule}`,
    `rounds: ${run.rounds} of ${run.measureSeconds} s per side, none discarded; order: ${run.order}; seed of the request sequences ${run.sequenceSeed}`,
  ]
}

const NONE = '–'

/** With a mark when the generator was at its ceiling. */
function formatRate({ rate, generatorShare }: SideSummary): string {
  return formatGrouped(rate) + ((generatorShare ?? 0) >= GENERATOR_CEILING ? '*' : '')
}

const formatMebibytes = (bytes: number | null): string =>
  bytes === null ? NONE : (bytes / 2 ** 20).toFixed(0)

function formatGrouped(value: number): string {
  const digits = value < 100 ? value.toFixed(1) : value.toFixed(0)
  return digits.replace(/\B(?=(\d{3})+(?!\d))/g, ' ')
}

function formatDecimal(value: number | null, places = 1): string {
  return value === null ? NONE : value.toFixed(places)
}

/** Three significant digits are more than a histogram of 1.6 % steps can tell. */
function formatMs(value: number | null): string {
  if (value === null) return NONE
  return value < 10 ? value.toFixed(2) : value.toFixed(1)
}

function formatInterval(value: MedianInterval | null, places = 2): string {
  if (value === null) return NONE
  const [middle, low, high] = [value.median, value.low, value.high].map((one) => one.toFixed(places))
  return `${middle} [${low}..${high}]`
}
