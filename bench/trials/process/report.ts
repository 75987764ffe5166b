import { quantileOfSorted } from '../../harness/figures/statistics.js'
import { cpuMs } from '../../harness/machine/proc.js'
import { quietRounds, watchProcesses } from '../disturbance.js'
import { closedLoop, failedRequests } from '../load.js'
import { REPORT } from '../requests.js'
import { below, exactly, figure, near, over, type Trial, type TrialContext } from '../trial.js'

const CONNECTIONS = 500
const SECONDS = 10

async function oneRound(context: TrialContext) {
  const server = await context.staging.start({ seedItems: 100 })
  const { port, pids } = server
  await closedLoop({ port, connections: CONNECTIONS, seconds: 1, request: REPORT })
  let cpuBefore = 0
  let endWatch = (): number => 0
  const load = await closedLoop({
    port,
    connections: CONNECTIONS,
    seconds: SECONDS,
    request: REPORT,
    onStart: () => {
      cpuBefore = cpuMs(pids)
      endWatch = watchProcesses(context, pids)
    },
  })
  const cpu = (100 * (cpuMs(pids) - cpuBefore)) / (load.seconds * 1_000)
  const disturbed = endWatch()
  await server.stop()
  return {
    load,
    /** Every latency, in ascending order: the bars are tighter than the buckets of a histogram. */
    sorted: load.latency.sorted(),
    /** Share of one core, per cent. */
    cpu,
    disturbed,
  }
}

export const report: Trial = {
  name: 'report',
  summary:
    '500 connections asking for reports: the delay distribution arrives unchanged and costs under 15 % of a core',
  rounds: 1,
  roundLimitS: 300,
  pinned: true,
  run: async (context) => {
    const { kept, figures, notes } = await quietRounds(
      context,
      () => oneRound(context),
      ({ load }) => `${load.answered} reports`,
    )
    const { median, sum } = over(kept)
    const quantile = (q: number): number => median(({ sorted }) => quantileOfSorted(sorted, q))
    const failed = sum(({ load }) => failedRequests(load))
    const rate = median(({ load }) => load.answered / load.seconds)
    return {
      bars: [
        near('p50', quantile(0.5), 300, 5, 'ms'),
        near('p99', quantile(0.99), 496, 5, 'ms'),
        below('server CPU', median('cpu'), 15, '% of a core'),
        exactly('failed requests', failed, 0),
      ],
      figures: [
        figure('connections', CONNECTIONS),
        figure('reports', rate, '/s'),
        figure('server CPU of a report', (median('cpu') * 10_000) / rate, 'µs'),
        figure('p90', quantile(0.9), 'ms'),
        figure('max', quantile(1), 'ms'),
        ...figures,
      ],
      notes,
    }
  },
}
