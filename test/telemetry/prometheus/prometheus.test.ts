import parse from 'parse-prometheus-text-format'
import { test } from 'tap'
import type { WorkerSnapshot } from '../../../src/telemetry/counters/worker-stats.js'
import { formatWorkerMetrics } from '../../../src/telemetry/prometheus/prometheus.js'
import { PROMETHEUS_TYPE } from '../../../src/telemetry/prometheus/text-format.js'
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

test('an independent parser reads the text', async (t) => {
  const families = parse(formatWorkerMetrics(WORKERS))
  t.ok(families.length > 15)
  for (const { name, help, type } of families) {
    t.match(name, /^sluice_[a-z_]+$/)
    t.ok(help.length > 5, `${name}: help`)
    t.ok(['COUNTER', 'GAUGE', 'HISTOGRAM'].includes(type), `${name}: ${type}`)
    t.equal(name.endsWith('_total'), type === 'COUNTER', `${name}: counters, and only they, end in _total`)
  }
  t.equal(new Set(families.map(({ name }) => name)).size, families.length, 'each family once')
})

test('the media type is that of the text format', async (t) => {
  t.match(PROMETHEUS_TYPE, /^text\/plain; version=0\.0\.4/)
})

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

test('no sample stands twice', async (t) => {
  const keys = parseSamples(formatWorkerMetrics(WORKERS)).map(
    ({ name, labels }) => `${name} ${JSON.stringify(labels)}`,
  )
  t.equal(new Set(keys).size, keys.length)
})

test('buckets are cumulative, in seconds, and end with everything', async (t) => {
  const text = formatWorkerMetrics(WORKERS)
  const buckets = parseSamples(text).filter(
    ({ name, labels }) =>
      name === 'sluice_service_time_seconds_bucket' &&
      labels.worker === '0' &&
      labels.operation === 'read_item',
  )
  const bounds = buckets.map(({ labels }) =>
    labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le),
  )
  t.ok(
    bounds.every((bound, i) => i === 0 || bound > bounds[i - 1]!),
    'bounds grow',
  )
  t.ok(
    buckets.every(({ value }, i) => i === 0 || value >= buckets[i - 1]!.value),
    'counts do not shrink',
  )
  t.equal(bounds.at(-1), Number.POSITIVE_INFINITY)
  t.equal(buckets.at(-1)?.value, 5)
  const at = (bound: number): number | undefined => buckets[bounds.indexOf(bound)]?.value
  t.equal(at(0.000_01), 0)
  t.equal(at(0.000_025), 2)
  t.equal(at(0.005), 3)
  t.equal(at(0.05), 4)
  t.equal(at(10), 4, 'what took twelve seconds lies beyond the last bound')
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
