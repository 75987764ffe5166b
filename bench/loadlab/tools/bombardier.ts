/** bombardier of HTTP (a game has the same name): closed loop, a rate by token bucket. Its JSON is in microseconds. */
import { finiteNumber, objectMember, parseJsonIn, positiveCounts, sumCounts } from './reading.js'
import type { Tool, ToolFigures, ToolJob, ToolOutput, ToolVariant } from './tool.js'

const CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx']

function parseBombardier({ stdout }: ToolOutput, job: ToolJob): ToolFigures {
  const own = objectMember(parseJsonIn(stdout), 'result')
  const latency = objectMember(own, 'latency')
  const statuses = positiveCounts(Object.fromEntries(CLASSES.map((name) => [name, own[`req${name}`]])))
  const done = sumCounts(statuses)
  const seconds = finiteNumber(own.timeTakenSeconds, 'duration')
  const percentiles = Object.entries(objectMember(latency, 'percentiles')).map(([name, us]) => [
    `p${name.trim()}`,
    finiteNumber(us, `percentile ${name}`) / 1000,
  ])
  return {
    durationS: seconds,
    done,
    errors: errorsOf(own.errors, finiteNumber(own.others ?? 0, 'number of others')),
    statuses,
    rps: seconds === 0 ? 0 : done / seconds,
    mean: finiteNumber(latency.mean, 'mean latency') / 1000,
    max: finiteNumber(latency.max, 'greatest latency') / 1000,
    percentiles: Object.fromEntries(percentiles),
    quantum: 0.001,
    censor: job.timeoutS * 1000,
    pipelining: 1,
  }
}

/** Its `others` are the requests without an answer; its list says why. */
function errorsOf(list: unknown, others: number): Record<string, number> {
  const named = Array.isArray(list) ? (list as { description?: unknown; count?: unknown }[]) : []
  const timeouts = named
    .filter(({ description }) => /timeout/i.test(String(description)))
    .reduce((total, { count }) => total + finiteNumber(count, 'number of errors'), 0)
  return positiveCounts({ timeout: timeouts, error: Math.max(0, others - timeouts) })
}

const command: ToolVariant['command'] = (
  { url, connections, seconds, rate, timeoutS }: ToolJob,
  program,
) => ({
  argv: [
    program,
    '-c',
    String(connections),
    '-d',
    `${seconds}s`,
    '-t',
    `${timeoutS}s`,
    '-l',
    '-o',
    'j',
    '-p',
    'r',
    ...(rate === null ? [] : ['-r', String(Math.round(rate))]),
    url.href,
  ],
  environment: { GOMAXPROCS: '1' },
})

export const bombardier: Tool = {
  name: 'bombardier',
  probe: {
    programs: ['bombardier'],
    args: ['--version'],
    version: (text) => /^bombardier version \S+/m.exec(text)?.[0] ?? null,
  },
  variants: [
    {
      name: 'bombardier',
      says: 'closed loop',
      loop: 'closed',
      rate: 'none',
      command,
      parse: parseBombardier,
    },
    {
      name: 'bombardier-r',
      says: '-r: a rate over closed connections',
      loop: 'closed',
      rate: 'needed',
      command,
      parse: parseBombardier,
    },
  ],
}
