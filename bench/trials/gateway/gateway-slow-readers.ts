import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../../harness/figures/statistics.js'
import { onGeneratorCore } from '../../harness/machine/pinning.js'
import { residentBytes } from '../../harness/machine/proc.js'
import { SLUICE_CHAT } from '../../performance/gateway/calls.js'
import { cpuClockOf, quietRounds, type WatchedRound, watchCores } from '../disturbance.js'
import {
  atLeast,
  atMost,
  exactly,
  figure,
  type Trial,
  type TrialContext,
  type TrialOutcome,
} from '../trial.js'
import { runStreams, type StreamFigures } from './checked-streams.js'
import { type GatewayStage, stageGateway } from './gateway-stage.js'
import { LeavingClients } from './leaving-clients.js'
import { SlowReader } from './slow-reader.js'

const NORMAL = 200
const SLOW = 50
const SECONDS = 6
const SPREAD_MS = 1_280
/** The kernel's buffers are full by then, and what comes after them is the gateway's to hold or to refuse. */
const FILL_MS = 8_000
const SAMPLE_MS = 200
const QUICK = 10
const QUICK_MS = 2_000

interface NormalStreams {
  readonly lanes: StreamFigures
  /** Median of the worker's resident memory meanwhile, bytes. */
  readonly resident: number
}

interface SlowReadersRound extends WatchedRound {
  readonly alone: NormalStreams
  readonly beside: NormalStreams
  readonly slowLeft: number
  readonly slowTaken: number
}

async function measureNormal({ server }: GatewayStage): Promise<NormalStreams> {
  const samples: number[] = []
  const timer = setInterval(() => samples.push(residentBytes(server.workers)), SAMPLE_MS)
  const model = 'bench/paced-64'
  const settings = {
    port: server.port,
    to: SLUICE_CHAT,
    model,
    lanes: NORMAL,
    seconds: SECONDS,
    spreadMs: SPREAD_MS,
  }
  const lanes = await runStreams(settings)
  clearInterval(timer)
  return { lanes, resident: median(samples) }
}

async function measureBeside(stage: GatewayStage): Promise<[NormalStreams, SlowReader[]]> {
  const slow: SlowReader[] = []
  try {
    for (let one = 0; one < SLOW; one++) slow.push(await SlowReader.start(stage.server.port, 'bench/flood'))
    await sleep(FILL_MS)
    return [await measureNormal(stage), slow.filter(({ closed }) => !closed)]
  } finally {
    for (const one of slow) one.leave()
  }
}

/** Both kinds of streams, quickly read: what the heap needs for their traffic is not what it keeps for a slow reader. */
async function warmUp(stage: GatewayStage): Promise<void> {
  await measureNormal(stage)
  const quick = new LeavingClients()
  await quick.ask(stage.server.port, 'bench/flood', QUICK)
  await sleep(QUICK_MS)
  quick.leave()
}

/** A server of its own for each round, alone first: memory that the slow ones needed would otherwise count for both. */
async function oneRound(context: TrialContext): Promise<SlowReadersRound> {
  const stage = await stageGateway(context, { workers: 1 })
  const { mock, server } = stage
  await warmUp(stage)
  const endWatch = watchCores(context.cores, cpuClockOf(server.pids), cpuClockOf([mock.pid]))
  const alone = await measureNormal(stage)
  const [beside, left] = await measureBeside(stage)
  const disturbed = endWatch()
  await stage.stop()
  return {
    alone,
    beside,
    slowLeft: left.length,
    slowTaken: median(left.map(({ taken }) => taken)),
    disturbed,
  }
}

async function run(context: TrialContext): Promise<TrialOutcome> {
  const quiet = await onGeneratorCore(context.cores, () =>
    quietRounds(context, async (number) => {
      const round = await oneRound(context)
      const p99 = ({ lanes }: NormalStreams): string => lanes.gap.quantile(0.99).toFixed(2)
      context.progress(
        `round ${number}: gap p99 ${p99(round.alone)} ms alone, ${p99(round.beside)} ms beside`,
      )
      return round
    }),
  )
  const rounds = quiet.kept
  const middle = (value: (round: SlowReadersRound) => number): number => median(rounds.map(value))
  const gap = (side: 'alone' | 'beside', q: number): number =>
    middle((round) => round[side].lanes.gap.quantile(q))
  const perSlow = middle(({ alone, beside }) => (beside.resident - alone.resident) / SLOW)
  const incomplete = (side: 'alone' | 'beside'): number =>
    rounds.reduce((sum, round) => sum + round[side].lanes.incomplete, 0)
  return {
    bars: [
      atMost('resident memory of a slow stream', perSlow / 1024, 256, 'KiB'),
      atMost('gap p50 beside / alone', gap('beside', 0.5) / gap('alone', 0.5), 1.1),
      atMost('gap p99 beside / alone', gap('beside', 0.99) / gap('alone', 0.99), 1.1),
      exactly('incomplete normal streams', incomplete('alone') + incomplete('beside'), 0),
      atLeast('slow streams that were still open', Math.min(...rounds.map(({ slowLeft }) => slowLeft)), SLOW),
    ],
    figures: [
      figure('gap p50 alone', gap('alone', 0.5), 'ms'),
      figure('gap p50 beside', gap('beside', 0.5), 'ms'),
      figure('gap p99 alone', gap('alone', 0.99), 'ms'),
      figure('gap p99 beside', gap('beside', 0.99), 'ms'),
      figure(
        'read by a slow reader',
        middle(({ slowTaken }) => slowTaken / 1024),
        'KiB',
      ),
      figure(
        'resident alone',
        middle(({ alone }) => alone.resident / 2 ** 20),
        'MiB',
      ),
      figure(
        'resident beside',
        middle(({ beside }) => beside.resident / 2 ** 20),
        'MiB',
      ),
      ...quiet.figures,
    ],
    notes: [...quiet.notes, ...rounds.flatMap(({ beside }) => beside.lanes.notes)],
  }
}

export const gatewaySlowReaders: Trial = {
  name: 'gateway-slow-readers',
  summary: '50 readers at 1 KB/s beside 200 normal streams: 256 KiB each, the others keep their gaps',
  rounds: 3,
  roundLimitS: 360,
  run,
}
