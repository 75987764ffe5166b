/** k6: closed loop of virtual users, or an open one by arrival rate as long as users are free. */
import { finiteNumber, objectMember, parseJsonIn, positiveCounts } from './reading.js'
import {
  type Tool,
  type ToolFigures,
  type ToolJob,
  type ToolOutput,
  type ToolVariant,
  UnreadableOutput,
} from './tool.js'

const SUMMARY = 'summary.json'
const STATUSES = [0, 200, 201, 204, 400, 404, 429, 500, 502, 503, 504]
const TREND: Readonly<Record<string, string>> = {
  p50: 'med',
  p75: 'p(75)',
  p90: 'p(90)',
  p95: 'p(95)',
  p99: 'p(99)',
  'p99.9': 'p(99.9)',
}

function script(job: ToolJob, users: number): string {
  const { url, rate, seconds, timeoutS } = job
  const scenario =
    rate === null
      ? { executor: 'constant-vus', vus: users, duration: `${seconds}s` }
      : {
          executor: 'constant-arrival-rate',
          rate: Math.round(rate),
          timeUnit: '1s',
          duration: `${seconds}s`,
          preAllocatedVUs: users,
          maxVUs: users,
        }
  const options = {
    scenarios: { load: scenario },
    summaryTrendStats: ['avg', 'min', 'max', ...Object.values(TREND)],
    discardResponseBodies: true,
  }
  return `import http from 'k6/http'
import { Counter } from 'k6/metrics'
export const options = ${JSON.stringify(options)}
const seen = {}
for (const status of ${JSON.stringify(STATUSES)}) seen[status] = new Counter('status_' + status)
export default function () {
  const { status } = http.get(${JSON.stringify(url.href)}, { timeout: '${timeoutS}s' })
  if (seen[status] !== undefined) seen[status].add(1)
}
`
}

function parseK6(output: ToolOutput, job: ToolJob): ToolFigures {
  const text = output.file(SUMMARY)
  if (text === null) throw new UnreadableOutput(`it wrote no summary: ${output.stderr.trim().slice(-160)}`)
  const metrics = objectMember(parseJsonIn(text), 'metrics')
  const requests = objectMember(metrics, 'http_reqs')
  const duration = objectMember(metrics, 'http_req_duration')
  const rps = finiteNumber(requests.rate, 'rate')
  const count = finiteNumber(requests.count, 'number of requests')
  const dropped = finiteNumber(
    objectMember(metrics, 'dropped_iterations').count ?? 0,
    'number of dropped iterations',
  )
  const statuses = Object.fromEntries(
    STATUSES.map((status) => [String(status), objectMember(metrics, `status_${status}`).count ?? 0]),
  )
  const { 0: unanswered = 0, ...answered } = positiveCounts(statuses)
  const percentiles = Object.entries(TREND).map(([name, own]) => [name, finiteNumber(duration[own], own)])
  return {
    durationS: rps === 0 ? job.seconds : count / rps,
    sent: count,
    done: count - unanswered,
    errors: positiveCounts({ error: unanswered, dropped }),
    statuses: answered,
    rps,
    mean: finiteNumber(duration.avg, 'mean latency'),
    max: finiteNumber(duration.max, 'greatest latency'),
    percentiles: Object.fromEntries(percentiles),
    quantum: 0.001,
    censor: job.timeoutS * 1000,
    pipelining: 1,
  }
}

const command =
  (users: (job: ToolJob) => number): ToolVariant['command'] =>
  (job, program) => ({
    argv: [
      program,
      'run',
      '-q',
      '--no-usage-report',
      `--summary-export=${job.folder}/${SUMMARY}`,
      `${job.folder}/load.js`,
    ],
    files: { 'load.js': script(job, users(job)) },
    environment: { K6_NO_USAGE_REPORT: 'true', K6_NO_COLOR: 'true', GOMAXPROCS: '1', HOME: job.folder },
  })

/** Twice what a second of silence needs. */
const plenty = ({ rate }: ToolJob): number => Math.ceil((rate ?? 1) * 2)
const asTold = ({ connections }: ToolJob): number => connections

export const k6: Tool = {
  name: 'k6',
  probe: {
    programs: ['k6'],
    args: ['version'],
    version: (text) => /^k6(?:\.exe)? v\d\S*/m.exec(text)?.[0] ?? null,
  },
  variants: [
    {
      name: 'k6',
      says: 'closed loop of virtual users',
      loop: 'closed',
      rate: 'none',
      command: command(asTold),
      parse: parseK6,
    },
    {
      name: 'k6-rate',
      says: 'arrival rate with users to spare',
      loop: 'open',
      rate: 'needed',
      command: command(plenty),
      parse: (output, job) => ({ ...parseK6(output, job), connections: plenty(job) }),
    },
    {
      name: 'k6-rate-few',
      says: 'arrival rate with no more users than connections',
      loop: 'open',
      rate: 'needed',
      command: command(asTold),
      parse: parseK6,
    },
  ],
}
