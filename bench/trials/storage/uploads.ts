/** Crowds that upload to us and to floors: files that are stored, and speech that is passed on to a provider. */
import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Store } from '../../../src/store/store.js'
import { Connection } from '../../harness/http/connection.js'
import { cpuMs } from '../../harness/machine/proc.js'
import type { SluiceServer } from '../../harness/server/sluice-server.js'
import { ADMIN_ENVIRONMENT, MANAGEMENT_KEY } from '../../performance/gateway/calls.js'
import { atLeast, atMost, exactly, figure, over, type Trial, type TrialContext } from '../trial.js'
import { MIB, stageFiles, startFloor, throughputRounds, withMemoryGain } from './files-stage.js'

const BYTES = 25 * MIB
/** Uploads at once. */
const AT_ONCE = 20
/** Crowds of uploads to us, each followed by one to each floor. */
const PAIRS = 3
const LIMIT_MS = 300_000
const BOUNDARY = 'sluice-trial-boundary-7d1f0c72'
const HEAD_END = '\r\n\r\n'

type UploadResult = Awaited<ReturnType<typeof upload>>

/** One file as a form, for somebody to send. */
interface UploadForm {
  /** Fields beside the file. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly filename: string
}

/** Sends one file as a form, in pieces: it is never copied. Faults: ConnectionLost. */
async function upload(to: UploadTarget, form: UploadForm, content: Buffer) {
  const part = (of: string): string => `--${BOUNDARY}\r\nContent-Disposition: form-data; ${of}${HEAD_END}`
  const values = form.fields.map(([name, value]) => `${part(`name="${name}"`)}${value}\r\n`)
  const before = Buffer.from(`${values.join('')}${part(`name="file"; filename="${form.filename}"`)}`)
  const after = Buffer.from(`\r\n--${BOUNDARY}--\r\n`)
  const head = [
    `POST ${to.path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${MANAGEMENT_KEY}`,
    `Content-Type: multipart/form-data; boundary=${BOUNDARY}`,
    `Content-Length: ${before.length + content.length + after.length}`,
  ]
  const connection = await Connection.open(to.port)
  try {
    const pieces = [Buffer.from(head.join('\r\n') + HEAD_END), before, content, after]
    const { status, body } = await connection.send(pieces, LIMIT_MS)
    return { status, answer: body.toString() }
  } finally {
    connection.drop()
  }
}

/** Where a crowd uploads to. */
interface UploadTarget {
  /** Of the figure of its throughput. */
  readonly name: string
  /** Of the figure of its processor time, where that is told. */
  readonly cpuName?: string
  readonly port: number
  readonly path: string
  readonly pids: readonly number[]
}

interface UploadStage {
  readonly server: SluiceServer
  /** Ours first, then the floor that we are held against, then others. */
  readonly targets: readonly UploadTarget[]
  readonly form: UploadForm
  countWrong(answers: readonly UploadResult[], content: Buffer): Promise<number>
  stop(): Promise<void>
}

async function oneRound(stage: UploadStage) {
  const content = randomBytes(BYTES)
  const uploadAtOnce = async (target: UploadTarget) => {
    const cpuBefore = cpuMs(target.pids)
    const begun = performance.now()
    const all = Array.from({ length: AT_ONCE }, () => upload(target, stage.form, content))
    const answers = await Promise.all(all)
    const seconds = (performance.now() - begun) / 1_000
    const cpu = (cpuMs(target.pids) - cpuBefore) / ((AT_ONCE * BYTES) / MIB)
    /** Bytes per second of all together, and processor time per MiB in milliseconds. */
    return { perSecond: (AT_ONCE * BYTES) / seconds, cpu, answers }
  }
  const [toUs] = stage.targets
  // One crowd before anything is counted: what the heap needs for the traffic is not what an upload keeps.
  const warm = await uploadAtOnce(toUs!)
  const crowds: (typeof warm)[][] = stage.targets.map(() => [])
  const { gained } = await withMemoryGain(stage.server, async () => {
    for (let pair = 0; pair < PAIRS; pair++)
      for (const [index, target] of stage.targets.entries()) crowds[index]!.push(await uploadAtOnce(target))
  })
  const answers = [warm, ...crowds[0]!].flatMap((crowd) => crowd.answers)
  const wrong = await stage.countWrong(answers, content)
  await stage.stop()
  const targets = stage.targets.map((target, index) => {
    const { median } = over(crowds[index]!)
    return { ...target, perSecond: median('perSecond'), cpu: median('cpu') }
  })
  return {
    /** Bytes per second. */
    ours: targets[0]!.perSecond,
    floor: targets[1]!.perSecond,
    gained,
    wrong,
    /** Medians of each target. */
    targets,
  }
}

function uploadTrial(
  about: Pick<Trial, 'name' | 'summary'>,
  wrongName: string,
  stage: (context: TrialContext) => Promise<UploadStage>,
): Trial {
  return {
    ...about,
    rounds: 3,
    roundLimitS: 300,
    pinned: true,
    run: async (context) => {
      const rounds = await throughputRounds(context, async () => oneRound(await stage(context)))
      const { sum, median } = over(rounds)
      const ratio = median(({ ours, floor }) => ours / floor)
      const targets = rounds[0]!.targets.map(({ name, cpuName }, index) => {
        const own = over(rounds.map((round) => round.targets[index]!))
        return { name, cpuName, perSecond: own.median('perSecond'), cpu: own.median('cpu') }
      })
      return {
        bars: [
          atLeast('throughput / floor', ratio, 0.5),
          exactly(wrongName, sum('wrong'), 0),
          atMost('memory gained by an upload', median('gained') / MIB / AT_ONCE, 4, 'MiB'),
        ],
        figures: [
          figure('size of a file', BYTES / MIB, 'MiB'),
          ...targets.map(({ name, perSecond }) => figure(name, perSecond / MIB, 'MiB/s')),
          ...targets.flatMap(({ cpuName, cpu }) => (cpuName ? [figure(cpuName, cpu, 'ms/MiB')] : [])),
        ],
      }
    },
  }
}

/** SHA-256 of what lies on the disk under an id; `''` when there is no such file. */
async function storedHash({ files }: Store, id: string): Promise<string> {
  const record = await files.file(id)
  if (record === null) return ''
  const reading = await files.openContent(record, 0, record.sizeBytes)
  const hash = createHash('sha256')
  for (let piece = await reading.read(); piece.length > 0; piece = await reading.read()) hash.update(piece)
  reading.close()
  return hash.digest('hex')
}

export const filesUpload = uploadTrial(
  {
    name: 'files-upload',
    summary: '20 uploads of 25 MB at once: 4 MiB of memory each, 0.5 of bare uWS with a disk',
  },
  'uploads that failed or differ',
  async (context) => {
    const { server, floor, store, stop } = await stageFiles(context)
    const { port, pid } = floor
    return {
      server,
      targets: [
        { name: 'ours, on the disk', port: server.port, path: '/api/v1/files', pids: server.workers },
        { name: 'floor, on the disk', port, path: '/store', pids: [pid] },
        { name: 'floor, thrown away', port, path: '/upload', pids: [pid] },
      ],
      form: { fields: [], filename: 'trial.bin' },
      countWrong: async (answers, content) => {
        const sha256 = createHash('sha256').update(content).digest('hex')
        let wrong = 0
        for (const { status, answer } of answers) {
          const id = status === 200 ? (JSON.parse(answer) as { id: string }).id : ''
          if ((await storedHash(store, id)) !== sha256) wrong++
        }
        return wrong
      },
      stop,
    }
  },
)

const TRANSCRIPTIONS = '/api/v1/audio/transcriptions'
const MODEL = 'bench/ears'

/** The server before a provider that reads what it is sent and throws it away, and a floor that does just that. */
export const audioUpload = uploadTrial(
  {
    name: 'audio-upload',
    summary: '20 transcriptions of 25 MB at once: 4 MiB of memory each, 0.5 of bare uWS that reads',
  },
  'uploads that failed',
  async ({ staging }) => {
    const floor = await startFloor(staging, 'server')
    const provider = await startFloor(staging, 'generator')
    const ears = { kind: 'openai', base_url: `http://127.0.0.1:${provider.port}/v1` }
    const model = { output_modalities: ['transcription'], endpoints: [{ provider: 'ears' }] }
    const config = join(staging.freshFolder(), 'sluice.json')
    writeFileSync(config, JSON.stringify({ providers: { ears }, models: { [MODEL]: model } }))
    const server = await staging.start({ environment: { ...ADMIN_ENVIRONMENT, SLUICE_CONFIG: config } })
    return {
      server,
      targets: [
        {
          name: 'ours, on to the provider',
          cpuName: 'processor time of ours',
          port: server.port,
          path: TRANSCRIPTIONS,
          pids: server.workers,
        },
        {
          name: 'floor, thrown away',
          cpuName: 'processor time of the floor',
          port: floor.port,
          path: '/upload',
          pids: [floor.pid],
        },
      ],
      form: { fields: [['model', MODEL]], filename: 'trial.pcm' },
      countWrong: async (answers) => answers.filter(({ status }) => status !== 200).length,
      stop: async () => {
        floor.end()
        await server.stop()
        provider.end()
      },
    }
  },
)
