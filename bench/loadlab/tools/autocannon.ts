/**
 * autocannon 9. What its table prints is cut to whole milliseconds and, with a rate, filled up with samples that no
 * request had; its `response` event tells the truth. Both are looked at, because people see the table.
 */
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { SampleQuantiles } from '../../harness/figures/sample-set.js'
import type { AutocannonJob } from './autocannon-child.js'
import { counts, finite, jsonIn, objectAt } from './reading.js'
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
  const requests = objectAt(result, 'requests')
  const seconds = finite(result.duration, 'duration')
  const done = finite(requests.total, 'number of requests')
  const timeouts = finite(result.timeouts ?? 0, 'timeouts')
  const errors = finite(result.errors ?? 0, 'errors')
  const statuses = Object.fromEntries(
    Object.entries(objectAt(result, 'statusCodeStats')).map(([status, stats]) => [
      status,
      (stats as Record<string, unknown>).count,
    ]),
  )
  return {
    durationS: seconds,
    sent: finite(requests.sent, 'requests sent'),
    done,
    // Its errors hold its timeouts.
    errors: counts({ timeout: timeouts, error: Math.max(0, errors - timeouts) }),
    statuses: counts(statuses),
    rps: seconds === 0 ? 0 : done / seconds,
    pipelining: 1,
  }
}

/** What its table shows. */
function parseTable({ stdout }: ToolOutput, job: ToolJob): ToolFigures {
  const result = objectAt(jsonIn(stdout, 'last'), 'result')
  const latency = objectAt(result, 'latency')
  const pairs = Object.entries(TABLE_NAMES).map(([name, own]) => [name, finite(latency[own], own)] as const)
  return {
    ...common(result),
    mean: finite(latency.mean, 'mean latency'),
    max: finite(latency.max, 'greatest latency'),
    percentiles: Object.fromEntries(pairs),
    samples: finite(latency.totalCount ?? objectAt(result, 'requests').total, 'number of samples'),
    quantum: 1,
    censor: job.timeoutS * 1000,
  }
}

/** The same run by its events. */
function parseEvents({ stdout }: ToolOutput, job: ToolJob): ToolFigures {
  const all = jsonIn(stdout, 'last')
  const events = objectAt(all, 'events') as unknown as SampleQuantiles
  return {
    ...common(objectAt(all, 'result')),
    mean: finite(events.mean, 'mean latency'),
    max: finite(events.max, 'greatest latency'),
    percentiles: counts(events.percentiles),
    samples: finite(events.count, 'number of samples'),
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
