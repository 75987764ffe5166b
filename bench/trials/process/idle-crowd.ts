import { setTimeout } from 'node:timers/promises'
import { Histogram } from '../../../src/base/histogram.js'
import { median } from '../../harness/figures/statistics.js'
import { type CorePlan, onGeneratorCore } from '../../harness/machine/pinning.js'
import type { SluiceServer } from '../../harness/server/sluice-server.js'
import { cpuClockOf, type QuietRounds, quietRounds, type WatchedRound, watchCores } from '../disturbance.js'
import { failedRequests, type LoadResult, openLoop } from '../load.js'
import { readItemRequest } from '../requests.js'
import {
  atLeast,
  atMost,
  exactly,
  figure,
  type Trial,
  type TrialContext,
  type TrialOutcome,
} from '../trial.js'
import { HalfSentRequests, IdleCrowd } from './crowd.js'

const PER_SECOND = 2_000
const CONNECTIONS = 16
// The server closes a connection about 10 s after its last request: a crowd gathered in a second is complete for
// the whole window, so that refreshing it does not add requests to what is measured.
const SECONDS = 4
const SETTLE_MS = 2_000
const IDLE = 1_000
const HALF_OF_EACH_KIND = 100
const CLOSED_WITHIN_MS = 30_000

interface MeasuredLoad extends WatchedRound {
  readonly load: LoadResult
  /**
   * The p99 of each second, milliseconds. Their median forgives the few seconds in which something else on the
   * machine stood in the way, which a p99 over everything would show and nothing else.
   */
  readonly p99s: readonly number[]
}

interface CrowdPair extends WatchedRound {
  readonly baseline: MeasuredLoad
  readonly crowd: MeasuredLoad
  /** Idle connections that were there from the beginning to the end of the window. */
  readonly stayed: number
}

async function measureLoad(server: SluiceServer, cores: CorePlan | null): Promise<MeasuredLoad> {
  const request = readItemRequest(1)
  const endWatch = watchCores(cores, cpuClockOf(server.pids))
  const seconds = Array.from({ length: SECONDS }, () => new Histogram())
  let start = 0
  const load = await openLoop({
    port: server.port,
    connections: CONNECTIONS,
    perSecond: PER_SECOND,
    seconds: SECONDS,
    whenBusy: 'wait',
    request: () => request,
    onStart: () => {
      start = performance.now()
    },
    onAnswer: (_, ms) => seconds[Math.floor((performance.now() - start) / 1_000)]?.record(ms),
  })
  return { load, p99s: seconds.map((second) => second.quantile(0.99)), disturbed: endWatch() }
}

/** One pair; the order alternates, so that a drift of the machine does not favour one side. */
async function measurePair(
  round: number,
  halfSent: HalfSentRequests,
  server: SluiceServer,
  cores: CorePlan | null,
): Promise<CrowdPair> {
  const idle = new IdleCrowd()
  try {
    const early = round % 2 === 1 ? await measureLoad(server, cores) : null
    await idle.gather(server.port, IDLE)
    await halfSent.send(server.port, HALF_OF_EACH_KIND)
    // What is asked is what a crowd costs that is there, not what its arrival costs both programs.
    await setTimeout(SETTLE_MS)
    const crowd = await measureLoad(server, cores)
    const stayed = idle.alive
    idle.closeAll()
    await halfSent.awaitClosed(CLOSED_WITHIN_MS)
    const baseline = early ?? (await measureLoad(server, cores))
    return { baseline, crowd, stayed, disturbed: Math.max(baseline.disturbed, crowd.disturbed) }
  } finally {
    idle.closeAll()
  }
}

async function measurePairs(
  context: TrialContext,
  halfSent: HalfSentRequests,
): Promise<QuietRounds<CrowdPair>> {
  const { staging, cores, progress } = context
  const core = cores?.server ?? null
  const server = await staging.start({ workers: 1, poolThreads: 1, seedItems: 100, core })
  // Both programs compile their hot code during the first seconds; that is not to look like a loud baseline.
  for (let warmUp = 0; warmUp < 2; warmUp++) await measureLoad(server, cores)
  const pairs = await quietRounds(context, async (round) => {
    const pair = await measurePair(round, halfSent, server, cores)
    const p99 = (side: MeasuredLoad): string => median(side.p99s).toFixed(3)
    progress(`pair ${round}: p99 ${p99(pair.baseline)} ms alone, ${p99(pair.crowd)} ms among the crowd`)
    return pair
  })
  await server.stop()
  return pairs
}

async function run(context: TrialContext): Promise<TrialOutcome> {
  const halfSent = new HalfSentRequests()
  const quiet = await onGeneratorCore(context.cores, () => measurePairs(context, halfSent))
  const pairs = quiet.kept
  const p99 = (side: 'baseline' | 'crowd'): number => median(pairs.flatMap((pair) => pair[side].p99s))
  const overall = (side: 'baseline' | 'crowd', q: number): number =>
    median(pairs.map((pair) => pair[side].load.latency.quantile(q)))
  const longest = Math.max(halfSent.longestKept('header'), halfSent.longestKept('body'))
  const loads = pairs.flatMap((pair) => [pair.baseline.load, pair.crowd.load])
  const failed = loads.reduce((sum, load) => sum + failedRequests(load), 0)
  const late = median(loads.map((load) => load.lateness.quantile(0.99)))
  halfSent.drop()
  return {
    bars: [
      atMost('p99 among the crowd / p99 alone', p99('crowd') / p99('baseline'), 1.1),
      atLeast('idle connections that stayed', Math.min(...pairs.map((pair) => pair.stayed)), IDLE * 0.95),
      atMost('longest life of a half-sent request', longest, CLOSED_WITHIN_MS, 'ms'),
      exactly('failed requests', failed, 0),
    ],
    figures: [
      figure('p99 of a second, alone', p99('baseline'), 'ms'),
      figure('p99 of a second, among the crowd', p99('crowd'), 'ms'),
      figure('p50 alone', overall('baseline', 0.5), 'ms'),
      figure('p50 among the crowd', overall('crowd', 0.5), 'ms'),
      figure('p99 of all seconds, alone', overall('baseline', 0.99), 'ms'),
      figure('p99 of all seconds, among the crowd', overall('crowd', 0.99), 'ms'),
      figure('half-sent requests', halfSent.total),
      figure('longest life of half a header block', halfSent.longestKept('header'), 'ms'),
      figure('longest life of half a body', halfSent.longestKept('body'), 'ms'),
      figure('requests sent late, p99', late, 'ms'),
      ...quiet.figures,
    ],
    notes: quiet.notes,
  }
}

export const idleCrowd: Trial = {
  name: 'idle-crowd',
  summary:
    '1,000 idle connections and 200 half-sent requests: p99 of the others within 10 %, the halves closed in 30 s',
  rounds: 5,
  roundLimitS: 360,
  run,
}
