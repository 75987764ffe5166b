/**
 * h2load of nghttp2, speaking HTTP/1.1. It prints no percentiles, so its log of every request is read. Its `--rps` is per
 * connection and catches up in bursts.
 */
import { quantileOfSorted } from '../../harness/figures/statistics.js'
import { matchNumber, matchText, milliseconds } from './reading.js'
import {
  type Tool,
  type ToolFigures,
  type ToolJob,
  type ToolOutput,
  type ToolVariant,
  UnreadableOutput,
} from './tool.js'

const LOG = 'requests.log'
const SHARES = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999]

function parseH2load(output: ToolOutput): ToolFigures {
  const { stdout } = output
  const rps = matchNumber(stdout, /^finished in [^,]+,\s*([\d.]+) req\/s/m, 'rate')
  const seconds = milliseconds(matchText(stdout, /^finished in ([^,]+),/m, 'duration')) / 1000
  const requests = matchText(stdout, /^requests: (.+)$/m, 'line of requests')
  const count = (name: string) =>
    matchNumber(requests, new RegExp(`(\\d+) ${name}`), `number of ${name} requests`)
  const codes = matchText(stdout, /^status codes: (.+)$/m, 'status codes')
  const [, max, mean] = matchText(stdout, /^time for request:\s+(.+)$/m, 'times of requests').split(/\s+/)
  return {
    durationS: seconds,
    sent: count('started'),
    done: count('done'),
    // What failed holds what was errored and what timed out.
    errors: positive({ timeout: count('timeout'), error: Math.max(0, count('errored') - count('timeout')) }),
    statuses: positive(
      Object.fromEntries([...codes.matchAll(/(\d+) (\dxx)/g)].map(([, n, name]) => [name!, Number(n)])),
    ),
    rps,
    mean: milliseconds(mean ?? ''),
    max: milliseconds(max ?? ''),
    ...percentiles(output.file(LOG)),
    quantum: 0.001,
    pipelining: 1,
  }
}

/** Of the log: start, status and duration of each request, microseconds. */
function percentiles(log: string | null): Pick<ToolFigures, 'percentiles' | 'samples'> {
  if (log === null || log.trim() === '') return { percentiles: {} }
  const durations = log
    .trimEnd()
    .split('\n')
    .map((line) => Number(line.split('\t')[2]) / 1000)
  if (durations.some(Number.isNaN)) throw new UnreadableOutput('its log of requests is not in three columns')
  const sorted = Float64Array.from(durations).sort()
  const pairs = SHARES.map((share) => [
    `p${Number((share * 100).toFixed(2))}`,
    quantileOfSorted(sorted, share),
  ])
  return { percentiles: Object.fromEntries(pairs), samples: sorted.length }
}

function positive(of: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(of).filter(([, count]) => count > 0))
}

const command: ToolVariant['command'] = (
  { url, connections, seconds, rate, timeoutS, folder }: ToolJob,
  program,
) => ({
  argv: [
    program,
    '--h1',
    '-t1',
    `-c${connections}`,
    `-D${Math.round(seconds)}`,
    '-N',
    `${timeoutS}s`,
    `--log-file=${folder}/${LOG}`,
    ...(rate === null ? [] : [`--rps=${rate / connections}`]),
    url.href,
  ],
})

export const h2load: Tool = {
  name: 'h2load',
  probe: {
    programs: ['h2load'],
    args: ['--version'],
    version: (text) => /^h2load nghttp2\/\S+/m.exec(text)?.[0] ?? null,
  },
  variants: [
    {
      name: 'h2load',
      says: 'closed loop, log of every request',
      loop: 'closed',
      rate: 'none',
      command,
      parse: parseH2load,
    },
    {
      name: 'h2load-rps',
      says: '--rps: a rate per connection, catches up in bursts',
      loop: 'closed',
      rate: 'needed',
      command,
      parse: parseH2load,
    },
  ],
}
