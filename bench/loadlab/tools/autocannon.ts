/**
 * autocannon 9. What its table prints is cut to whole milliseconds and, with a rate, filled up with samples that no
 * request had; its `response` event tells the truth. Both are looked at, because people see the table.
 */
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { SampleQuantiles } from '../../harness/figures/sample-set.js'
import type { AutocannonJob } from './autocannon-child.js'
import {
  finiteNumber,
  namedPercentiles,
  objectMember,
  parseJsonIn,
  positiveCounts,
  ratePerSecond,
} from './reading.js'
import {
  closedAtRate,
  closedLoop,
  defineTool,
  type ToolJob,
  type ToolOutput,
  type ToolVariant,
} from './tool.js'

const PROGRAM = fileURLToPath(new URL('autocannon-child.js', import.meta.url))

const { version } = createRequire(import.meta.url)('autocannon/package.json') as { version: string }

const TABLE_NAMES: Readonly<Record<string, string>> = {
  50: 'p50',
  75: 'p75',
  90: 'p90',
  97.5: 'p97_5',
  99: 'p99',
  99.9: 'p99_9',
  99.99: 'p99_99',
}

function commonFigures(result: Record<string, unknown>, job: ToolJob) {
  const requests = objectMember(result, 'requests')
  const seconds = finiteNumber(result.duration, 'duration')
  const done = finiteNumber(requests.total, 'number of requests')
  const timeouts = finiteNumber(result.timeouts ?? 0, 'timeouts')
  const errors = finiteNumber(result.errors ?? 0, 'errors')
  const statuses = Object.entries(objectMember(result, 'statusCodeStats')).map(([status, stats]) => [
    status,
    (stats as Record<string, unknown>).count,
  ])
  return {
    durationS: seconds,
    sent: finiteNumber(requests.sent, 'requests sent'),
    done,
    // Its errors hold its timeouts.
    errors: positiveCounts({ timeout: timeouts, error: Math.max(0, errors - timeouts) }),
    statuses: positiveCounts(Object.fromEntries(statuses)),
    rps: ratePerSecond(done, seconds),
    censor: job.timeoutS * 1000,
  }
}

/** The same run by its events. */
function parseEvents({ stdout }: ToolOutput, job: ToolJob) {
  const all = parseJsonIn(stdout, 'last')
  const events = objectMember(all, 'events') as unknown as SampleQuantiles
  return {
    ...commonFigures(objectMember(all, 'result'), job),
    mean: finiteNumber(events.mean, 'mean latency'),
    max: finiteNumber(events.max, 'greatest latency'),
    percentiles: positiveCounts(events.percentiles),
    samples: finiteNumber(events.count, 'number of samples'),
    quantum: 0.001,
  }
}

function command(plain: boolean): ToolVariant['command'] {
  return ({ url, connections, seconds, rate, timeoutS }) => {
    const job: AutocannonJob = { url: url.href, connections, seconds, rate, timeoutS, plain }
    return { argv: [process.execPath, PROGRAM, JSON.stringify(job)] }
  }
}

export const autocannon = defineTool({
  name: 'autocannon',
  probe: `autocannon ${version}`,
  command: command(false),
  /** What its table shows. */
  parse: ({ stdout }, job) => {
    const result = objectMember(parseJsonIn(stdout, 'last'), 'result')
    const latency = objectMember(result, 'latency')
    const samples = latency.totalCount ?? objectMember(result, 'requests').total
    return {
      ...commonFigures(result, job),
      mean: finiteNumber(latency.mean, 'mean latency'),
      max: finiteNumber(latency.max, 'greatest latency'),
      percentiles: namedPercentiles(latency, TABLE_NAMES),
      samples: finiteNumber(samples, 'number of samples'),
      quantum: 1,
    }
  },
  variants: [
    closedLoop('autocannon', 'closed loop, its own table'),
    closedLoop('autocannon-events', 'closed loop, latency from its response event', { parse: parseEvents }),
    closedAtRate('autocannon-R', '-R: a rate, its own table with its correction'),
    closedAtRate('autocannon-R-C', '-R -C: a rate, its own table without its correction', {
      command: command(true),
    }),
  ],
})
