/** Tools written in Go, which print JSON: bombardier, fortio, k6 and vegeta. */
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
  UnreadableOutput,
  variant,
} from './tool.js'

/** Programs of Go use one core like the others. */
const ONE_CORE = { GOMAXPROCS: '1' }
const STATUS_CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx']

/** Its JSON is in microseconds. */
function parseBombardier({ stdout }: ToolOutput, job: ToolJob): ToolFigures {
  const own = objectMember(parseJsonIn(stdout), 'result')
  const latency = objectMember(own, 'latency')
  const statuses = positiveCounts(Object.fromEntries(STATUS_CLASSES.map((name) => [name, own[`req${name}`]])))
  const done = sumCounts(statuses)
  const seconds = finiteNumber(own.timeTakenSeconds, 'duration')
  const percentiles = Object.entries(objectMember(latency, 'percentiles')).map(([name, us]) => [
    `p${name.trim()}`,
    finiteNumber(us, `percentile ${name}`) / 1000,
  ])
  return {
    durationS: seconds,
    done,
    errors: bombardierErrors(own.errors, finiteNumber(own.others ?? 0, 'number of others')),
    statuses,
    rps: ratePerSecond(done, seconds),
    mean: finiteNumber(latency.mean, 'mean latency') / 1000,
    max: finiteNumber(latency.max, 'greatest latency') / 1000,
    percentiles: Object.fromEntries(percentiles),
    quantum: 0.001,
    censor: job.timeoutS * 1000,
    pipelining: 1,
  }
}

/** Its `others` are the requests without an answer; its list says why. */
function bombardierErrors(list: unknown, others: number): Record<string, number> {
  const named = Array.isArray(list) ? (list as { description?: unknown; count?: unknown }[]) : []
  const timeouts = named
    .filter(({ description }) => /timeout/i.test(String(description)))
    .reduce((total, { count }) => total + finiteNumber(count, 'number of errors'), 0)
  return positiveCounts({ timeout: timeouts, error: Math.max(0, others - timeouts) })
}

const byBombardier: Pick<ToolVariant, 'command' | 'parse'> = {
  command: ({ url, connections, seconds, rate, timeoutS }, program) => {
    const pace = rate === null ? [] : ['-r', String(Math.round(rate))]
    return {
      argv: commandLine`${program} -c ${connections} -d ${seconds}s -t ${timeoutS}s -l -o j
        -p r ${pace} ${url.href}`,
      environment: ONE_CORE,
    }
  },
  parse: parseBombardier,
}

/** bombardier of HTTP (a game has the same name): closed loop, a rate by token bucket. */
export const bombardier: Tool = {
  name: 'bombardier',
  probe: probe('bombardier', '--version', /^bombardier version \S+/m),
  variants: [
    variant('bombardier', 'closed loop', 'closed', 'none', byBombardier),
    variant('bombardier-r', '-r: a rate over closed connections', 'closed', 'needed', byBombardier),
  ],
}

/** Width of fortio's buckets, in seconds. */
const FORTIO_RESOLUTION = 0.0001

function parseFortio({ stdout }: ToolOutput, job: ToolJob): ToolFigures {
  const own = parseJsonIn(stdout)
  const histogram = objectMember(own, 'DurationHistogram')
  const codes = positiveCounts(objectMember(own, 'RetCodes'))
  const { '-1': failed = 0, ...statuses } = codes
  const listed = histogram.Percentiles
  if (!Array.isArray(listed)) throw new UnreadableOutput('its JSON has no percentiles')
  const percentiles = (listed as { Percentile?: unknown; Value?: unknown }[]).map(({ Percentile, Value }) => [
    `p${finiteNumber(Percentile, 'percentile')}`,
    finiteNumber(Value, 'value of a percentile') * 1000,
  ])
  return {
    durationS: finiteNumber(own.ActualDuration, 'duration') / 1e9,
    sent: sumCounts(codes),
    done: sumCounts(statuses),
    errors: positiveCounts({ error: failed }),
    statuses,
    rps: finiteNumber(own.ActualQPS, 'rate'),
    mean: finiteNumber(histogram.Avg, 'mean latency') * 1000,
    max: finiteNumber(histogram.Max, 'greatest latency') * 1000,
    percentiles: Object.fromEntries(percentiles),
    quantum: FORTIO_RESOLUTION * 1000,
    samples: finiteNumber(histogram.Count, 'number of samples'),
    censor: job.timeoutS * 1000,
    pipelining: 1,
  }
}

