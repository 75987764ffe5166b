/**
 * autocannon 9. What its table prints is cut to whole milliseconds and, with a rate, filled up with samples that no
 * request had; its `response` event tells the truth. Both are looked at, because people see the table.
 */
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { SampleQuantiles } from '../../harness/figures/sample-set.js'
import type { AutocannonJob } from './autocannon-child.js'
import { finiteNumber, objectMember, parseJsonIn, positiveCounts } from './reading.js'
import type { Tool, ToolFigures, ToolJob, ToolOutput, ToolVariant } from './tool.js'

const PROGRAM = fileURLToPath(new URL('autocannon-child.js', import.meta.url))

/** Version of the dependency; it needs no probe because it always comes with the project. */
export function autocannonVersion(): string {
  const { version } = createRequire(import.meta.url)('autocannon/package.json') as { version: string }
  return `autocannon ${version}`
}

const TABLE_NAMES: Readonly<Record<string, string>> = {
  p50: 'p50',
  p75: 'p75',
  p90: 'p90',
  'p97.5': 'p97_5',
  p99: 'p99',
  'p99.9': 'p99_9',
  'p99.99': 'p99_99',
}

function common(result: Record<string, unknown>): Omit<ToolFigures, 'percentiles' | 'quantum'> {
  const requests = objectMember(result, 'requests')
  const seconds = finiteNumber(result.duration, 'duration')
  const done = finiteNumber(requests.total, 'number of requests')
  const timeouts = finiteNumber(result.timeouts ?? 0, 'timeouts')
  const errors = finiteNumber(result.errors ?? 0, 'errors')
  const statuses = Object.fromEntries(
    Object.entries(objectMember(result, 'statusCodeStats')).map(([status, stats]) => [
      status,
      (stats as Record<string, unknown>).count,
    ]),
  )
  return {
    durationS: seconds,
    sent: finiteNumber(requests.sent, 'requests sent'),
    done,
    // Its errors hold its timeouts.
    errors: positiveCounts({ timeout: timeouts, error: Math.max(0, errors - timeouts) }),
    statuses: positiveCounts(statuses),
    rps: seconds === 0 ? 0 : done / seconds,
    pipelining: 1,
  }
}

/** What its table shows. */
function parseTable({ stdout }: ToolOutput, job: ToolJob): ToolFigures {
  const result = objectMember(parseJsonIn(stdout, 'last'), 'result')
  const latency = objectMember(result, 'latency')
  const pairs = Object.entries(TABLE_NAMES).map(
    ([name, own]) => [name, finiteNumber(latency[own], own)] as const,
  )
  return {
    ...common(result),
    mean: finiteNumber(latency.mean, 'mean latency'),
    max: finiteNumber(latency.max, 'greatest latency'),
    percentiles: Object.fromEntries(pairs),
    samples: finiteNumber(latency.totalCount ?? objectMember(result, 'requests').total, 'number of samples'),
    quantum: 1,
    censor: job.timeoutS * 1000,
  }
}

/** The same run by its events. */
function parseEvents({ stdout }: ToolOutput, job: ToolJob): ToolFigures {
  const all = parseJsonIn(stdout, 'last')
  const events = objectMember(all, 'events') as unknown as SampleQuantiles
  return {
    ...common(objectMember(all, 'result')),
    mean: finiteNumber(events.mean, 'mean latency'),
    max: finiteNumber(events.max, 'greatest latency'),
    percentiles: positiveCounts(events.percentiles),
    samples: finiteNumber(events.count, 'number of samples'),
    quantum: 0.001,
    censor: job.timeoutS * 1000,
  }
}

function command(plain: boolean): ToolVariant['command'] {
  return ({ url, connections, seconds, rate, timeoutS }: ToolJob) => {
    const job: AutocannonJob = { url: url.href, connections, seconds, rate, timeoutS, plain }
    return { argv: [process.execPath, PROGRAM, JSON.stringify(job)] }
  }
}

export const autocannon: Tool = {
  name: 'autocannon',
  probe: null,
  variants: [
    {
      name: 'autocannon',
      says: 'closed loop, its own table',
      loop: 'closed',
      rate: 'none',
      command: command(false),
      parse: parseTable,
    },
    {
      name: 'autocannon-events',
      says: 'closed loop, latency from its response event',
      loop: 'closed',
      rate: 'none',
      command: command(false),
      parse: parseEvents,
    },
    {
      name: 'autocannon-R',
      says: '-R: a rate, its own table with its correction',
      loop: 'closed',
      rate: 'needed',
      command: command(false),
      parse: parseTable,
    },
    {
      name: 'autocannon-R-C',
      says: '-R -C: a rate, its own table without its correction',
      loop: 'closed',
      rate: 'needed',
      command: command(true),
      parse: parseTable,
    },
  ],
}
