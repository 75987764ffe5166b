/** wrk 4 and wrk2: a Lua script has them print one line of JSON. */
import { recogniseWrk, WRK_REPORT_SCRIPT, type WrkReport } from '../../harness/generators/wrk.js'
import { finiteNumber, parseJsonIn, percentilesOf, positiveCounts, ratePerSecond } from './reading.js'
import {
  closedAtRate,
  closedLoop,
  commandLine,
  defineTool,
  type ToolJob,
  type ToolOutput,
  type ToolProbe,
  type ToolVariant,
} from './tool.js'

/** Microseconds in, milliseconds out. */
function parseWrk({ stderr }: ToolOutput, job: ToolJob, quantum = 0.001) {
  const own = parseJsonIn(stderr, 'last') as unknown as WrkReport
  const requests = finiteNumber(own.requests, 'number of requests')
  const refused = finiteNumber(own.status, 'number of bad answers')
  const seconds = finiteNumber(own.duration, 'duration') / 1e6
  const percentiles = Object.entries(own.percentiles ?? {}).map(([name, us]) => [name.slice(1), us] as const)
  const { connect, read, write, timeout } = own
  return {
    durationS: seconds,
    done: requests,
    errors: positiveCounts({ connect, read, write, timeout }),
    // It tells answers of 400 and above from the others, and no more.
    statuses: positiveCounts({ '2xx': Math.max(0, requests - refused), '4xx': refused }),
    rps: ratePerSecond(requests, seconds),
    mean: finiteNumber(own.mean, 'mean latency') / 1000,
    max: finiteNumber(own.max, 'greatest latency') / 1000,
    percentiles: percentilesOf(percentiles, 1 / 1000),
    quantum,
    censor: job.timeoutS * 1000,
    corrected: true,
  }
}

function command(timeout: (job: ToolJob) => string[]): ToolVariant['command'] {
  return (job, program) => {
    const { connections, seconds, rate, folder, url } = job
    const whole = Math.max(1, Math.round(seconds))
    const paced = rate === null ? [] : ['-R', String(rate)]
    return {
      argv: commandLine`${program} -t1 -c${connections} -d${whole}s ${timeout(job)} ${paced}
        -s ${folder}/report.lua ${url.href}`,
      files: { 'report.lua': WRK_REPORT_SCRIPT },
    }
  }
}

function probe(name: 'wrk' | 'wrk2', programs: readonly string[]): ToolProbe {
  const version = (text: string): string | null => {
    const found = recogniseWrk(text)
    return found?.name === name ? found.version : null
  }
  return { programs, args: ['--version'], version }
}

const patient = command(({ timeoutS }) => ['--timeout', `${timeoutS}s`])

export const wrk = defineTool({
  name: 'wrk',
  probe: probe('wrk', ['wrk']),
  command: patient,
  parse: parseWrk,
  variants: [
    closedLoop('wrk', 'closed loop, rewrites its latencies after the run'),
    closedLoop(
      'wrk-default-timeout',
      'closed loop with its own timeout of 2 s, beyond which a request is no sample',
      { command: command(() => []), onlyWhenAsked: true, fixedTimeoutS: 2 },
    ),
  ],
})

export const wrk2 = defineTool({
  name: 'wrk2',
  probe: probe('wrk2', ['wrk2', 'wrk']),
  command: patient,
  parse: (output, job) => parseWrk(output, job, 1),
  variants: [
    closedAtRate('wrk2', 'a rate over closed connections, latency from the schedule', {
      // Its first ten seconds are calibration and are not in its histogram.
      leastSeconds: 25,
    }),
  ],
})
