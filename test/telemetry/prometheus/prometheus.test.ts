import { test } from 'tap'
import type { WorkerSnapshot } from '../../../src/telemetry/counters/worker-stats.js'
import { formatWorkerMetrics } from '../../../src/telemetry/prometheus/prometheus.js'
import { durations, operation, workerSnapshot } from '../../support/models/worker-snapshot.js'

interface SampleLine {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** The samples as they stand in the text; strict about the form of each line. */
function parseSamples(text: string): SampleLine[] {
  const lines = text.split('\n')
  if (lines.pop() !== '') throw new Error('the text does not end in a line feed')
  return lines
    .filter((line) => !line.startsWith('#'))
    .map((line) => {
      const match = /^([a-z_]+)\{((?:[a-z]+="[^"\\\n]*",?)*)\} (\S+)$/.exec(line)
      if (match === null) throw new Error(`not a sample: ${line}`)
      const labels = [...match[2]!.matchAll(/([a-z]+)="([^"]*)"/g)].map(([, name, value]) => [name, value])
      return { name: match[1]!, labels: Object.fromEntries(labels), value: Number(match[3]) }
    })
}

function sampleValues(text: string, name: string, labels: Record<string, string> = {}): number[] {
  return parseSamples(text)
    .filter((line) => line.name === name)
    .filter((line) => Object.entries(labels).every(([label, value]) => line.labels[label] === value))
    .map(({ value }) => value)
}

const WORKERS: readonly WorkerSnapshot[] = [
  workerSnapshot(0, {
    operations: [
      operation('read_item', {
        count: 7,
        inFlight: 1,
        aborted: 1,
        statuses: [
          [200, 4],
          [404, 1],
        ],
        serviceMs: durations(0.02, 0.02, 3, 30, 12_000),
      }),
      operation('unmatched', { count: 0, statuses: [], serviceMs: durations() }),
    ],
  }),
  workerSnapshot(1),
]

test('counters stand per worker and operation', async (t) => {
  const text = formatWorkerMetrics(WORKERS)
  t.same(sampleValues(text, 'sluice_requests_total', { worker: '0', operation: 'read_item' }), [7])
  t.same(sampleValues(text, 'sluice_requests_total', { worker: '1', operation: 'read_item' }), [2])
  t.same(sampleValues(text, 'sluice_responses_total', { worker: '0', status: '404' }), [1])
  t.same(sampleValues(text, 'sluice_requests_aborted_total', { worker: '0', operation: 'read_item' }), [1])
  t.same(sampleValues(text, 'sluice_requests_in_flight', { worker: '0', operation: 'read_item' }), [1])
  t.same(sampleValues(text, 'sluice_connections'), [3, 3])
  t.same(sampleValues(text, 'sluice_pool_rejected_total'), [4, 4])
  t.same(sampleValues(text, 'sluice_pool_busy_seconds_total', { thread: '12', worker: '0' }), [0.01])
})

test('buckets count what took their bound or less, in seconds', async (t) => {
  const text = formatWorkerMetrics(WORKERS)
  const labels = { worker: '0', operation: 'read_item' }
  const at = (le: string) => sampleValues(text, 'sluice_service_time_seconds_bucket', { ...labels, le })
  t.same(at('0.00001'), [0])
  t.same(at('0.000025'), [2])
  t.same(at('0.005'), [3])
  t.same(at('0.05'), [4])
  t.same(at('10'), [4], 'what took twelve seconds lies beyond the last bound')
  t.same(at('+Inf'), [5])
})

test('sum and count are those of the histogram', async (t) => {
  const text = formatWorkerMetrics(WORKERS)
  const labels = { worker: '0', operation: 'read_item' }
  t.same(sampleValues(text, 'sluice_service_time_seconds_count', labels), [5])
  const [sum = 0] = sampleValues(text, 'sluice_service_time_seconds_sum', labels)
  t.ok(Math.abs(sum - 12.033_04) < 1e-9, String(sum))
})

test('without workers the families stand there empty', async (t) => {
  t.same(parseSamples(formatWorkerMetrics([])), [])
  t.match(formatWorkerMetrics([]), '# TYPE sluice_requests_total counter')
})
