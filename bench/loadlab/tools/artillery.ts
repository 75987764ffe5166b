/** artillery 2: an open loop in which every arrival is a virtual user with a connection of its own. */
import {
  finiteNumber,
  namedPercentiles,
  objectMember,
  parseJsonIn,
  positiveCounts,
  ratePerSecond,
  sumCounts,
} from './reading.js'
import { commandLine, defineTool, openLoop, type ToolJob, UnreadableOutput } from './tool.js'

const REPORT = 'report.json'
const SCRIPT = 'script.json'
/** Its percentiles are named for what they are, but the last. */
const SUMMARY = { 50: 'p50', 75: 'p75', 90: 'p90', 95: 'p95', 99: 'p99', 99.9: 'p999' }

function scriptOf({ url, rate, seconds, timeoutS }: ToolJob): string {
  return JSON.stringify({
    config: {
      target: url.origin,
      http: { timeout: timeoutS },
      phases: [{ duration: Math.round(seconds), arrivalRate: rate ?? 1 }],
    },
    scenarios: [{ flow: [{ get: { url: `${url.pathname}${url.search}` } }] }],
  })
}

export const artillery = defineTool({
  name: 'artillery',
  probe: {
    programs: ['artillery'],
    args: ['--version'],
    version: (text) => /^Artillery: \d\S*/m.exec(text)?.[0] ?? null,
  },
  // Newer ones need Node 22; with TypeScript 6, which its own ranges allow, it does not start.
  npm: { name: 'artillery', version: '2.0.20', program: 'bin/run', overrides: { typescript: '5.9.3' } },
  command: (job, program) => ({
    argv: commandLine`${program} run --quiet --output ${job.folder}/${REPORT} ${job.folder}/${SCRIPT}`,
    files: { [SCRIPT]: scriptOf(job) },
    environment: { ARTILLERY_DISABLE_TELEMETRY: 'true', HOME: job.folder },
  }),
  parse: ({ file, stdout, stderr }, job) => {
    const text = file(REPORT)
    if (text === null)
      throw new UnreadableOutput(`it wrote no report: ${(stderr || stdout).trim().slice(-160)}`)
    const own = objectMember(parseJsonIn(text), 'aggregate')
    const counters = Object.entries(objectMember(own, 'counters'))
    const named = (prefix: string) =>
      positiveCounts(
        Object.fromEntries(
          counters.flatMap(([name, n]) => (name.startsWith(prefix) ? [[name.slice(prefix.length), n]] : [])),
        ),
      )
    const statuses = named('http.codes.')
    const { ETIMEDOUT: timeout = 0, ...failures } = named('errors.')
    const done = sumCounts(statuses)
    const latency = objectMember(objectMember(own, 'summaries'), 'http.response_time')
    const first = finiteNumber(own.firstCounterAt, 'begin')
    const seconds = Math.max(job.seconds, (finiteNumber(own.lastCounterAt, 'end') - first) / 1000)
    return {
      durationS: seconds,
      sent: named('http.requests')[''] ?? 0,
      done,
      errors: positiveCounts({ timeout, error: sumCounts(failures) }),
      statuses,
      rps: ratePerSecond(done, seconds),
      ...(done > 0 && {
        mean: finiteNumber(latency.mean, 'mean latency'),
        max: finiteNumber(latency.max, 'greatest latency'),
      }),
      percentiles: done > 0 ? namedPercentiles(latency, SUMMARY) : {},
      quantum: 1,
      censor: job.timeoutS * 1000,
      // Each arrival opens one.
      connections: Math.max(done, Math.ceil(seconds * (job.rate ?? 1))),
    }
  },
  variants: [
    openLoop('artillery', 'arrivalRate: a virtual user and a connection for each arrival', { overheadS: 18 }),
  ],
})
