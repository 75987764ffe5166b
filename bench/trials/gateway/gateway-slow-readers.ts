import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../../harness/figures/statistics.js'
import { sampleResident } from '../../harness/machine/proc.js'
import { StreamConnection } from '../../harness/sse/stream-connection.js'
import { callBytes, SLUICE_CHAT } from '../../performance/gateway/calls.js'
import { quietRounds, watchProcesses } from '../disturbance.js'
import { atLeast, atMost, exactly, figure, over, type Trial, type TrialContext } from '../trial.js'
import { type GatewayStage, runStreams, stageGateway } from './gateway-stage.js'
import { LeavingClients } from './leaving-clients.js'

const NORMAL = 200
const SLOW = 50
const SECONDS = 6
const SPREAD_MS = 1_280
/** The kernel's buffers are full by then, and what comes after them is the gateway's to hold or to refuse. */
const FILL_MS = 8_000
const SAMPLE_MS = 200
const QUICK = 10
const QUICK_MS = 2_000
const SLOW_BYTES_PER_S = 1_024

/** Asks for a stream without an end that is read at 1 KB a second. Faults: Error when the connection is refused. */
async function startSlowReader(port: number): Promise<StreamConnection> {
  const connection = await StreamConnection.open(port, SLOW_BYTES_PER_S)
  if (connection === null) throw new Error('the gateway refused a slow reader')
  void connection.call(callBytes(SLUICE_CHAT, 'bench/flood'), '')
  return connection
}

type NormalStreams = Awaited<ReturnType<typeof measureNormal>>

async function measureNormal({ server }: GatewayStage) {
  const endSampling = sampleResident(() => server.workers, SAMPLE_MS)
  const settings = { model: 'bench/paced-64', streams: NORMAL, seconds: SECONDS, spreadMs: SPREAD_MS }
  const streams = await runStreams(server.port, settings)
  return {
    streams,
    /** Median of the worker's resident memory meanwhile, bytes. */
    resident: median(endSampling()),
  }
}

/** The normal streams beside the slow ones, and how much each of the slow ones that are still open has read. */
async function measureBeside(stage: GatewayStage) {
  const slow: StreamConnection[] = []
  try {
    for (let one = 0; one < SLOW; one++) slow.push(await startSlowReader(stage.server.port))
    await sleep(FILL_MS)
    const beside = await measureNormal(stage)
    return { beside, slowRead: slow.filter(({ usable }) => usable).map(({ received }) => received) }
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
async function oneRound(context: TrialContext) {
  const stage = await stageGateway(context)
  await warmUp(stage)
  const endWatch = watchProcesses(context, stage.server.pids, [stage.mock.pid])
  const alone = await measureNormal(stage)
  const { beside, slowRead } = await measureBeside(stage)
  const disturbed = endWatch()
  await stage.stop()
  return { alone, beside, slowLeft: slowRead.length, slowTaken: median(slowRead), disturbed }
}

export const gatewaySlowReaders: Trial = {
  name: 'gateway-slow-readers',
  summary: '50 readers at 1 KB/s beside 200 normal streams: 256 KiB each, the others keep their gaps',
  rounds: 3,
  roundLimitS: 360,
  pinned: true,
  run: async (context) => {
    const { kept, figures, notes } = await quietRounds(
      context,
      () => oneRound(context),
      ({ alone, beside }) => {
        const p99 = ({ streams }: NormalStreams): string => streams.gap.quantile(0.99).toFixed(2)
        return `gap p99 ${p99(alone)} ms alone, ${p99(beside)} ms beside`
      },
    )
    const { median: middle, min } = over(kept)
    const alone = over(kept.map((round) => round.alone))
    const beside = over(kept.map((round) => round.beside))
    const gap = (side: typeof alone, q: number) => side.median(({ streams }) => streams.gap.quantile(q))
    const incomplete = (side: typeof alone) => side.sum(({ streams }) => streams.incomplete)
    const perSlow = middle((round) => (round.beside.resident - round.alone.resident) / SLOW)
    return {
      bars: [
        atMost('resident memory of a slow stream', perSlow / 1024, 256, 'KiB'),
        atMost('gap p50 beside / alone', gap(beside, 0.5) / gap(alone, 0.5), 1.1),
        atMost('gap p99 beside / alone', gap(beside, 0.99) / gap(alone, 0.99), 1.1),
        exactly('incomplete normal streams', incomplete(alone) + incomplete(beside), 0),
        atLeast('slow streams that were still open', min('slowLeft'), SLOW),
      ],
      figures: [
        figure('gap p50 alone', gap(alone, 0.5), 'ms'),
        figure('gap p50 beside', gap(beside, 0.5), 'ms'),
        figure('gap p99 alone', gap(alone, 0.99), 'ms'),
        figure('gap p99 beside', gap(beside, 0.99), 'ms'),
        figure('read by a slow reader', middle('slowTaken') / 1024, 'KiB'),
        figure('resident alone', alone.median('resident') / 2 ** 20, 'MiB'),
        figure('resident beside', beside.median('resident') / 2 ** 20, 'MiB'),
        ...figures,
      ],
      notes: [...notes, ...kept.flatMap((round) => round.beside.streams.notes)],
    }
  },
}