const byFortio: Pick<ToolVariant, 'command' | 'parse'> = {
  command: ({ url, connections, seconds, rate, timeoutS }, program) => {
    const pace = rate === null ? [] : ['-uniform', '-nocatchup']
    return {
      argv: commandLine`${program} load -quiet -qps ${rate ?? 0} -c ${connections} -t ${seconds}s
        -timeout ${timeoutS}s ${pace} -r ${FORTIO_RESOLUTION} -p 50,75,90,95,99,99.9,99.99 -json
        - ${url.href}`,
      environment: ONE_CORE,
    }
  },
  parse: parseFortio,
}

/** Closed threads on a schedule; by default it catches up, here it is told not to. */
export const fortio: Tool = {
  name: 'fortio',
  probe: {
    programs: ['fortio'],
    args: ['buildinfo'],
    version: (text) =>
      /fortio\.org\/fortio/.test(text) ? (/^\d+\.\d+\S*/m.exec(text)?.[0] ?? 'fortio') : null,
  },
  variants: [
    variant('fortio', 'closed loop', 'closed', 'none', byFortio),
    variant('fortio-qps', '-qps -uniform -nocatchup: threads on a schedule', 'closed', 'needed', byFortio),
  ],
}

const K6_SUMMARY = 'summary.json'
const K6_STATUSES = [0, 200, 201, 204, 400, 404, 429, 500, 502, 503, 504]
const K6_TREND: Readonly<Record<string, string>> = {
  p50: 'med',
  p75: 'p(75)',
  p90: 'p(90)',
  p95: 'p(95)',
  p99: 'p(99)',
  'p99.9': 'p(99.9)',
}

function k6Script({ url, rate, seconds, timeoutS }: ToolJob, users: number): string {
  const duration = `${seconds}s`
  const paced = { executor: 'constant-arrival-rate', timeUnit: '1s', preAllocatedVUs: users, maxVUs: users }
  const load =
    rate === null
      ? { executor: 'constant-vus', vus: users, duration }
      : { ...paced, rate: Math.round(rate), duration }
  const options = {
    scenarios: { load },
    summaryTrendStats: ['avg', 'min', 'max', ...Object.values(K6_TREND)],
    discardResponseBodies: true,
  }
  return `import http from 'k6/http'
import { Counter } from 'k6/metrics'
export const options = ${JSON.stringify(options)}
const seen = {}
for (const status of ${JSON.stringify(K6_STATUSES)}) seen[status] = new Counter('status_' + status)
export default function () {
  const { status } = http.get(${JSON.stringify(url.href)}, { timeout: '${timeoutS}s' })
  if (seen[status] !== undefined) seen[status].add(1)
}
`
}

function parseK6({ file, stderr }: ToolOutput, job: ToolJob): ToolFigures {
  const text = file(K6_SUMMARY)
  if (text === null) throw new UnreadableOutput(`it wrote no summary: ${stderr.trim().slice(-160)}`)
  const metrics = objectMember(parseJsonIn(text), 'metrics')
  const requests = objectMember(metrics, 'http_reqs')
  const duration = objectMember(metrics, 'http_req_duration')
  const rps = finiteNumber(requests.rate, 'rate')
  const count = finiteNumber(requests.count, 'number of requests')
  const dropped = objectMember(metrics, 'dropped_iterations').count ?? 0
  const statuses = Object.fromEntries(
    K6_STATUSES.map((status) => [String(status), objectMember(metrics, `status_${status}`).count ?? 0]),
  )
  const { 0: unanswered = 0, ...answered } = positiveCounts(statuses)
  for (const own of Object.values(K6_TREND)) finiteNumber(duration[own], own)
  return {
    durationS: rps === 0 ? job.seconds : count / rps,
    sent: count,
    done: count - unanswered,
    errors: positiveCounts({ error: unanswered, dropped }),
    statuses: answered,
    rps,
    mean: finiteNumber(duration.avg, 'mean latency'),
    max: finiteNumber(duration.max, 'greatest latency'),
    percentiles: namedPercentiles(duration, K6_TREND, 1),
    quantum: 0.001,
    censor: job.timeoutS * 1000,
    pipelining: 1,
  }
}

