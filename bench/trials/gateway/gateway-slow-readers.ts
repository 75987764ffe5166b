import { setTimeout as sleep } from 'node:timers/promises'
import { openLmdbStore } from '../../../src/store/lmdb/open.js'
import { median } from '../../harness/figures/statistics.js'
import { sampleResident } from '../../harness/machine/proc.js'
import { isComplete } from '../../harness/sse/checked-streams.js'
import { StreamConnection } from '../../harness/sse/stream-connection.js'
import { ADMIN_ENVIRONMENT, callBytes, SLUICE_CHAT } from '../../performance/gateway/calls.js'
import { quietRounds, watchProcesses } from '../disturbance.js'
import { download, type MadeFile, makeFile } from '../storage/downloads.js'
import { atMost, exactly, figure, over, type Trial, type TrialContext } from '../trial.js'
import { expectedStream, type GatewayStage, runStreams, stageGateway } from './gateway-stage.js'
import { LeavingClients } from './leaving-clients.js'

const NORMAL = 200
const SECONDS = 6
const SPREAD_MS = 1_280
/** The kernel's buffers are full by then, and what comes after them is the gateway's to hold or to leave upstream. */
const FILL_MS = 8_000
const SAMPLE_MS = 200
const QUICK = 10
const QUICK_MS = 2_000

const KIB = 1024
/** Readers of each kind. They have a window of 64 KiB: the kernel gives a reader more only when it reads quickly. */
const EACH = 50
/** How long a reader takes for what it reads. */
const READ_SECONDS = 60
/** Bytes per second, and a stream of about as many bytes as that makes in a minute. */
const PACES = [
  { pace: KIB, model: 'bench/stream-250' },
  { pace: 4 * KIB, model: 'bench/stream-1000' },
  { pace: 16 * KIB, model: 'bench/stream-4000' },
  { pace: 64 * KIB, model: 'bench/stream-16000' },
]
const LARGE = { bytes: 12_000_000, pace: 64 * KIB, readers: 10 }
const SLOW = 2 * EACH * PACES.length + LARGE.readers

/** True when a stream that is read at this pace has come whole. Faults: Error when the connection is refused. */
async function readStream(port: number, { pace, model }: (typeof PACES)[number]): Promise<boolean> {
  const connection = await StreamConnection.open(port, pace)
  if (connection === null) throw new Error('the gateway refused a slow reader')
  const outcome = await connection.call(callBytes(SLUICE_CHAT, model), '')
  connection.leave()
  return isComplete(outcome, expectedStream(model, 0))
}

/** True when a file that is read at this pace has come whole. */
async function readFile(port: number, { id, sha256 }: MadeFile, pace: number): Promise<boolean> {
  const path = `/api/v1/files/${id}/content`
  const got = await download({ port, path, pace, hashed: true }).catch(() => null)
  return got?.status === 200 && got.sha256 === sha256
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

/** The normal streams beside the slow readers, and how many of those got all of theirs. */
async function measureBeside(stage: GatewayStage, files: readonly MadeFile[], large: MadeFile) {
  const { port } = stage.server
  const streams: Promise<boolean>[] = []
  const downloads: Promise<boolean>[] = []
  for (let one = 0; one < EACH; one++) {
    for (const [index, pace] of PACES.entries()) {
      streams.push(readStream(port, pace))
      downloads.push(readFile(port, files[index]!, pace.pace))
    }
    // Not all of them at once: the generator has other readers, too.
    await sleep(SAMPLE_MS / 10)
  }
  for (let one = 0; one < LARGE.readers; one++) downloads.push(readFile(port, large, LARGE.pace))
  await sleep(FILL_MS)
  const beside = await measureNormal(stage)
  const count = async (all: readonly Promise<boolean>[]) =>
    (await Promise.all(all)).filter((whole) => whole).length
  return { beside, wholeStreams: await count(streams), wholeFiles: await count(downloads) }
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
  const dataFolder = context.staging.freshFolder()
  const stage = await stageGateway(context, { dataFolder, environment: ADMIN_ENVIRONMENT })
  const store = openLmdbStore({ path: dataFolder, unixSeconds: () => Date.now() / 1000 })
  const files: MadeFile[] = []
  for (const { pace } of PACES) files.push(await makeFile(store, READ_SECONDS * pace))
  const large = await makeFile(store, LARGE.bytes)
  await warmUp(stage)
  const endWatch = watchProcesses(context, stage.server.pids, [stage.mock.pid])
  const alone = await measureNormal(stage)
  const round = await measureBeside(stage, files, large)
  const disturbed = endWatch()
  await store.close()
  await stage.stop()
  return { alone, ...round, disturbed }
}

export const gatewaySlowReaders: Trial = {
  name: 'gateway-slow-readers',
  summary:
    'readers at 1 to 64 KB/s get all of their streams and files: 256 KiB each, the others keep their gaps',
  rounds: 1,
  roundLimitS: 1_000,
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
        exactly('slow streams that came whole', min('wholeStreams'), EACH * PACES.length),
        exactly('slow files that came whole', min('wholeFiles'), EACH * PACES.length + LARGE.readers),
        atMost('resident memory of a slow reader', perSlow / KIB, 256, 'KiB'),
        atMost('gap p50 beside / alone', gap(beside, 0.5) / gap(alone, 0.5), 1.1),
        atMost('gap p99 beside / alone', gap(beside, 0.99) / gap(alone, 0.99), 1.1),
        exactly('incomplete normal streams', incomplete(alone) + incomplete(beside), 0),
      ],
      figures: [
        figure('gap p50 alone', gap(alone, 0.5), 'ms'),
        figure('gap p50 beside', gap(beside, 0.5), 'ms'),
        figure('gap p99 alone', gap(alone, 0.99), 'ms'),
        figure('gap p99 beside', gap(beside, 0.99), 'ms'),
        figure('resident alone', alone.median('resident') / 2 ** 20, 'MiB'),
        figure('resident beside', beside.median('resident') / 2 ** 20, 'MiB'),
        ...figures,
      ],
      notes: [...notes, ...kept.flatMap((round) => round.beside.streams.notes)],
    }
  },
}
