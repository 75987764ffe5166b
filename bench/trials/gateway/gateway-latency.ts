import { quantile } from '../../harness/figures/statistics.js'
import { onGeneratorCore } from '../../harness/machine/pinning.js'
import {
  type LatencyPair,
  type LatencyPairs,
  measureLatencyPairs,
} from '../../performance/gateway/added-latency.js'
import type { RelayJob } from '../../performance/gateway/bare-relay.js'
import { BARE_TARGET, type CallTarget, SLUICE_CHAT } from '../../performance/gateway/calls.js'
import { cpuClockOf, type QuietRounds, quietRounds, type WatchedRound, watchCores } from '../disturbance.js'
import { type HelperProcess, startHelper } from '../helper-process.js'
import {
  atMost,
  exactly,
  figure,
  type Trial,
  type TrialContext,
  type TrialFigure,
  type TrialOutcome,
} from '../trial.js'
import { expectedStream } from './checked-streams.js'
import { type GatewayStage, stageGateway } from './gateway-stage.js'

const JSON_PAIRS = 5_000
const STREAM_PAIRS = 1_500
const WARM_UP = 1_500
/** A delayed acknowledgement that meets Nagle's algorithm costs 40 ms; nothing else here costs half as much. */
const FORTY_MODE_MS = 20

/**
 * The mock stands on the server's core or on the generator's, and with two cores neither is what callers of a distant
 * upstream have. Beside the server, caller and answer cross the cores once each way with or without the gateway, and
 * what is added is its own work. Beside the generator, the direct call never leaves a core that is awake, while the
 * one through the gateway wakes a sleeping core four times; that costs a virtual machine more than the gateway does.
 * The bars stand on the first, and a bare relay in both shows what a second hop costs by itself.
 */
type MockPlacement = 'server' | 'generator'

interface LatencyRound extends WatchedRound {
  readonly json: LatencyPairs
  readonly streams: LatencyPairs
  /** The same answers through a bare relay. */
  readonly relayed: LatencyPairs
}

interface RelayProcess extends HelperProcess {
  readonly port: number
}

/** The bare relay on the server's core, before the same mock. */
async function startRelay({ staging, cores }: TrialContext, mockPort: number): Promise<RelayProcess> {
  const port = await staging.freePort()
  const message: RelayJob = { port, upstream: `http://127.0.0.1:${mockPort}` }
  const program = new URL('../../performance/gateway/bare-relay.js', import.meta.url)
  return { ...(await startHelper(staging, cores?.server ?? null, { program, message })), port }
}

async function measureRound(
  { mock, server }: GatewayStage,
  relay: RelayProcess,
  layout: MockPlacement,
  context: TrialContext,
): Promise<LatencyRound> {
  const run = (
    throughPort: number,
    through: CallTarget,
    model: string,
    pairs: number,
  ): Promise<LatencyPairs> => {
    const plan = { directPort: mock.port, throughPort, through, model, pairs, warmup: WARM_UP }
    return measureLatencyPairs(plan, expectedStream(model, 0))
  }
  const serverSide = [...server.pids, relay.pid]
  const endWatch =
    layout === 'server'
      ? watchCores(context.cores, cpuClockOf([...serverSide, mock.pid]))
      : watchCores(context.cores, cpuClockOf(serverSide), cpuClockOf([mock.pid]))
  const json = await run(server.port, SLUICE_CHAT, 'bench/json', JSON_PAIRS)
  const streams = await run(server.port, SLUICE_CHAT, 'bench/stream-16', STREAM_PAIRS)
  const relayed = await run(relay.port, BARE_TARGET, 'bench/json', JSON_PAIRS)
  return { json, streams, relayed, disturbed: endWatch() }
}

