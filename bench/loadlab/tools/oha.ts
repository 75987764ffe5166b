/** oha: closed loop; with a rate it can count latency from the due time, and says so. */
import { finiteNumber, objectMember, parseJsonIn, positiveCounts, sumCounts } from './reading.js'
import type { Tool, ToolFigures, ToolJob, ToolOutput, ToolVariant } from './tool.js'

const NAMES = ['p50', 'p75', 'p90', 'p95', 'p99', 'p99.9', 'p99.99']
/** Requests that its own end cut off are no failures of the server. */
const CUT = 'aborted due to deadline'

function parseOha({ stdout }: ToolOutput, job: ToolJob): ToolFigures {
  const own = parseJsonIn(stdout)
  const summary = objectMember(own, 'summary')
  const latency = objectMember(own, 'latencyPercentiles')
  const statuses = positiveCounts(objectMember(own, 'statusCodeDistribution'))
  const failures = positiveCounts(objectMember(own, 'errorDistribution'))
  const timeouts = sumCounts(
    Object.fromEntries(Object.entries(failures).filter(([name]) => /timeout|timed out/i.test(name))),
  )
  const cut = failures[CUT] ?? 0
  const done = sumCounts(statuses)
  const seconds = finiteNumber(summary.total, 'duration')
  return {
    durationS: seconds,
    sent: done + sumCounts(failures),
    done,
    errors: positiveCounts({
      timeout: timeouts,
      cut,
      error: Math.max(0, sumCounts(failures) - timeouts - cut),
    }),
    statuses,
    rps: seconds === 0 ? 0 : done / seconds,
    mean: finiteNumber(summary.average, 'mean latency') * 1000,
    max: finiteNumber(summary.slowest, 'greatest latency') * 1000,
    percentiles: Object.fromEntries(
      NAMES.filter((name) => latency[name] != null).map((name) => [
        name,
        finiteNumber(latency[name], name) * 1000,
      ]),
    ),
    quantum: 0.001,
    censor: job.timeoutS * 1000,
    ...(job.rate !== null && { corrected: true }),
    pipelining: 1,
  }
}

const command: ToolVariant['command'] = (
  { url, connections, seconds, rate, timeoutS }: ToolJob,
  program,
) => ({
  argv: [
    program,
    '--no-tui',
    '--output-format',
    'json',
    '-z',
    `${seconds}s`,
    '-c',
    String(connections),
    '-t',
    `${timeoutS}s`,
    ...(rate === null ? [] : ['-q', String(rate), '--latency-correction']),
    url.href,
  ],
})

export const oha: Tool = {
  name: 'oha',
  probe: { programs: ['oha'], args: ['--version'], version: (text) => /^oha \d\S*/m.exec(text)?.[0] ?? null },
  variants: [
    { name: 'oha', says: 'closed loop', loop: 'closed', rate: 'none', command, parse: parseOha },
    {
      name: 'oha-q',
      says: '-q --latency-correction: a rate, latency from the schedule',
      loop: 'closed',
      rate: 'needed',
      command,
      parse: parseOha,
    },
  ],
}
