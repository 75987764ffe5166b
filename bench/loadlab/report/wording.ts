/** Figures and facts of a comparison as text, for Markdown and the page alike. */
import { formatValidityReport } from '../../../src/lab/verdict/validity-report.js'
import type { MedianInterval } from '../../harness/figures/statistics.js'
import { formatFigure } from '../plots/axes.js'
import { highestRateWithinLimit, kneeOfSweep } from '../plots/sweep-plot.js'
import type { ComparisonRun, CurvePoint, Repetition, Sweep } from './repetition.js'
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

function formatOptional(value: number | undefined): string {
  return value === undefined ? UNKNOWN : formatFigure(value)
}

/** `latency invalid 6/6`, or all that were given with their times. */
export function voteCounts<T>(counted: readonly ValueCount<T>[]): string {
  const total = counted.reduce((sum, { times }) => sum + times, 0)
  return counted.map(({ value, times }) => `${value} ${times}/${total}`).join(', ') || UNKNOWN
}

/** What a tool's line in a table of a scenario says, without its name. */
interface TableColumns {
  readonly head: readonly string[]
  readonly of: (tool: ToolSummary) => string[]
}

export const TOOL_CELLS: TableColumns = {
  head: [
    'verdict',
    'loop',
    'req/s',
    'mean ms',
    'p50 ms',
    'p90 ms',
    'p99 ms',
    'max ms',
    'server p99 ms',
    'errors',
    'non-2xx',
    'gen. CPU',
    'server CPU',
    'req/gen.-CPU-s',
    'rate ratio',
  ],
  of: (tool) => [
    voteCounts(tool.verdicts),
    voteCounts(tool.classes),
    formatInterval(tool.rate),
    formatOptional(tool.client.mean),
    formatOptional(tool.client.p50),
    formatOptional(tool.client.p90),
    formatOptional(tool.client.p99),
    formatOptional(tool.client.max),
    formatOptional(tool.server.p99),
    formatFigure(tool.errors),
    formatFigure(tool.non2xx),
    tool.generatorCpu.toFixed(2),
    tool.serverCpu.toFixed(2),
    tool.perGeneratorSecond === null ? UNKNOWN : formatFigure(tool.perGeneratorSecond),
    formatInterval(tool.paired, formatRatio),
  ],
}

/** Of a stream driver's typical repetition; null for any other tool. */
export function streamCells({ tool, typical }: ToolSummary): string[] | null {
  const streams = typical?.streams
  if (streams === undefined) return null
  const at = (points: readonly CurvePoint[], p: number) =>
    formatOptional(points.find(({ percentile }) => percentile >= p)?.ms ?? points.at(-1)?.ms)
  const { firstToken, gap } = streams
  return [
    tool,
    formatFigure(streams.streams),
    formatFigure(streams.tokensPerSecond),
    at(firstToken, 50),
    at(firstToken, 99),
    at(gap, 50),
    at(gap, 99),
  ]
}

export const STREAM_HEAD = [
  'tool',
  'streams',
  'tokens/s',
  'first token p50 ms',
  'p99 ms',
  'gap p50 ms',
  'p99 ms',
]

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

/** Every tool of a comparison, in the order of the scenarios. */
export function toolNames(scenarios: readonly ScenarioSummary[]): string[] {
  return [...new Set(scenarios.flatMap(({ tools }) => tools.map(({ tool }) => tool)))]
}

export const LEGEND = `Medians over the rounds, in brackets the interval that holds the true median with at least 92 % (for six rounds the
range, 96.9 %). Latencies are what the tool prints, server p99 is what the server measured in the same runs. Errors and
answers outside 2xx are sums over the rounds. CPU is in cores. The rate ratio is paired by round, against the scenario's
reference; only an interval that excludes 0.98 to 1.02 is a difference.`

export const LIMITS = `Loopback on one machine: no network, no TLS, no proxy, and generator and server share memory and caches. One generator
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
  const cores = (list: readonly number[] | null) => (list === null ? 'not pinned' : `core ${list.join(', ')}`)
  const libraries = Object.entries(source.libraries).map(([name, version]) => `${name} ${version}`)
  const limits = Object.entries(run.limits).map(([name, value]) => `${name} ${value}`)
  const installed = run.tools.flatMap(({ tool, version }) => (version === null ? [] : [`${tool} ${version}`]))
  const absent = run.tools.flatMap(({ tool, version, note }) =>
    version === null ? [`${tool} (${note ?? 'not installed'})`] : [],
  )
  return [
    `command: \`${run.command}\`; started ${run.startedAt}, finished ${run.finishedAt}`,
    `machine: ${machine.cpu}, ${machine.cores} cores, SMT ${machine.smt}, frequency policy ${machine.frequencyPolicy}, virtual machine ${machine.virtualMachine}, ${machine.memoryGiB} GiB, ${machine.kernel}; load before the run ${machine.loadAverageBefore}`,
    `server: ${cores(pinning.serverCores)}, generator: ${cores(pinning.generatorCores)}${pinning.warnings.map((warning) => `; ${warning}`).join('')}`,
    `server command: \`${server.argv.map(stripFolder).join(' ')}\`; ${server.workers} worker${server.workers === 1 ? '' : 's'}; truth recording ${server.recording ? 'on' : 'off'}`,
    `revision ${source.revision}; node ${machine.node}; ${libraries.join(', ')}`,
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

/** The sentence that says why; without one the verdict itself. */
export function verdictReason(tool: ToolSummary): string {
  const verdict = tool.typical?.verdict
  if (verdict === undefined) return tool.failures[0] ?? 'it did not run'
  return verdict.reasons[0] ?? 'its figures agree with what the server saw'
}
