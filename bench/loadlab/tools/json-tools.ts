/** Tools that print JSON: bombardier, fortio, oha, siege and vegeta. */
import {
  finiteNumber,
  namedPercentiles,
  objectMember,
  parseJsonIn,
  percentilesOf,
  positiveCounts,
  ratePerSecond,
  sumCounts,
} from './reading.js'
import {
  closedAtRate,
  closedLoop,
  commandLine,
  defineTool,
  openLoop,
  probe,
  type ToolJob,
  UnreadableOutput,
} from './tool.js'

/** Programs of Go use one core like the others. */
export const ONE_CORE = { GOMAXPROCS: '1' }
const STATUS_CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx']

/** bombardier of HTTP (a game has the same name): closed loop, a rate by token bucket; its JSON is in microseconds. */
export const bombardier = defineTool({
  name: 'bombardier',
  probe: probe('bombardier', '--version', /^bombardier version \S+/m),
  command: ({ url, connections, seconds, rate, timeoutS }, program) => {
    const pace = rate === null ? [] : ['-r', String(Math.round(rate))]
    return {
      argv: commandLine`${program} -c ${connections} -d ${seconds}s -t ${timeoutS}s -l -o j
        -p r ${pace} ${url.href}`,
      environment: ONE_CORE,
    }
  },
  parse: ({ stdout }, job) => {
    const own = objectMember(parseJsonIn(stdout), 'result')
    const latency = objectMember(own, 'latency')
    const answers = Object.fromEntries(STATUS_CLASSES.map((name) => [name, own[`req${name}`]]))
    const statuses = positiveCounts(answers)
    const done = sumCounts(statuses)
    const seconds = finiteNumber(own.timeTakenSeconds, 'duration')
    return {
      durationS: seconds,
      done,
      errors: bombardierErrors(own.errors, finiteNumber(own.others ?? 0, 'number of others')),
      statuses,
      rps: ratePerSecond(done, seconds),
      mean: finiteNumber(latency.mean, 'mean latency') / 1000,
      max: finiteNumber(latency.max, 'greatest latency') / 1000,
      percentiles: percentilesOf(Object.entries(objectMember(latency, 'percentiles')), 1 / 1000),
      quantum: 0.001,
      censor: job.timeoutS * 1000,
    }
  },
  variants: [
    closedLoop('bombardier', 'closed loop'),
    closedAtRate('bombardier-r', '-r: a rate over closed connections'),
  ],
})

/** Its `others` are the requests without an answer; its list says why. */
function bombardierErrors(list: unknown, others: number): Record<string, number> {
  const named = Array.isArray(list) ? (list as { description?: unknown; count?: unknown }[]) : []
  const timeouts = named
    .filter(({ description }) => /timeout/i.test(String(description)))
    .reduce((total, { count }) => total + finiteNumber(count, 'number of errors'), 0)
  return positiveCounts({ timeout: timeouts, error: Math.max(0, others - timeouts) })
}

/** Width of fortio's buckets, in seconds. */
const FORTIO_RESOLUTION = 0.0001

/** Closed threads on a schedule; by default it catches up, here it is told not to. */
export const fortio = defineTool({
  name: 'fortio',
  probe: {
    programs: ['fortio'],
    args: ['buildinfo'],
    version: (text) =>
      /fortio\.org\/fortio/.test(text) ? (/^\d+\.\d+\S*/m.exec(text)?.[0] ?? 'fortio') : null,
  },
  command: ({ url, connections, seconds, rate, timeoutS }, program) => {
    const pace = rate === null ? [] : ['-uniform', '-nocatchup']
    return {
      argv: commandLine`${program} load -quiet -qps ${rate ?? 0} -c ${connections} -t ${seconds}s
        -timeout ${timeoutS}s ${pace} -r ${FORTIO_RESOLUTION} -p 50,75,90,95,99,99.9,99.99 -json
        - ${url.href}`,
      environment: ONE_CORE,
    }
  },
  parse: ({ stdout }, job) => {
    const own = parseJsonIn(stdout)
    const histogram = objectMember(own, 'DurationHistogram')
    const codes = positiveCounts(objectMember(own, 'RetCodes'))
    const { '-1': failed = 0, ...statuses } = codes
    const listed = histogram.Percentiles
    if (!Array.isArray(listed)) throw new UnreadableOutput('its JSON has no percentiles')
    const points = listed as { Percentile?: unknown; Value?: unknown }[]
    return {
      durationS: finiteNumber(own.ActualDuration, 'duration') / 1e9,
      sent: sumCounts(codes),
      done: sumCounts(statuses),
      errors: positiveCounts({ error: failed }),
      statuses,
      rps: finiteNumber(own.ActualQPS, 'rate'),
      mean: finiteNumber(histogram.Avg, 'mean latency') * 1000,
      max: finiteNumber(histogram.Max, 'greatest latency') * 1000,
      percentiles: percentilesOf(
        points.map(({ Percentile, Value }) => [finiteNumber(Percentile, 'percentile'), Value]),
        1000,
      ),
      quantum: FORTIO_RESOLUTION * 1000,
      samples: finiteNumber(histogram.Count, 'number of samples'),
      censor: job.timeoutS * 1000,
    }
  },
  variants: [
    closedLoop('fortio', 'closed loop'),
    closedAtRate('fortio-qps', '-qps -uniform -nocatchup: threads on a schedule'),
  ],
})

