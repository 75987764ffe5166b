import { Histogram } from '../../../src/base/histogram.js'
import { median } from '../../harness/figures/statistics.js'
import type { HttpResponse } from '../../harness/http/connection.js'
import { type CorePlan, onGeneratorCore } from '../../harness/machine/pinning.js'
import type { SluiceServer } from '../../harness/server/sluice-server.js'
import { cpuClockOf, type QuietRounds, quietRounds, type WatchedRound, watchCores } from '../disturbance.js'
import { closedLoop, failedRequests, type LoadResult, openLoop } from '../load.js'
import { bodylessRequest, HEALTH } from '../requests.js'
import { below, exactly, figure, type Trial, type TrialContext, type TrialOutcome } from '../trial.js'

const ITEMS = 100_000
const SEARCHERS = 4
const SECONDS = 5
const HEALTH_CONNECTIONS = 8
const HEALTH_PER_SECOND = 100
const SEARCH = bodylessRequest('GET', '/api/v1/search?q=no%20such%20cargo')

interface SearchAlone extends WatchedRound {
  /** Median latency of one search at a time, milliseconds. */
  readonly p50: number
  /** Server CPU of one search, milliseconds. */
  readonly cpu: number
  readonly load: LoadResult
}

interface SearchCrowded extends WatchedRound {
  readonly searches: LoadResult
  readonly health: LoadResult
}

interface SearchRound extends WatchedRound {
  readonly alone: SearchAlone
  readonly crowded: SearchCrowded
}

/** Counts answers that are not an empty list after visiting every item. */
class ScanCheck {
  wrong = 0

  readonly see = (answer: HttpResponse): void => {
    const complete = answer.headers.get('x-items-scanned') === String(ITEMS)
    if (answer.status !== 200 || !complete || answer.body.toString() !== '[]') this.wrong++
  }
}

/** Searches over the given number of connections for as long as one round lasts. */
function runSearches(port: number, connections: number, check: ScanCheck): Promise<LoadResult> {
  return closedLoop({ port, connections, seconds: SECONDS, request: () => SEARCH, onAnswer: check.see })
}

async function searchAlone(
  server: SluiceServer,
  cores: CorePlan | null,
  check: ScanCheck,
): Promise<SearchAlone> {
  const cpu = cpuClockOf(server.pids)
  const before = cpu()
  const endWatch = watchCores(cores, cpu)
  const load = await runSearches(server.port, 1, check)
  const disturbed = endWatch()
  return { p50: load.latency.quantile(0.5), cpu: (cpu() - before) / load.answered, load, disturbed }
}

async function searchCrowded(
  server: SluiceServer,
  cores: CorePlan | null,
  check: ScanCheck,
): Promise<SearchCrowded> {
  const endWatch = watchCores(cores, cpuClockOf(server.pids))
  const [searches, health] = await Promise.all([
    runSearches(server.port, SEARCHERS, check),
    openLoop({
      port: server.port,
      connections: HEALTH_CONNECTIONS,
      perSecond: HEALTH_PER_SECOND,
      seconds: SECONDS,
      whenBusy: 'wait',
      request: () => HEALTH,
    }),
  ])
  return { searches, health, disturbed: endWatch() }
}

async function measureRounds(context: TrialContext, check: ScanCheck): Promise<QuietRounds<SearchRound>> {
  const { staging, cores, progress } = context
  const server = await staging.start({
    workers: 1,
    poolThreads: 1,
    seedItems: ITEMS,
    core: cores?.server ?? null,
  })
  progress(`${ITEMS} items seeded, listening after ${(performance.now() - server.spawnedAt).toFixed(0)} ms`)
  await closedLoop({ port: server.port, connections: 1, seconds: 1, request: () => SEARCH })
  const results = await quietRounds(context, async (round) => {
    const alone = await searchAlone(server, cores, check)
    const crowded = await searchCrowded(server, cores, check)
    const p99 = crowded.health.latency.quantile(0.99).toFixed(2)
    progress(`round ${round}: one search ${alone.p50.toFixed(2)} ms, health p99 ${p99} ms`)
    return { alone, crowded, disturbed: Math.max(alone.disturbed, crowded.disturbed) }
  })
  await server.stop()
  return results
}

function failuresIn({ alone, crowded }: SearchRound): number {
  return failedRequests(alone.load) + failedRequests(crowded.searches) + failedRequests(crowded.health)
}

async function run(context: TrialContext): Promise<TrialOutcome> {
  const check = new ScanCheck()
  const quiet = await onGeneratorCore(context.cores, () => measureRounds(context, check))
  const rounds = quiet.kept
  const health = rounds.reduce(
    (all, { crowded }) => all.merge(crowded.health.latency.histogram()),
    new Histogram(),
  )
  const failed = rounds.reduce((sum, round) => sum + failuresIn(round), 0)
  const middle = (value: (round: SearchRound) => number): number => median(rounds.map(value))
  const alone = middle((round) => round.alone.p50)
  const cpu = middle((round) => round.alone.cpu)
  const rate = middle(({ crowded: { searches } }) => searches.answered / searches.seconds)
  const late = Math.max(...rounds.map(({ crowded }) => crowded.health.lateness.max))
  const perItem = (ms: number): number => (ms * 1e6) / ITEMS
  return {
    bars: [
      below('health p99, from the due time', health.quantile(0.99), 10, 'ms'),
      exactly('searches that did not visit every item and find none', check.wrong, 0),
      exactly('failed requests', failed, 0),
    ],
    figures: [
      figure('latency of an item visited, one search at a time', perItem(alone), 'ns'),
      figure('server CPU of an item visited', perItem(cpu), 'ns'),
      figure('one search alone, p50', alone, 'ms'),
      figure(`searches at ${SEARCHERS} connections`, rate, '/s'),
      figure('health p50, from the due time', health.quantile(0.5), 'ms'),
      figure('health max, from the due time', health.max, 'ms'),
      figure('health requests', health.count),
      figure('health requests sent late, max', late, 'ms'),
      ...quiet.figures,
    ],
    notes: quiet.notes,
  }
}

export const healthUnderSearch: Trial = {
  name: 'health-under-search',
  summary:
    '100,000 items under four endless searches: health p99 under 10 ms; nanoseconds for each item visited',
  rounds: 3,
  roundLimitS: 360,
  run,
}
