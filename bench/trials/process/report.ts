import { median, quantileOfSorted } from '../../harness/figures/statistics.js'
import { onGeneratorCore } from '../../harness/machine/pinning.js'
import { cpuClockOf, quietRounds, type WatchedRound, watchCores } from '../disturbance.js'
import { closedLoop, failedRequests, type LoadResult } from '../load.js'
import { REPORT } from '../requests.js'
import { below, exactly, figure, near, type Trial, type TrialContext, type TrialOutcome } from '../trial.js'

const CONNECTIONS = 500
const SECONDS = 10

interface ReportRound extends WatchedRound {
  readonly load: LoadResult
  /** Every latency, in ascending order: the bars are tighter than the buckets of a histogram. */
  readonly sorted: readonly number[]
  /** Share of one core, per cent. */
  readonly cpu: number
}

async function oneRound({ staging, cores }: TrialContext): Promise<ReportRound> {
  const core = cores?.server ?? null
  const server = await staging.start({ workers: 1, poolThreads: 1, seedItems: 100, core })
  const { port } = server
  await closedLoop({ port, connections: CONNECTIONS, seconds: 1, request: () => REPORT })
  const cpu = cpuClockOf(server.pids)
  const latencies: number[] = []
  let cpuBefore = 0
  let endWatch = (): number => 0
  const load = await closedLoop({
    port,
    connections: CONNECTIONS,
    seconds: SECONDS,
    request: () => REPORT,
    onStart: () => {
      cpuBefore = cpu()
      endWatch = watchCores(cores, cpu)
    },
    onAnswer: (_, ms) => latencies.push(ms),
  })
  const share = (100 * (cpu() - cpuBefore)) / (load.seconds * 1_000)
  const disturbed = endWatch()
  await server.stop()
  return { load, sorted: latencies.sort((a, b) => a - b), cpu: share, disturbed }
}

async function run(context: TrialContext): Promise<TrialOutcome> {
  const quiet = await quietRounds(context, async (number) => {
    const round = await onGeneratorCore(context.cores, () => oneRound(context))
    context.progress(`round ${number}: ${round.load.answered} reports`)
    return round
  })
  const rounds = quiet.kept
  const middle = (value: (round: ReportRound) => number): number => median(rounds.map(value))
  const quantile = (q: number): number => middle(({ sorted }) => quantileOfSorted(sorted, q))
  const failed = rounds.reduce((sum, { load }) => sum + failedRequests(load), 0)
  const rate = middle(({ load }) => load.answered / load.seconds)
  const cpu = middle((round) => round.cpu)
  return {
    bars: [
      near('p50', quantile(0.5), 300, 5, 'ms'),
      near('p99', quantile(0.99), 496, 5, 'ms'),
      below('server CPU', cpu, 15, '% of a core'),
      exactly('failed requests', failed, 0),
    ],
    figures: [
      figure('connections', CONNECTIONS),
      figure('reports', rate, '/s'),
      figure('server CPU of a report', (cpu * 10_000) / rate, 'µs'),
      figure('p90', quantile(0.9), 'ms'),
      figure('max', quantile(1), 'ms'),
      ...quiet.figures,
    ],
    notes: quiet.notes,
  }
}

export const report: Trial = {
  name: 'report',
  summary:
    '500 connections asking for reports: the delay distribution arrives unchanged and costs under 15 % of a core',
  rounds: 1,
  roundLimitS: 300,
  run,
}
