import { type CorePlan, onGeneratorCore } from './cores.js'
import { HalfSentRequests, IdleCrowd } from './crowd.js'
import { cpuOf, type QuietRounds, quietRounds, type Watched, watchCores } from './disturbance.js'
import { failuresOf, type LoadResult, openLoop } from './load.js'
import { readItem } from './requests.js'
import type { ServerProcess } from './server-process.js'
import {
  atLeast,
  atMost,
  exactly,
  figure,
  median,
  type Outcome,
  type Trial,
  type TrialContext,
} from './trial.js'

const PER_SECOND = 2_000
const CONNECTIONS = 16
// The server closes a connection about 10 s after its last request: a crowd gathered in a second is complete for
// the whole window, so that refreshing it does not add requests to what is measured.
const SECONDS = 4
const IDLE = 1_000
const HALF_OF_EACH_KIND = 100
const CLOSED_WITHIN_MS = 30_000

interface Measured extends Watched {
  readonly load: LoadResult
}

interface Pair extends Watched {
  readonly baseline: LoadResult
  readonly crowd: LoadResult
  /** Idle connections that were there from the beginning to the end of the window. */
  readonly stayed: number
}

async function measure(server: ServerProcess, cores: CorePlan | null): Promise<Measured> {
  const request = readItem(1)
  const endWatch = watchCores(cores, cpuOf(server.processes()))
  const load = await openLoop({
    port: server.port,
    connections: CONNECTIONS,
    perSecond: PER_SECOND,
    seconds: SECONDS,
    whenBusy: 'wait',
    precise: true,
    request: () => request,
  })
  return { load, disturbed: endWatch() }
}

/** One pair; the order alternates, so that a drift of the machine does not favour one side. */
async function measurePair(
  round: number,
  halfSent: HalfSentRequests,
  alone: () => Promise<Measured>,
  port: number,
): Promise<Pair> {
  const idle = new IdleCrowd()
  try {
    const early = round % 2 === 1 ? await alone() : null
    await idle.gather(port, IDLE)
    await halfSent.send(port, HALF_OF_EACH_KIND)
    const crowd = await alone()
    const stayed = idle.alive
    idle.disperse()
    await halfSent.awaitClosed(CLOSED_WITHIN_MS)
    const baseline = early ?? (await alone())
    const disturbed = Math.max(baseline.disturbed, crowd.disturbed)
    return { baseline: baseline.load, crowd: crowd.load, stayed, disturbed }
  } finally {
    idle.disperse()
  }
}

async function measurePairs(context: TrialContext, halfSent: HalfSentRequests): Promise<QuietRounds<Pair>> {
  const { staging, cores, progress } = context
  const server = await staging.start({
    workers: 1,
    poolThreads: 1,
    seedItems: 100,
    core: cores?.server ?? null,
  })
  const once = (): Promise<Measured> => measure(server, cores)
  await once()
  const pairs = await quietRounds(context, async (round) => {
    const pair = await measurePair(round, halfSent, once, server.port)
    const p99 = (load: LoadResult): string => load.latency.quantile(0.99).toFixed(3)
    progress(`pair ${round}: p99 ${p99(pair.baseline)} ms alone, ${p99(pair.crowd)} ms among the crowd`)
    return pair
  })
  await server.stop()
  return pairs
}

async function run(context: TrialContext): Promise<Outcome> {
  const halfSent = new HalfSentRequests()
  const quiet = await onGeneratorCore(context.cores, () => measurePairs(context, halfSent))
  const pairs = quiet.kept
  const quantile = (side: 'baseline' | 'crowd', q: number): number =>
    median(pairs.map((pair) => pair[side].latency.quantile(q)))
  const longest = Math.max(halfSent.longestKept('header'), halfSent.longestKept('body'))
  const failed = pairs.reduce((n, pair) => n + failuresOf(pair.baseline) + failuresOf(pair.crowd), 0)
  halfSent.drop()
  return {
    bars: [
      atMost('p99 among the crowd / p99 alone', quantile('crowd', 0.99) / quantile('baseline', 0.99), 1.1),
      atLeast('idle connections that stayed', Math.min(...pairs.map((pair) => pair.stayed)), IDLE * 0.95),
      atMost('longest life of a half-sent request', longest, CLOSED_WITHIN_MS, 'ms'),
      exactly('failed requests', failed, 0),
    ],
    figures: [
      figure('p50 alone', quantile('baseline', 0.5), 'ms'),
      figure('p50 among the crowd', quantile('crowd', 0.5), 'ms'),
      figure('p99 alone', quantile('baseline', 0.99), 'ms'),
      figure('p99 among the crowd', quantile('crowd', 0.99), 'ms'),
      figure('median of the paired p99 ratios', median(pairs.map(pairRatio))),
      figure('half-sent requests', halfSent.total),
      figure('longest life of half a header block', halfSent.longestKept('header'), 'ms'),
      figure('longest life of half a body', halfSent.longestKept('body'), 'ms'),
      figure(
        'requests sent late, p99',
        median(pairs.map((pair) => pair.crowd.lateness.quantile(0.99))),
        'ms',
      ),
      ...quiet.figures,
    ],
    notes: quiet.notes,
  }
}

function pairRatio({ baseline, crowd }: Pair): number {
  return crowd.latency.quantile(0.99) / baseline.latency.quantile(0.99)
}

export const idleCrowd: Trial = {
  name: 'idle-crowd',
  summary:
    '1,000 idle connections and 200 half-sent requests: p99 of the others within 10 %, the halves closed in 30 s',
  rounds: 5,
  roundLimitS: 360,
  run,
}