async function measureLayout(
  layout: MockPlacement,
  context: TrialContext,
): Promise<QuietRounds<LatencyRound>> {
  const stage = await stageGateway(context, { workers: 1, mockBeside: layout })
  const relay = await startRelay(context, stage.mock.port)
  const quiet = await quietRounds(context, async (number) => {
    const round = await measureRound(stage, relay, layout, context)
    const p50 = (quantile(addedLatencies(round.json.whole), 0.5) * 1_000).toFixed(0)
    context.progress(
      `mock on the ${layout}'s core, round ${number}: ${p50} µs added to ${JSON_PAIRS} answers`,
    )
    return round
  })
  relay.end()
  await stage.stop()
  return quiet
}

const addedLatencies = (pairs: readonly LatencyPair[]): number[] =>
  pairs.map(({ direct, through }) => through - direct)
const countSlowPairs = (pairs: readonly LatencyPair[]): number =>
  pairs.filter(({ direct, through }) => through - direct > FORTY_MODE_MS).length

/** p50 and p99 of what was added and of each way by itself, for the reader who wants to see where it comes from. */
function latencyFigures(name: string, pairs: readonly LatencyPair[]): TrialFigure[] {
  const series: readonly (readonly [string, number[]])[] = [
    ['added', addedLatencies(pairs)],
    ['direct', pairs.map(({ direct }) => direct)],
    ['through', pairs.map(({ through }) => through)],
  ]
  return series.flatMap(([way, values]) =>
    [0.5, 0.99].map((q) => figure(`${name}, ${way}, p${q * 100}`, quantile(values, q) * 1_000, 'µs')),
  )
}

/** All pairs of the rounds that count. */
function pooledPairs({ kept }: QuietRounds<LatencyRound>) {
  return {
    answers: kept.flatMap(({ json }) => json.whole),
    relayed: kept.flatMap(({ relayed }) => relayed.whole),
    firstTokens: kept.flatMap(({ streams }) => streams.first),
    streams: kept.flatMap(({ streams }) => streams.whole),
    failed: kept.reduce((sum, round) => sum + round.json.failed + round.streams.failed, 0),
  }
}

async function run(context: TrialContext): Promise<TrialOutcome> {
  const [near, far] = await onGeneratorCore(context.cores, async () => {
    const beside = await measureLayout('server', context)
    return [beside, await measureLayout('generator', context)] as const
  })
  const own = pooledPairs(near)
  const other = pooledPairs(far)
  const late = [own.answers, own.streams, other.answers, other.streams].map(countSlowPairs)
  return {
    bars: [
      atMost('added to an answer, p50', quantile(addedLatencies(own.answers), 0.5) * 1_000, 150, 'µs'),
      atMost('added to an answer, p99', quantile(addedLatencies(own.answers), 0.99) * 1_000, 500, 'µs'),
      atMost(
        'added to the first token, p50',
        quantile(addedLatencies(own.firstTokens), 0.5) * 1_000,
        500,
        'µs',
      ),
      exactly(
        `calls that took ${FORTY_MODE_MS} ms longer (a 40 ms mode)`,
        late.reduce((sum, count) => sum + count, 0),
        0,
      ),
      exactly('calls without a complete answer', own.failed + other.failed, 0),
    ],
    figures: [
      figure('pairs of answers', own.answers.length),
      figure('pairs of streams of 16 tokens', own.streams.length),
      ...latencyFigures('answer', own.answers),
      ...latencyFigures('answer by a bare relay', own.relayed),
      ...latencyFigures('first token', own.firstTokens),
      ...latencyFigures('end of a stream', own.streams),
      ...latencyFigures("mock on the generator's core: answer", other.answers),
      ...latencyFigures("mock on the generator's core: answer by a bare relay", other.relayed),
      ...latencyFigures("mock on the generator's core: first token", other.firstTokens),
      ...near.figures,
    ],
    notes: [...near.notes, ...far.notes],
  }
}

export const gatewayLatency: Trial = {
  name: 'gateway-latency',
  summary:
    'interleaved pairs direct and through the gateway, one connection: at most 150 µs and 500 µs (p99)',
  rounds: 3,
  roundLimitS: 720,
  run,
}
