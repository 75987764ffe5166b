import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { median } from '../../harness/figures/statistics.js'
import { cpuMs } from '../../harness/machine/proc.js'
import type { SluiceServer } from '../../harness/server/sluice-server.js'
import { MANAGEMENT_KEY } from '../../performance/gateway/calls.js'
import { ADMIN_KEYS } from '../federation/federation-stage.js'
import { startHelper } from '../helper-process.js'
import {
  atLeast,
  atMost,
  exactly,
  figure,
  type Trial,
  type TrialContext,
  type TrialOutcome,
} from '../trial.js'
import { AT_ONCE, type FormField, type UploadForm, uploadAtOnce } from './files-client.js'
import type { FilesFloorJob } from './files-floor.js'
import { FLOOR, MIB, throughputRounds, withMemoryGain } from './files-stage.js'

/** Crowds of uploads to us, each followed by one to the floor. */
const PAIRS = 3
const MODEL = 'bench/ears'
const FIELDS: readonly FormField[] = [['model', MODEL]]

/** The server before a provider that reads what it is sent and throws it away, and a floor that does just that. */
interface AudioStage {
  readonly server: SluiceServer
  readonly floorPort: number
  readonly floorPid: number
  stop(): Promise<void>
}

async function stageAudio({ staging, cores }: TrialContext): Promise<AudioStage> {
  const core = cores?.server ?? null
  const helper = async (on: number | null) => {
    const port = await staging.freePort()
    const message: FilesFloorJob = { port, downloadBytes: 1, folder: staging.freshFolder() }
    return { port, process: await startHelper(staging, on, { program: FLOOR, message }) }
  }
  const floor = await helper(core)
  const provider = await helper(cores?.generator ?? null)
  const config = join(staging.freshFolder(), 'sluice.json')
  const ears = { kind: 'openai', base_url: `http://127.0.0.1:${provider.port}/v1` }
  const model = { output_modalities: ['transcription'], endpoints: [{ provider: 'ears' }] }
  writeFileSync(config, JSON.stringify({ providers: { ears }, models: { [MODEL]: model } }))
  const environment = { ...ADMIN_KEYS, SLUICE_CONFIG: config }
  const server = await staging.start({ workers: 1, poolThreads: 1, core, environment })
  return {
    server,
    floorPort: floor.port,
    floorPid: floor.process.pid,
    stop: async () => {
      floor.process.end()
      await server.stop()
      provider.process.end()
    },
  }
}

interface UploadCost {
  readonly perSecond: number
  /** Processor time per MiB, in milliseconds. */
  readonly cpu: number
  readonly failed: number
}

async function measureUploads(
  port: number,
  pids: readonly number[],
  target: string,
  form: UploadForm,
): Promise<UploadCost> {
  const cpuBefore = cpuMs(pids)
  const { perSecond, answers } = await uploadAtOnce(port, target, form)
  return {
    perSecond,
    cpu: (cpuMs(pids) - cpuBefore) / ((AT_ONCE * form.content.length) / MIB),
    failed: answers.filter(({ status }) => status !== 200).length,
  }
}

interface AudioRound {
  readonly ours: number
  readonly floor: number
  readonly cpu: number
  readonly cpuFloor: number
  readonly gained: number
  readonly failed: number
}

async function oneRound(context: TrialContext, bytes: number): Promise<AudioRound> {
  const { server, floorPort, floorPid, stop } = await stageAudio(context)
  const content = randomBytes(bytes)
  const form = { key: MANAGEMENT_KEY, content, fields: FIELDS, filename: 'trial.pcm' }
  const toUs = () => measureUploads(server.port, server.workers, '/api/v1/audio/transcriptions', form)
  // One crowd before anything is counted: what the heap needs for the traffic is not what an upload keeps.
  const warm = await toUs()
  const ours: UploadCost[] = []
  const floor: UploadCost[] = []
  const { gained } = await withMemoryGain(server, async () => {
    for (let pair = 0; pair < PAIRS; pair++) {
      ours.push(await toUs())
      floor.push(await measureUploads(floorPort, [floorPid], '/upload', form))
    }
  })
  await stop()
  const middle = (crowds: readonly UploadCost[], value: (one: UploadCost) => number): number =>
    median(crowds.map(value))
  return {
    ours: middle(ours, ({ perSecond }) => perSecond),
    floor: middle(floor, ({ perSecond }) => perSecond),
    cpu: middle(ours, ({ cpu }) => cpu),
    cpuFloor: middle(floor, ({ cpu }) => cpu),
    gained,
    failed: [warm, ...ours].reduce((sum, { failed }) => sum + failed, 0),
  }
}

/** The trial with files of another size, for machines that others use as well. */
function audioUploadOf(bytes: number): Trial['run'] {
  return async (context): Promise<TrialOutcome> => {
    const rounds = await throughputRounds(context, () => oneRound(context, bytes))
    const middle = (value: (round: AudioRound) => number): number => median(rounds.map(value))
    return {
      bars: [
        atLeast(
          'throughput / floor',
          middle(({ ours, floor }) => ours / floor),
          0.5,
        ),
        exactly(
          'uploads that failed',
          rounds.reduce((sum, { failed }) => sum + failed, 0),
          0,
        ),
        atMost('memory gained by an upload', middle(({ gained }) => gained) / MIB / AT_ONCE, 4, 'MiB'),
      ],
      figures: [
        figure('size of a file', bytes / MIB, 'MiB'),
        figure('ours, on to the provider', middle(({ ours }) => ours) / MIB, 'MiB/s'),
        figure('floor, thrown away', middle(({ floor }) => floor) / MIB, 'MiB/s'),
        figure(
          'processor time of ours',
          middle(({ cpu }) => cpu),
          'ms/MiB',
        ),
        figure(
          'processor time of the floor',
          middle(({ cpuFloor }) => cpuFloor),
          'ms/MiB',
        ),
      ],
      notes: [],
    }
  }
}

export const audioUpload: Trial = {
  name: 'audio-upload',
  summary: '20 transcriptions of 25 MB at once: 4 MiB of memory each, 0.5 of bare uWS that reads',
  rounds: 3,
  roundLimitS: 300,
  run: audioUploadOf(25 * MIB),
}
