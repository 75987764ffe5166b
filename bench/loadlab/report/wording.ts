/** Figures and facts of a comparison as text, for Markdown and the page alike. */
import type { LoadToolVerdict } from '../../../src/lab/run-summary.js'
import { formatValidityReport } from '../../../src/lab/verdict/validity-report.js'
import type { Columns } from '../../harness/figures/markdown.js'
import type { MedianInterval } from '../../harness/figures/statistics.js'
import { machineLine, sourceLine } from '../../harness/machine/machine.js'
import { coresText } from '../../harness/machine/pinning.js'
import { formatFigure } from '../plots/axes.js'
import { highestRateWithinLimit, kneeOfSweep } from '../plots/sweep-plot.js'
import type { ComparisonRun, CurvePoint, Repetition, StreamCurves, Sweep } from './repetition.js'
import type { ScenarioSummary, ToolSummary, ValueCount } from './summary.js'

export const UNKNOWN = '–'

/** `165 200 [131 900..169 300]` */
function formatInterval(value: MedianInterval | null, write: (value: number) => string = formatFigure) {
  if (value === null) return UNKNOWN
  return value.count === 1
    ? write(value.median)
    : `${write(value.median)} [${write(value.low)}..${write(value.high)}]`
}

const formatRatio = (value: number): string => value.toFixed(value < 10 ? 2 : 0)

const formatOptional = (value: number | undefined): string =>
  value === undefined ? UNKNOWN : formatFigure(value)

/** `latency invalid 6/6`, or all that were given with their times. */
export function voteCounts<T>(counted: readonly ValueCount<T>[]): string {
  const total = counted.reduce((sum, { times }) => sum + times, 0)
  return counted.map(({ value, times }) => `${value} ${times}/${total}`).join(', ') || UNKNOWN
}

/** What a table of a scenario says of each tool. */
export const TOOL_COLUMNS: Columns<ToolSummary> = [
  ['tool', ({ tool }) => tool],
  ['verdict', ({ verdicts }) => voteCounts(verdicts)],
  ['loop', ({ classes }) => voteCounts(classes)],
  ['req/s', ({ rate }) => formatInterval(rate)],
  ['mean ms', ({ client }) => formatOptional(client.mean)],
  ['p50 ms', ({ client }) => formatOptional(client.p50)],
  ['p90 ms', ({ client }) => formatOptional(client.p90)],
  ['p99 ms', ({ client }) => formatOptional(client.p99)],
  ['max ms', ({ client }) => formatOptional(client.max)],
  ['server p99 ms', ({ server }) => formatOptional(server.p99)],
  ['errors', ({ errors }) => formatFigure(errors)],
  ['non-2xx', ({ non2xx }) => formatFigure(non2xx)],
  ['gen. CPU', ({ generatorCpu }) => generatorCpu.toFixed(2)],
  ['server CPU', ({ serverCpu }) => serverCpu.toFixed(2)],
  ['req/gen.-CPU-s', ({ perGeneratorSecond }) => formatOptional(perGeneratorSecond ?? undefined)],
  ['rate ratio', ({ paired }) => formatInterval(paired, formatRatio)],
]

/** What is said of a stream driver besides, from its typical repetition. */
export const STREAM_COLUMNS: Columns<{ readonly tool: string } & StreamCurves> = [
  ['tool', ({ tool }) => tool],
  ['streams', ({ streams }) => formatFigure(streams)],
  ['tokens/s', ({ tokensPerSecond }) => formatFigure(tokensPerSecond)],
  ['first token p50 ms', ({ firstToken }) => pointAt(firstToken, 50)],
  ['p99 ms', ({ firstToken }) => pointAt(firstToken, 99)],
  ['gap p50 ms', ({ gap }) => pointAt(gap, 50)],
  ['p99 ms', ({ gap }) => pointAt(gap, 99)],
]

function pointAt(points: readonly CurvePoint[], percent: number): string {
  const point = points.find(({ percentile }) => percentile >= percent) ?? points.at(-1)
  return formatOptional(point?.ms)
}

/** The stream drivers among the tools, for that table. */
export function streamRows(tools: readonly ToolSummary[]) {
  return tools.flatMap(({ tool, typical }) =>
    typical?.streams === undefined ? [] : [{ tool, ...typical.streams }],
  )
}

/** What a sweep shows, in a few sentences. */
export function sweepSentences(sweep: Sweep): string {
  const best = highestRateWithinLimit(sweep)
  const knee = kneeOfSweep(sweep)
  return [
    `A closed loop reached ${formatFigure(sweep.capacity)}/s.`,
    best === null
      ? `No rate kept p99 within ${formatFigure(sweep.limitMs)} ms.`
      : `p99 stayed within ${formatFigure(sweep.limitMs)} ms up to ${formatFigure(best.target)}/s.`,
    knee === null ? 'The sweep shows no knee.' : `The knee is at ${formatFigure(knee.achieved)}/s.`,
  ].join(' ')
}

