/** wrk 4 and wrk2, which shares its name and banner: a Lua script has them print one line of JSON. */
import { finiteNumber, parseJsonIn } from './reading.js'
import type { Tool, ToolFigures, ToolJob, ToolOutput, ToolVariant } from './tool.js'

const PERCENTILES = ['50', '75', '90', '95', '99', '99.9', '99.99']

const SCRIPT = `done = function(summary, latency, requests)
  local e = summary.errors
  local parts = {}
  for _, p in ipairs({${PERCENTILES.join(', ')}}) do
    parts[#parts + 1] = string.format('"p%s":%.3f', tostring(p), latency:percentile(p))
  end
  io.stderr:write(string.format(
    '{"requests":%d,"duration":%.0f,"bytes":%d,"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d,' ..
    '"mean":%.3f,"max":%.3f,"percentiles":{%s}}\\n',
    summary.requests, summary.duration, summary.bytes, e.connect, e.read, e.write, e.status, e.timeout,
    latency.mean, latency.max, table.concat(parts, ',')))
end
`

interface WrkFigures {
  readonly requests: number
  readonly duration: number
  readonly connect: number
  readonly read: number
  readonly write: number
  /** Answers of 400 and above. */
  readonly status: number
  readonly timeout: number
  readonly mean: number
  readonly max: number
  readonly percentiles: Readonly<Record<string, number>>
}

/** Microseconds in, milliseconds out. */
function parseWrk({ stderr }: ToolOutput, job: ToolJob, quantum = 0.001): ToolFigures {
  const own = parseJsonIn(stderr, 'last') as unknown as WrkFigures
  const requests = finiteNumber(own.requests, 'number of requests')
  const refused = finiteNumber(own.status, 'number of bad answers')
  const seconds = finiteNumber(own.duration, 'duration') / 1e6
  const ms = Object.entries(own.percentiles ?? {}).map(([name, us]) => [name, finiteNumber(us, name) / 1000])
  const failures = { connect: own.connect, read: own.read, write: own.write, timeout: own.timeout }
  return {
    durationS: seconds,
    done: requests,
    errors: Object.fromEntries(
      Object.entries(failures).filter(([, count]) => finiteNumber(count, 'error count') > 0),
    ),
    // It tells answers of 400 and above from the others, and no more.
    statuses: {
      ...(requests > refused && { '2xx': requests - refused }),
      ...(refused > 0 && { '4xx': refused }),
    },
    rps: seconds === 0 ? 0 : requests / seconds,
    mean: finiteNumber(own.mean, 'mean latency') / 1000,
    max: finiteNumber(own.max, 'greatest latency') / 1000,
    percentiles: Object.fromEntries(ms),
    quantum,
    censor: job.timeoutS * 1000,
    corrected: true,
    pipelining: 1,
  }
}

const wholeSeconds = (seconds: number): number => Math.max(1, Math.round(seconds))

function command(timeout: (job: ToolJob) => string[]): ToolVariant['command'] {
  return (job, program) => ({
    argv: [
      program,
      '-t1',
      `-c${job.connections}`,
      `-d${wholeSeconds(job.seconds)}s`,
      ...timeout(job),
      ...(job.rate === null ? [] : ['-R', String(job.rate)]),
      '-s',
      `${job.folder}/report.lua`,
      job.url.href,
    ],
    files: { 'report.lua': SCRIPT },
  })
}

const patient = command(({ timeoutS }) => ['--timeout', `${timeoutS}s`])

/** wrk2 says `--rate` in its usage, which both print after their version. */
const versionLine = (text: string): string | null => /^wrk2? \S+ \[\w+\]/m.exec(text)?.[0] ?? null

export const wrk: Tool = {
  name: 'wrk',
  probe: {
    programs: ['wrk'],
    args: ['--version'],
    version: (text) => (text.includes('--rate') ? null : versionLine(text)),
  },
  variants: [
    {
      name: 'wrk',
      says: 'closed loop, rewrites its latencies after the run',
      loop: 'closed',
      rate: 'none',
      command: patient,
      parse: parseWrk,
    },
    {
      name: 'wrk-default-timeout',
      says: 'closed loop with its own timeout of 2 s, beyond which a request is no sample',
      loop: 'closed',
      rate: 'none',
      onlyWhenAsked: true,
      fixedTimeoutS: 2,
      command: command(() => []),
      parse: parseWrk,
    },
  ],
}

export const wrk2: Tool = {
  name: 'wrk2',
  probe: {
    programs: ['wrk2', 'wrk'],
    args: ['--version'],
    version: (text) => (text.includes('--rate') ? versionLine(text) : null),
  },
  variants: [
    {
      name: 'wrk2',
      says: 'a rate over closed connections, latency from the schedule',
      loop: 'closed',
      rate: 'needed',
      // Its first ten seconds are calibration and are not in its histogram.
      leastSeconds: 25,
      command: patient,
      parse: (output, job) => parseWrk(output, job, 1),
    },
  ],
}
