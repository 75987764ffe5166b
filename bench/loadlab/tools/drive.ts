/** The driver of this project, in a process of its own like every other tool. */
import { fileURLToPath } from 'node:url'
import type { DriveReport } from '../drivers/drive-report.js'
import { driveStream } from './drive-stream.js'
import { curveOfPercentiles, parseJsonIn } from './reading.js'
import {
  type Tool,
  type ToolFigures,
  type ToolJob,
  type ToolOutput,
  type ToolVariant,
  UnreadableOutput,
} from './tool.js'

export const DRIVE_PROGRAM = fileURLToPath(new URL('../drivers/drive-program.js', import.meta.url))

function command(pattern: string, extra: readonly string[] = []): ToolVariant['command'] {
  return ({ url, seconds, rate, connections, timeoutS, seed }: ToolJob) => {
    const pace = pattern === 'closed' ? ['--connections', String(connections)] : ['--rate', String(rate)]
    const options = ['--seconds', String(seconds), '--timeout', String(timeoutS), '--seed', String(seed)]
    const argv = [
      '--url',
      url.href,
      '--pattern',
      pattern,
      ...pace,
      ...options,
      '--json',
      '--heat',
      '--quiet',
      ...extra,
    ]
    return { argv: [process.execPath, DRIVE_PROGRAM, ...argv] }
  }
}

export function parseDrive({ stdout }: ToolOutput): ToolFigures {
  const { report, latency, histogram, heat } = parseJsonIn(stdout) as unknown as Partial<DriveReport>
  if (report === undefined || latency === undefined || histogram === undefined) {
    throw new UnreadableOutput('its JSON holds no report')
  }
  return {
    ...report,
    busyShare: report.cpuShare,
    curve: curveOfPercentiles(latency.percentiles, latency.max),
    ...(heat && { heat }),
  }
}

export const drive: Tool = {
  name: 'sluice-drive',
  probe: null,
  variants: [
    {
      name: 'drive',
      says: 'our open loop, evenly spaced',
      loop: 'open',
      rate: 'needed',
      command: command('constant', ['--lab-headers']),
      parse: parseDrive,
    },
    {
      name: 'drive-poisson',
      says: 'our open loop, Poisson arrivals',
      loop: 'open',
      rate: 'needed',
      command: command('poisson', ['--lab-headers']),
      parse: parseDrive,
    },
    {
      name: 'drive-closed',
      says: 'our driver as a closed loop',
      loop: 'closed',
      rate: 'none',
      command: command('closed'),
      parse: parseDrive,
    },
    driveStream,
  ],
}