/** Tools that gave figures in a scenario, and a line for each repetition that gave none. */
export function figuresAndFailures({ tools }: ScenarioSummary): {
  readonly good: readonly ToolSummary[]
  readonly failures: readonly string[]
} {
  const good = tools.filter(({ repetitions }) => repetitions.length > 0)
  return { good, failures: tools.flatMap(({ tool, failures }) => failures.map((why) => `${tool}, ${why}`)) }
}

export const LEGEND = `Medians over the rounds, in brackets the interval that holds the true median with at least 92 % (for six rounds the
range, 96.9 %). Latencies are what the tool prints, server p99 is what the server measured in the same runs. Errors and
answers outside 2xx are sums over the rounds. CPU is in cores. The rate ratio is paired by round, against the scenario's
reference; only an interval that excludes 0.98 to 1.02 is a difference.`

export const LIMITS = `Loopback on one machine: no network, no TLS, no proxy but that of ab-nginx, and generator and server share memory and caches. One generator
process on one core. A verdict is about one tool with these options, at this rate, against this server: another option
may cure what is wrong, and a tool that passed here may fail beyond its limits. A stall of a second is larger than most
real ones; a tool that hides it hides smaller ones, too, but how much of a small one a reader misses depends on its length.
Closed loops find capacity; a latency to quote needs an open loop at 80 % of it or less.`

export function validityText(one: Repetition): string {
  return formatValidityReport(one.truth, one.report, one.verdict, one.series)
}

/** How it was measured, a fact to a line; code is in backticks. */
export function methodFacts(run: ComparisonRun): string[] {
  const { machine, source, pinning, server } = run
  const limits = Object.entries(run.limits).map(([name, value]) => `${name} ${value}`)
  const installed = run.tools.flatMap(({ tool, version }) => (version === null ? [] : [`${tool} ${version}`]))
  const absent = run.tools.flatMap(({ tool, version, note }) =>
    version === null ? [`${tool} (${note ?? 'not installed'})`] : [],
  )
  return [
    `command: \`${run.command}\`; started ${run.startedAt}, finished ${run.finishedAt}`,
    machineLine(machine),
    `server: ${coresText(pinning.serverCores)}, generator: ${coresText(pinning.generatorCores)}`,
    `server command: \`${server.argv.map(stripFolder).join(' ')}\`; ${server.workers} worker${server.workers === 1 ? '' : 's'}; truth recording ${server.recording ? 'on' : 'off'}`,
    sourceLine(source, machine),
    `tools: ${installed.join(', ')}${absent.length > 0 ? `; not run: ${absent.join(', ')}` : ''}`,
    ...(limits.length === 0 ? [] : [`limits: ${limits.join(', ')}`]),
    `warm-up: ${run.warmupRule}`,
    `rounds: ${run.rounds} of ${run.measureSeconds} s for each tool and scenario`,
    `order: drawn anew for each round from seed ${run.orderSeed}: ${run.order.map((tools, round) => `(${round + 1}) ${tools.join(', ')}`).join('; ')}`,
    'rule for discarding, applied before any result was looked at: V10, a repetition of a loop at its own pace in which the generator got 5 % less of its core than the median of its peers',
  ]
}

/** Each tool's command line in a scenario, as it ran in the typical round. */
export function toolCommandLine(tool: ToolSummary): string {
  return tool.typical?.argv.map(stripFolder).join(' ') ?? ''
}

/** Where things lie on this machine is nobody's business: reports get published. */
const stripFolder = (argument: string): string => argument.replace(/(^|=)\/(?:[^/\s]+\/)+(?=[^/\s]+$)/, '$1')

/** The sentence that says why the commonest verdict fell: of the typical round where that has it. */
export function verdictReason({ verdicts, typical, repetitions, failures }: ToolSummary): string {
  const candidates = typical === null ? repetitions : [typical, ...repetitions]
  const one = candidates.find(({ verdict }) => verdict.verdict === verdicts[0]?.value)
  if (one === undefined) return failures[0] ?? 'it did not run'
  return decisiveReason(one.verdict) || 'its figures agree with what the server saw'
}

/** That the machine was busy is half of a reason: the other is what it may have caused. Empty without any. */
export const decisiveReason = ({ verdict, reasons }: LoadToolVerdict): string =>
  reasons.slice(0, verdict === 'not judged' ? 2 : 1).join('; ')