const k6Command =
  (users: (job: ToolJob) => number): ToolVariant['command'] =>
  (job, program) => ({
    argv: commandLine`${program} run -q --no-usage-report
      --summary-export=${job.folder}/${K6_SUMMARY} ${job.folder}/load.js`,
    files: { 'load.js': k6Script(job, users(job)) },
    environment: { ...ONE_CORE, K6_NO_USAGE_REPORT: 'true', K6_NO_COLOR: 'true', HOME: job.folder },
  })

/** Twice what a second of silence needs. */
const plenty = ({ rate }: ToolJob): number => Math.ceil((rate ?? 1) * 2)
const fewUsers = { command: k6Command(({ connections }) => connections), parse: parseK6 }
const manyUsers: Pick<ToolVariant, 'command' | 'parse'> = {
  command: k6Command(plenty),
  parse: (output, job) => ({ ...parseK6(output, job), connections: plenty(job) }),
}

/** Closed loop of virtual users, or an open one by arrival rate as long as users are free. */
export const k6: Tool = {
  name: 'k6',
  probe: probe('k6', 'version', /^k6(?:\.exe)? v\d\S*/m),
  variants: [
    variant('k6', 'closed loop of virtual users', 'closed', 'none', fewUsers),
    variant('k6-rate', 'arrival rate with users to spare', 'open', 'needed', manyUsers),
    variant('k6-rate-few', 'arrival rate with no more users than connections', 'open', 'needed', fewUsers),
  ],
}

const VEGETA_NAMES = { p50: '50th', p90: '90th', p95: '95th', p99: '99th' }
/** Milliseconds of a nanosecond. */
const NS = 1e-6

function parseVegeta({ stdout }: ToolOutput, job: ToolJob): ToolFigures {
  const own = parseJsonIn(stdout)
  const latency = objectMember(own, 'latencies')
  const { 0: unanswered = 0, ...statuses } = positiveCounts(objectMember(own, 'status_codes'))
  const requests = finiteNumber(own.requests, 'number of requests')
  const done = requests - unanswered
  const seconds = (finiteNumber(own.duration, 'duration') * NS) / 1000
  // Its errors are texts without counts; what the texts say is the best that can be told apart.
  const texts = Array.isArray(own.errors) ? own.errors.map(String) : []
  const name = texts.length > 0 && texts.every((text) => /timeout|deadline/i.test(text)) ? 'timeout' : 'error'
  for (const member of Object.values(VEGETA_NAMES)) finiteNumber(latency[member], member)
  return {
    durationS: seconds,
    sent: requests,
    done,
    errors: positiveCounts({ [name]: unanswered }),
    statuses,
    rps: ratePerSecond(done, seconds),
    mean: finiteNumber(latency.mean, 'mean latency') * NS,
    max: finiteNumber(latency.max, 'greatest latency') * NS,
    percentiles: namedPercentiles(latency, VEGETA_NAMES, NS),
    quantum: 0.001,
    censor: job.timeoutS * 1000,
    pipelining: 1,
  }
}

/** Measures into a file and reports afterwards. */
const byVegeta: Pick<ToolVariant, 'command' | 'parse'> = {
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
  parse: (output, job) => ({ ...parseVegeta(output, job), connections: plenty(job) }),
}

export const vegeta: Tool = {
  name: 'vegeta',
  probe: {
    programs: ['vegeta'],
    args: ['--version'],
    version: (text) => {
      const version = /^Version:\s*(\S+)/m.exec(text)?.[1]
      return version !== undefined && /Commit:/.test(text) ? `vegeta ${version}` : null
    },
  },
  variants: [variant('vegeta', 'open loop', 'open', 'needed', byVegeta)],
}
