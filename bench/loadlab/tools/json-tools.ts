/** Other tools that print JSON: oha and siege. */
import {
  finiteNumber,
  namedPercentiles,
  objectMember,
  parseJsonIn,
  positiveCounts,
  ratePerSecond,
  sumCounts,
} from './reading.js'
import {
  commandLine,
  probe,
  type Tool,
  type ToolFigures,
  type ToolJob,
  type ToolOutput,
  type ToolVariant,
  variant,
} from './tool.js'

const OHA_NAMES = ['p50', 'p75', 'p90', 'p95', 'p99', 'p99.9', 'p99.99']
/** Requests that its own end cut off are no failures of the server. */
const OHA_CUT = 'aborted due to deadline'

function parseOha({ stdout }: ToolOutput, job: ToolJob): ToolFigures {
  const own = parseJsonIn(stdout)
  const summary = objectMember(own, 'summary')
  const latency = objectMember(own, 'latencyPercentiles')
  const statuses = positiveCounts(objectMember(own, 'statusCodeDistribution'))
  const failures = positiveCounts(objectMember(own, 'errorDistribution'))
  const timedOut = Object.entries(failures).filter(([name]) => /timeout|timed out/i.test(name))
  const timeout = sumCounts(Object.fromEntries(timedOut))
  const cut = failures[OHA_CUT] ?? 0
  const done = sumCounts(statuses)
  const seconds = finiteNumber(summary.total, 'duration')
  return {
    durationS: seconds,
    sent: done + sumCounts(failures),
    done,
    errors: positiveCounts({ timeout, cut, error: Math.max(0, sumCounts(failures) - timeout - cut) }),
    statuses,
    rps: ratePerSecond(done, seconds),
    mean: finiteNumber(summary.average, 'mean latency') * 1000,
    max: finiteNumber(summary.slowest, 'greatest latency') * 1000,
    percentiles: namedPercentiles(latency, Object.fromEntries(OHA_NAMES.map((name) => [name, name])), 1000),
    quantum: 0.001,
    censor: job.timeoutS * 1000,
    ...(job.rate !== null && { corrected: true }),
    pipelining: 1,
  }
}

const byOha: Pick<ToolVariant, 'command' | 'parse'> = {
  command: ({ url, connections, seconds, rate, timeoutS }, program) => {
    const pace = rate === null ? [] : ['-q', String(rate), '--latency-correction']
    return {
      argv: commandLine`${program} --no-tui --output-format json -z ${seconds}s -c ${connections}
        -t ${timeoutS}s ${pace} ${url.href}`,
    }
  },
  parse: parseOha,
}

/** Closed loop; with a rate it can count latency from the due time, and says so. */
export const oha: Tool = {
  name: 'oha',
  probe: probe('oha', '--version', /^oha \d\S*/m),
  variants: [
    variant('oha', 'closed loop', 'closed', 'none', byOha),
    variant('oha-q', '-q --latency-correction: a rate, latency from the schedule', 'closed', 'needed', byOha),
  ],
}

const SIEGE_RC = `connection = keep-alive
parser = false
limit = 10000
json_output = true
color = off
`

function parseSiege({ stdout, stderr }: ToolOutput): ToolFigures {
  const own = parseJsonIn(stdout.includes('{') ? stdout : stderr, 'first')
  const number = (name: string) => finiteNumber(own[name], name)
  const seconds = number('elapsed_time')
  const done = number('transactions')
  const good = Math.min(done, number('successful_transactions'))
  return {
    durationS: seconds,
    done,
    errors: positiveCounts({ error: number('failed_transactions') }),
    // What is no success by its rules was answered all the same.
    statuses: positiveCounts({ '2xx': good, '4xx': done - good }),
    rps: ratePerSecond(done, seconds),
    mean: number('response_time') * 1000,
    max: number('longest_transaction') * 1000,
    percentiles: {},
    quantum: 10,
    pipelining: 1,
  }
}

const bySiege: Pick<ToolVariant, 'command' | 'parse'> = {
  command: ({ url, connections, seconds, folder }, program) => ({
    argv: commandLine`${program} -R ${folder}/siegerc -b -c${connections} -t${Math.round(seconds)}S
      -j ${url.href}`,
    files: { siegerc: SIEGE_RC },
    environment: { HOME: folder },
  }),
  parse: parseSiege,
}

export const siege: Tool = {
  name: 'siege',
  probe: probe('siege', '--version', /^SIEGE \d\S*/m),
  variants: [
    variant('siege', 'closed loop, hundredths of a second, no percentiles', 'closed', 'none', bySiege, {
      leastSeconds: 4,
    }),
  ],
}
