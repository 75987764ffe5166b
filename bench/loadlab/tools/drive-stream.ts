/** The SSE driver of this project, in a process of its own like every other tool. */
import { fileURLToPath } from 'node:url'
import type { StreamReport } from '../drivers/stream-report.js'
import { parseJsonIn, sumCounts } from './reading.js'
import {
  type ToolFigures,
  type ToolJob,
  type ToolOutput,
  type ToolVariant,
  UnreadableOutput,
} from './tool.js'

const PROGRAM = fileURLToPath(new URL('../drivers/drive-stream-program.js', import.meta.url))
/** A model inside of the gateway: no upstream is needed. */
const MODEL = 'sim/fast'
const KEY_FILE = 'key'

function command({ url, seconds, connections, timeoutS, seed, key }: ToolJob) {
  const load = ['--streams', String(connections), '--seconds', String(seconds), '--seed', String(seed)]
  const caller = key === undefined ? [] : ['--key-file', KEY_FILE]
  return {
    argv: [
      process.execPath,
      PROGRAM,
      '--url',
      url.href,
      '--model',
      MODEL,
      ...load,
      '--silence',
      String(timeoutS),
      ...caller,
      '--json',
      '--quiet',
    ],
    // Not on the command line, which reports show.
    ...(key !== undefined && { files: { [KEY_FILE]: key } }),
  }
}

/** Its latencies are those of whole streams, from the due time to the last byte. */
export function parseDriveStream({ stdout }: ToolOutput, job: ToolJob): ToolFigures {
  const report = parseJsonIn(stdout) as unknown as Partial<StreamReport>
  const { ends, statuses = {}, total, seconds, curves } = report
  if (ends === undefined || total === undefined || seconds === undefined || curves === undefined) {
    throw new UnreadableOutput('its JSON holds no report of streams')
  }
  const { complete = 0, error = 0, ...lost } = ends
  const done = complete + error
  return {
    ...(report.startNs !== undefined && { startNs: report.startNs }),
    ...(report.endNs !== undefined && { endNs: report.endNs }),
    durationS: seconds,
    ...(report.started !== undefined && { sent: report.started }),
    done,
    errors: lost,
    // Streams that were lost may have had a status as well.
    statuses: sumCounts(statuses) === done ? statuses : {},
    rps: seconds === 0 ? 0 : done / seconds,
    mean: total.mean,
    percentiles: total.percentiles,
    max: total.max,
    samples: total.count,
    quantum: 0.001,
    censor: job.timeoutS * 1000,
    streams: curves,
  }
}

export const driveStream: ToolVariant = {
  name: 'drive-stream',
  says: 'our SSE driver: so many streams at a time',
  loop: 'closed',
  rate: 'none',
  onlyWhenAsked: true,
  command,
  parse: parseDriveStream,
}