/** Twice what a second of silence needs, for a tool that needs somebody free for each arrival. */
export const plenty = ({ rate }: ToolJob): number => Math.ceil((rate ?? 1) * 2)

const VEGETA_NAMES = { 50: '50th', 90: '90th', 95: '95th', 99: '99th' }
/** Milliseconds of a nanosecond. */
const NS = 1e-6

/** Measures into a file and reports afterwards. */
export const vegeta = defineTool({
  name: 'vegeta',
  probe: {
    programs: ['vegeta'],
    args: ['--version'],
    version: (text) => {
      const version = /^Version:\s*(\S+)/m.exec(text)?.[1]
      return version !== undefined && /Commit:/.test(text) ? `vegeta ${version}` : null
    },
  },
  command: (job, program) => {
    const { rate, seconds, timeoutS, folder, url } = job
    return {
      argv: commandLine`${program} attack -rate=${rate ?? 0}/s -duration=${seconds}s
        -timeout=${timeoutS}s -max-workers=${plenty(job)} -targets=${folder}/targets
        -output=${folder}/results.bin`,
      files: { targets: `GET ${url.href}\n` },
      environment: ONE_CORE,
      reportedBy: [program, 'report', '-type=json', `${folder}/results.bin`],
    }
  },
  parse: ({ stdout }, job) => {
    const own = parseJsonIn(stdout)
    const latency = objectMember(own, 'latencies')
    const { 0: unanswered = 0, ...statuses } = positiveCounts(objectMember(own, 'status_codes'))
    const requests = finiteNumber(own.requests, 'number of requests')
    const done = requests - unanswered
    const seconds = (finiteNumber(own.duration, 'duration') * NS) / 1000
    // Its errors are texts without counts; what the texts say is the best that can be told apart.
    const texts = Array.isArray(own.errors) ? own.errors.map(String) : []
    const late = texts.length > 0 && texts.every((text) => /timeout|deadline/i.test(text))
    return {
      durationS: seconds,
      sent: requests,
      done,
      errors: positiveCounts({ [late ? 'timeout' : 'error']: unanswered }),
      statuses,
      rps: ratePerSecond(done, seconds),
      mean: finiteNumber(latency.mean, 'mean latency') * NS,
      max: finiteNumber(latency.max, 'greatest latency') * NS,
      percentiles: namedPercentiles(latency, VEGETA_NAMES, NS),
      quantum: 0.001,
      censor: job.timeoutS * 1000,
      connections: plenty(job),
    }
  },
  variants: [openLoop('vegeta', 'open loop')],
})

const OHA_PERCENTAGES = [50, 75, 90, 95, 99, 99.9, 99.99]
/** Requests that its own end cut off are no failures of the server. */
const OHA_CUT = 'aborted due to deadline'

/** Closed loop; with a rate it can count latency from the due time, and says so. */
export const oha = defineTool({
  name: 'oha',
  probe: probe('oha', '--version', /^oha \d\S*/m),
  command: ({ url, connections, seconds, rate, timeoutS }, program) => {
    const pace = rate === null ? [] : ['-q', String(rate), '--latency-correction']
    return {
      argv: commandLine`${program} --no-tui --output-format json -z ${seconds}s -c ${connections}
        -t ${timeoutS}s ${pace} ${url.href}`,
    }
  },
  parse: ({ stdout }, job) => {
    const own = parseJsonIn(stdout)
    const summary = objectMember(own, 'summary')
    const latency = objectMember(own, 'latencyPercentiles')
    const printed = OHA_PERCENTAGES.filter((percent) => latency[`p${percent}`] != null)
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
      percentiles: percentilesOf(
        printed.map((percent) => [percent, latency[`p${percent}`]]),
        1000,
      ),
      quantum: 0.001,
      censor: job.timeoutS * 1000,
      ...(job.rate !== null && { corrected: true }),
    }
  },
  variants: [
    closedLoop('oha', 'closed loop'),
    closedAtRate('oha-q', '-q --latency-correction: a rate, latency from the schedule'),
  ],
})

/** Without a protocol it speaks HTTP/1.0. */
const SIEGE_RC = `connection = keep-alive
protocol = HTTP/1.1
parser = false
limit = 10000
json_output = true
color = off
`

export const siege = defineTool({
  name: 'siege',
  probe: probe('siege', '--version', /^SIEGE \d\S*/m),
  command: ({ url, connections, seconds, folder }, program) => ({
    argv: commandLine`${program} -R ${folder}/siegerc -b -c${connections} -t${Math.round(seconds)}S
      -j ${url.href}`,
    files: { siegerc: SIEGE_RC },
    environment: { HOME: folder },
  }),
  parse: ({ stdout, stderr }) => {
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
    }
  },
  variants: [closedLoop('siege', 'closed loop, hundredths of a second, no percentiles', { leastSeconds: 4 })],
})
