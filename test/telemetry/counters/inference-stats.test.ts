import { test } from 'tap'
import { InferenceStats } from '../../../src/telemetry/counters/inference-stats.js'
import { formatWorkerMetrics } from '../../../src/telemetry/prometheus/prometheus.js'
import { workerSnapshot } from '../../support/models/worker-snapshot.js'

const FIGURES = { ms: 20, firstMs: 0, promptTokens: 3, completionTokens: 4, costNanos: 5_000_000_000 }

test('five hundred series are kept, whatever comes after them counts together', async (t) => {
  const stats = new InferenceStats()
  for (let at = 0; at < 2000; at++) {
    stats.recordAttempt(`m/${at}`, 'p', null)
    stats.record(`m/${at}`, 'p', 'completed', FIGURES)
  }
  const series = stats.snapshot()
  t.equal(series.length, 501)
  t.equal(series.find(({ model }) => model === 'other')?.outcomes.completed, 1500)
  t.equal(
    series.reduce((sum, { attempts }) => sum + attempts, 0),
    2000,
    'nothing is lost',
  )
})

test('labels are escaped, so that no name can end a line or begin a label', async (t) => {
  const stats = new InferenceStats()
  stats.record('m/one', 'a"} 1\nsluice_evil{x="\\', 'failed', FIGURES)
  const text = formatWorkerMetrics([workerSnapshot(0, { inference: stats.snapshot() })])
  t.match(text, 'provider="a\\"} 1\\nsluice_evil{x=\\"\\\\"')
  t.notMatch(text, /^sluice_evil/m)
  for (const line of text.trimEnd().split('\n')) t.match(line, /^(#|sluice_[a-z_]+\{)/)
})

test('an attempt at a provider that never served is told for it', async (t) => {
  const stats = new InferenceStats()
  stats.recordAttempt('m/one', 'dead', null)
  stats.recordAttempt('m/one', 'dead', { cost: 2_500_000_000 })
  const text = formatWorkerMetrics([workerSnapshot(0, { inference: stats.snapshot() })])
  const labels = '{worker="0",model="m/one",provider="dead"}'
  t.match(text, `sluice_inference_attempts_total${labels} 2\n`)
  t.match(text, `sluice_inference_lost_attempts_total${labels} 1\n`)
  t.match(text, `sluice_inference_lost_cost_dollars_total${labels} 2.5\n`)
})
