import { median } from '../../harness/figures/statistics.js'
import {
  atLeast,
  atMost,
  exactly,
  figure,
  type Trial,
  type TrialContext,
  type TrialOutcome,
} from '../trial.js'
import { type Download, download } from './files-client.js'
import { type FilesStage, MIB, stageFiles, throughputRounds, withMemoryGain } from './files-stage.js'

const GIB = 1024 * MIB
/** Pairs of a download from us and one from the floor. */
const PAIRS = 3
const SLOW = 8
/** How long the slow ones take. */
const SLOW_SECONDS = 20

interface DownloadRound {
  /** Bytes per second. */
  readonly ours: number
  readonly floor: number
  readonly gainedQuick: number
  readonly gainedSlow: number
  readonly wrong: number
}

function bytesPerSecond({ bytes, ms }: Download): number {
  return bytes / (ms / 1_000)
}

async function oneRound(context: TrialContext, bytes: number): Promise<DownloadRound> {
  const stage = await stageFiles(context, bytes)
  const file = await stage.makeFile(bytes)
  const wish = { port: stage.server.port, target: `/api/v1/files/${file.id}/content`, key: stage.key }
  const isRight = ({ status, sha256 }: Download): boolean => status === 200 && sha256 === file.sha256
  // Once before anything is counted, and hashed: the pages of the file are in memory afterwards.
  const first = await download({ ...wish, hashed: true })
  const { value: pairs, gained: gainedQuick } = await withMemoryGain(stage.server, () =>
    downloadPairs(stage, wish),
  )
  const pace = bytes / SLOW_SECONDS
  const { value: slow, gained: gainedSlow } = await withMemoryGain(stage.server, () =>
    Promise.all(Array.from({ length: SLOW }, () => download({ ...wish, hashed: true, pace }))),
  )
  await stage.stop()
  return {
    ours: median(pairs.map(([ours]) => ours)),
    floor: median(pairs.map(([, floor]) => floor)),
    gainedQuick,
    gainedSlow,
    wrong: [first, ...slow].filter((one) => !isRight(one)).length,
  }
}

/** In turns, so that what the machine does meanwhile meets both. */
async function downloadPairs(
  { floorPort, key }: FilesStage,
  wish: { readonly port: number; readonly target: string; readonly key: string },
): Promise<[ours: number, floor: number][]> {
  const pairs: [number, number][] = []
  for (let pair = 0; pair < PAIRS; pair++) {
    const ours = await download({ ...wish, hashed: false })
    const floor = await download({ port: floorPort, target: '/download', key, hashed: false })
    pairs.push([bytesPerSecond(ours), bytesPerSecond(floor)])
  }
  return pairs
}

/** The trial with a file of another size, for machines that others use as well. */
function filesDownloadOf(bytes: number): Trial['run'] {
  return async (context): Promise<TrialOutcome> => {
    const rounds = await throughputRounds(context, () => oneRound(context, bytes))
    const middle = (value: (round: DownloadRound) => number): number => median(rounds.map(value))
    return {
      bars: [
        atLeast(
          'throughput / floor',
          middle(({ ours, floor }) => ours / floor),
          0.7,
        ),
        exactly(
          'bodies that differ',
          rounds.reduce((sum, { wrong }) => sum + wrong, 0),
          0,
        ),
        atMost('memory gained by quick readers', middle(({ gainedQuick }) => gainedQuick) / MIB, 16, 'MiB'),
        atMost(
          'memory gained by a slow reader',
          middle(({ gainedSlow }) => gainedSlow) / MIB / SLOW,
          2,
          'MiB',
        ),
      ],
      figures: [
        figure('size of the file', bytes / MIB, 'MiB'),
        figure('ours', middle(({ ours }) => ours) / MIB, 'MiB/s'),
        figure('floor', middle(({ floor }) => floor) / MIB, 'MiB/s'),
      ],
      notes: [],
    }
  }
}

export const filesDownload: Trial = {
  name: 'files-download',
  summary: '1 GiB to quick and slow readers: equal bytes, flat memory, 0.7 of bare uWS',
  rounds: 3,
  roundLimitS: 300,
  run: filesDownloadOf(GIB),
}
