/** k6, which is told what to do by a script and writes its figures into a file of JSON. */

import { ONE_CORE, plenty } from './json-tools.js'
import { finiteNumber, namedPercentiles, objectMember, parseJsonIn, positiveCounts } from './reading.js'
import {
  closedLoop,
  commandLine,
  defineTool,
  openLoop,
  probe,
  type ToolJob,
  type ToolVariant,
  UnreadableOutput,
} from './tool.js'

const K6_SUMMARY = 'summary.json'
const K6_STATUSES = [0, 200, 201, 204, 400, 404, 429, 500, 502, 503, 504]
const K6_TREND = { 50: 'med', 75: 'p(75)', 90: 'p(90)', 95: 'p(95)', 99: 'p(99)', 99.9: 'p(99.9)' }

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

/** How k6 is started and read with so many virtual users. */
const k6With = (users: (job: ToolJob) => number): Pick<ToolVariant, 'command' | 'parse'> => ({
  command: (job, program) => ({
    argv: commandLine`${program} run -q --no-usage-report
      --summary-export=${job.folder}/${K6_SUMMARY} ${job.folder}/load.js`,
    files: { 'load.js': k6Script(job, users(job)) },
    environment: { ...ONE_CORE, K6_NO_USAGE_REPORT: 'true', K6_NO_COLOR: 'true', HOME: job.folder },
  }),
  parse: ({ file, stderr }, job) => {
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
    return {
      durationS: rps === 0 ? job.seconds : count / rps,
      sent: count,
      done: count - unanswered,
      errors: positiveCounts({ error: unanswered, dropped }),
      statuses: answered,
      rps,
      mean: finiteNumber(duration.avg, 'mean latency'),
      max: finiteNumber(duration.max, 'greatest latency'),
      percentiles: namedPercentiles(duration, K6_TREND),
      quantum: 0.001,
      censor: job.timeoutS * 1000,
      connections: users(job),
    }
  },
})

/** Closed loop of virtual users, or an open one by arrival rate as long as users are free. */
export const k6 = defineTool({
  name: 'k6',
  probe: probe('k6', 'version', /^k6(?:\.exe)? v\d\S*/m),
  ...k6With(({ connections }) => connections),
  variants: [
    closedLoop('k6', 'closed loop of virtual users'),
    openLoop('k6-rate', 'arrival rate with users to spare', k6With(plenty)),
    openLoop('k6-rate-few', 'arrival rate with no more users than connections'),
  ],
})
