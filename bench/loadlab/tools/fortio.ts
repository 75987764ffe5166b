/** fortio: closed threads on a schedule; by default it catches up, here it is told not to. */
import { finiteNumber, objectMember, parseJsonIn, positiveCounts, sumCounts } from './reading.js'
import {
  type Tool,
  type ToolFigures,
  type ToolJob,
  type ToolOutput,
  type ToolVariant,
  UnreadableOutput,
} from './tool.js'

const PERCENTILES = [50, 75, 90, 95, 99, 99.9, 99.99]
/** Width of its buckets, in seconds. */
const RESOLUTION = 0.0001

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
    quantum: RESOLUTION * 1000,
    samples: finiteNumber(histogram.Count, 'number of samples'),
    censor: job.timeoutS * 1000,
    pipelining: 1,
  }
}

const command: ToolVariant['command'] = (
  { url, connections, seconds, rate, timeoutS }: ToolJob,
  program,
) => ({
  argv: [
    program,
    'load',
    '-quiet',
    '-qps',
    String(rate ?? 0),
    '-c',
    String(connections),
    '-t',
    `${seconds}s`,
    '-timeout',
    `${timeoutS}s`,
    ...(rate === null ? [] : ['-uniform', '-nocatchup']),
    '-r',
    String(RESOLUTION),
    '-p',
    PERCENTILES.join(','),
    '-json',
    '-',
    url.href,
  ],
  environment: { GOMAXPROCS: '1' },
})

export const fortio: Tool = {
  name: 'fortio',
  probe: {
    programs: ['fortio'],
    args: ['buildinfo'],
    version: (text) =>
      /fortio\.org\/fortio/.test(text) ? (/^\d+\.\d+\S*/m.exec(text)?.[0] ?? 'fortio') : null,
  },
  variants: [
    { name: 'fortio', says: 'closed loop', loop: 'closed', rate: 'none', command, parse: parseFortio },
    {
      name: 'fortio-qps',
      says: '-qps -uniform -nocatchup: threads on a schedule',
      loop: 'closed',
      rate: 'needed',
      command,
      parse: parseFortio,
    },
  ],
}
