import { createHash, randomBytes } from 'node:crypto'
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
import { AT_ONCE, type UploadCrowd, uploadAtOnce } from './files-client.js'
import {
  type FilesStage,
  MIB,
  stageFiles,
  storedHash,
  throughputRounds,
  withMemoryGain,
} from './files-stage.js'

/** Crowds of uploads to us, each followed by one to each floor. */
const PAIRS = 3

interface UploadRound {
  /** Bytes per second. */
  readonly ours: number
  /** Bare uWS that answers when the body is on the disk. */
  readonly floor: number
  /** Bare uWS that throws the body away. */
  readonly ether: number
  readonly gained: number
  readonly wrong: number
}

/** How many of the answers are none of a file that is stored with these bytes. */
async function countWrong(
  { store }: FilesStage,
  answers: UploadCrowd['answers'],
  sha256: string,
): Promise<number> {
  let wrong = 0
  for (const { status, answer } of answers) {
    const id = status === 200 ? (JSON.parse(answer) as { id: string }).id : ''
    if ((await storedHash(store, id)) !== sha256) wrong++
  }
  return wrong
}

async function oneRound(context: TrialContext, bytes: number): Promise<UploadRound> {
  const stage = await stageFiles(context, 1)
  const { server, floorPort, key } = stage
  const content = randomBytes(bytes)
  const form = { key, content }
  const sha256 = createHash('sha256').update(content).digest('hex')
  const ours: UploadCrowd[] = []
  const floor: UploadCrowd[] = []
  const ether: UploadCrowd[] = []
  // One crowd before anything is counted: what the heap needs for the traffic is not what an upload keeps.
  ours.push(await uploadAtOnce(server.port, '/api/v1/files', form))
  const { gained } = await withMemoryGain(server, async () => {
    for (let pair = 0; pair < PAIRS; pair++) {
      ours.push(await uploadAtOnce(server.port, '/api/v1/files', form))
      floor.push(await uploadAtOnce(floorPort, '/store', form))
      ether.push(await uploadAtOnce(floorPort, '/upload', form))
    }
  })
  let wrong = 0
  for (const { answers } of ours) wrong += await countWrong(stage, answers, sha256)
  await stage.stop()
  return {
    ours: median(ours.slice(1).map(({ perSecond }) => perSecond)),
    floor: median(floor.map(({ perSecond }) => perSecond)),
    ether: median(ether.map(({ perSecond }) => perSecond)),
    gained,
    wrong,
  }
}

/** The trial with files of another size, for machines that others use as well. */
function filesUploadOf(bytes: number): Trial['run'] {
  return async (context): Promise<TrialOutcome> => {
    const rounds = await throughputRounds(context, () => oneRound(context, bytes))
    const middle = (value: (round: UploadRound) => number): number => median(rounds.map(value))
    return {
      bars: [
        atLeast(
          'throughput / floor',
          middle(({ ours, floor }) => ours / floor),
          0.5,
        ),
        exactly(
          'uploads that failed or differ',
          rounds.reduce((sum, { wrong }) => sum + wrong, 0),
          0,
        ),
        atMost('memory gained by an upload', middle(({ gained }) => gained) / MIB / AT_ONCE, 4, 'MiB'),
      ],
      figures: [
        figure('size of a file', bytes / MIB, 'MiB'),
        figure('ours, on the disk', middle(({ ours }) => ours) / MIB, 'MiB/s'),
        figure('floor, on the disk', middle(({ floor }) => floor) / MIB, 'MiB/s'),
        figure('floor, thrown away', middle(({ ether }) => ether) / MIB, 'MiB/s'),
      ],
      notes: [],
    }
  }
}

export const filesUpload: Trial = {
  name: 'files-upload',
  summary: '20 uploads of 25 MB at once: 4 MiB of memory each, 0.5 of bare uWS with a disk',
  rounds: 3,
  roundLimitS: 300,
  run: filesUploadOf(25 * MIB),
}
