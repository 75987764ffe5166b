import { quantile } from '../../harness/figures/statistics.js'
import {
  type LatencyPair,
  measureLatencyPairs,
  RepeatedCall,
} from '../../performance/gateway/added-latency.js'
import { BARE_TARGET, type CallTarget, callBytes, SLUICE_CHAT } from '../../performance/gateway/calls.js'
import { quietRounds, watchProcesses } from '../disturbance.js'
import { atMost, exactly, figure, over, type Trial, type TrialContext, type TrialFigure } from '../trial.js'
import { expectedStream, stageGateway } from './gateway-stage.js'

const JSON_PAIRS = 5_000
const STREAM_PAIRS = 1_500
const WARM_UP = 1_500
/** A delayed acknowledgement that meets Nagle's algorithm costs 40 ms; nothing else here costs half as much. */
const FORTY_MODE_MS = 20
const RELAY = new URL('../../performance/gateway/bare-relay.js', import.meta.url)

/**
 * The mock stands on the server's core or on the generator's, and with two cores neither is what callers of a distant
 * upstream have. Beside the server, caller and answer cross the cores once each way with or without the gateway, and
 * what is added is its own work. Beside the generator, the direct call never leaves a core that is awake, while the
 * one through the gateway wakes a sleeping core four times; that costs a virtual machine more than the gateway does.
 * The bars stand on the first, and a bare relay in both shows what a second hop costs by itself.
 */
type MockPlacement = 'server' | 'generator'

async function measurePlacement(placement: MockPlacement, context: TrialContext) {
  const { mock, server, stop } = await stageGateway(context, { mockBeside: placement })
  const upstream = `http://127.0.0.1:${mock.port}`
  const relay = await context.staging.startHelper('server', RELAY, { upstream })
  const pairs = (port: number, to: CallTarget, model: string, count: number) => {
    const expected = expectedStream(model, 0)
    const call = (ofPort: number, ofTarget: CallTarget) =>
      new RepeatedCall(ofPort, callBytes(ofTarget, model), expected.tokens > 0 ? expected : null)
    return measureLatencyPairs(call(mock.port, BARE_TARGET), call(port, to), count, WARM_UP)
  }
  const measure = async () => {
    const serverSide = [...server.pids, relay.pid]
    const [withMock, beside] = placement === 'server' ? [[mock.pid], []] : [[], [mock.pid]]
    const endWatch = watchProcesses(context, [...serverSide, ...withMock], beside)
    const json = await pairs(server.port, SLUICE_CHAT, 'bench/json', JSON_PAIRS)
    const streams = await pairs(server.port, SLUICE_CHAT, 'bench/stream-16', STREAM_PAIRS)
    // The same answers through a bare relay.
    const relayed = await pairs(relay.port, BARE_TARGET, 'bench/json', JSON_PAIRS)
    return { json, streams, relayed, disturbed: endWatch() }
  }
  const quiet = await quietRounds(context, measure, ({ json }) => {
    const p50 = (quantile(addedLatencies(json.whole), 0.5) * 1_000).toFixed(0)
    return `mock on the ${placement}'s core, ${p50} µs added to ${JSON_PAIRS} answers`
  })
  relay.end()
  await stop()
  return quiet
}

const addedLatencies = (pairs: readonly LatencyPair[]): number[] =>
  pairs.map(({ direct, through }) => through - direct)

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
function pooledPairs({ kept }: Awaited<ReturnType<typeof measurePlacement>>) {
  return {
    answers: kept.flatMap(({ json }) => json.whole),
    relayed: kept.flatMap(({ relayed }) => relayed.whole),
    firstTokens: kept.flatMap(({ streams }) => streams.first),
    streams: kept.flatMap(({ streams }) => streams.whole),
    failed: over(kept).sum(({ json, streams }) => json.failed + streams.failed),
  }
}

export const gatewayLatency: Trial = {
  name: 'gateway-latency',
  summary:
    'interleaved pairs direct and through the gateway, one connection: at most 150 µs and 500 µs (p99)',
  rounds: 3,
  roundLimitS: 720,
  pinned: true,
  run: async (context) => {
    const near = await measurePlacement('server', context)
    const far = await measurePlacement('generator', context)
    const own = pooledPairs(near)
    const other = pooledPairs(far)
    const added = (pairs: readonly LatencyPair[], q: number) => quantile(addedLatencies(pairs), q) * 1_000
    const all = [own.answers, own.streams, other.answers, other.streams].flatMap(addedLatencies)
    const late = all.filter((ms) => ms > FORTY_MODE_MS).length
    return {
      bars: [
        atMost('added to an answer, p50', added(own.answers, 0.5), 150, 'µs'),
        atMost('added to an answer, p99', added(own.answers, 0.99), 500, 'µs'),
        atMost('added to the first token, p50', added(own.firstTokens, 0.5), 500, 'µs'),
        exactly(`calls that took ${FORTY_MODE_MS} ms longer (a 40 ms mode)`, late, 0),
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
  },
}
