/** The drivers of this project, each in a process of its own like every other tool. */
import { fileURLToPath } from 'node:url'
import { DRIVER_NAME, DRIVER_VERSION, type DriveReport } from '../drivers/drive-report.js'
import type { StreamReport } from '../drivers/stream-report.js'
import { curveOfPercentiles, parseJsonIn, ratePerSecond, sumCounts } from './reading.js'
import {
  closedLoop,
  commandLine,
  defineTool,
  openLoop,
  type ToolFigures,
  type ToolJob,
  type ToolOutput,
  type ToolVariant,
  UnreadableOutput,
} from './tool.js'

const PROGRAM = fileURLToPath(new URL('../drivers/driver-program.js', import.meta.url))

/** The command line of the HTTP driver. */
export function driveArgv(
  pattern: string,
  { url, seconds, rate, connections, timeoutS, seed }: Omit<ToolJob, 'folder'>,
  more: readonly string[],
): string[] {
  const pace = rate === null ? ['--connections', String(connections)] : ['--rate', String(rate)]
  return commandLine`${process.execPath} ${PROGRAM} drive --url ${url.href} --pattern ${pattern} ${pace}
    --seconds ${seconds} --timeout ${timeoutS} --seed ${seed} --json --quiet ${more}`
}

function command(pattern: string, more: readonly string[] = []): ToolVariant['command'] {
  return (job) => ({
    argv: driveArgv(pattern, pattern === 'closed' ? { ...job, rate: null } : job, ['--heat', ...more]),
  })
}

export function parseDrive({ stdout }: ToolOutput): ToolFigures {
  const { report, latency, histogram, heat } = parseJsonIn(stdout) as unknown as Partial<DriveReport>
  if (report === undefined || latency === undefined || histogram === undefined) {
    throw new UnreadableOutput('its JSON holds no report')
  }
  const curve = curveOfPercentiles(latency.percentiles, latency.max)
  return { ...report, busyShare: report.cpuShare, curve, ...(heat && { heat }) }
}

/** A model inside of the gateway: no upstream is needed. */
const MODEL = 'sim/fast'
const KEY_FILE = 'key'

/** Its latencies are those of whole streams, from the due time to the last byte. */
export function parseDriveStream({ stdout }: ToolOutput, job: ToolJob): ToolFigures {
  const report = parseJsonIn(stdout) as unknown as Partial<StreamReport>
  const { ends, statuses = {}, total, seconds, curves, startNs, endNs, started } = report
  if (ends === undefined || total === undefined || seconds === undefined || curves === undefined) {
    throw new UnreadableOutput('its JSON holds no report of streams')
  }
  const { complete = 0, error = 0, ...lost } = ends
  const done = complete + error
  return {
    ...(startNs !== undefined && { startNs }),
    ...(endNs !== undefined && { endNs }),
    durationS: seconds,
    ...(started !== undefined && { sent: started }),
    done,
    errors: lost,
    // Streams that were lost may have had a status as well.
    statuses: sumCounts(statuses) === done ? statuses : {},
    rps: ratePerSecond(done, seconds),
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
  command: ({ url, seconds, connections, timeoutS, seed, key }) => {
    const caller = key === undefined ? [] : ['--key-file', KEY_FILE]
    return {
      argv: commandLine`${process.execPath} ${PROGRAM} drive-stream --url ${url.href} --model ${MODEL}
        --streams ${connections} --seconds ${seconds} --seed ${seed} --silence ${timeoutS} ${caller}
        --json --quiet`,
      // Not on the command line, which reports show.
      ...(key !== undefined && { files: { [KEY_FILE]: key } }),
    }
  },
  parse: parseDriveStream,
}

export const drive = defineTool({
  name: 'drive',
  probe: `${DRIVER_NAME} ${DRIVER_VERSION}`,
  command: command('constant', ['--lab-headers']),
  parse: parseDrive,
  variants: [
    openLoop('drive', 'our open loop, evenly spaced'),
    openLoop('drive-poisson', 'our open loop, Poisson arrivals', {
      command: command('poisson', ['--lab-headers']),
    }),
    closedLoop('drive-closed', 'our driver as a closed loop', { command: command('closed') }),
    driveStream,
  ],
})
