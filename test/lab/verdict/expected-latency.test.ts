import { test } from 'tap'
import { replayArrivals, scheduleArrivals } from '../../../src/lab/verdict/expected-latency.js'

function near(actual: number, expected: number, within: number): boolean {
  return Math.abs(actual - expected) <= within
}

/** The value that a share `p` of all do not exceed. */
function quantileOf(values: readonly number[], p: number): number {
  return [...values].sort((a, b) => a - b)[Math.ceil(p * values.length - 1e-9) - 1]!
}

/** One stop of a second in eight of an even schedule: an eighth of the calls waits evenly between 0 and a second. */
function stallQuantile(p: number): number {
  return Math.max(0, 1000 - (1 - p) * 8000)
}

test('replaying arrivals against a stop agrees with the formula', async (t) => {
  const arrivals = Array.from({ length: 1600 }, (_, i) => i * 5)
  for (const fromMs of [0, 1234, 3000, 5551, 7000]) {
    const latencies = replayArrivals(arrivals, [{ fromMs, toMs: fromMs + 1000 }], () => 0)
    for (const p of [0.9, 0.99, 0.999]) {
      t.ok(near(quantileOf(latencies, p), stallQuantile(p), 6), `from ${fromMs}, p = ${p}`)
    }
    t.ok(near(latencies.reduce((sum, ms) => sum + ms, 0) / 1600, 62.5, 0.5))
  }
})

test('a schedule meets stops that touch as one, and every delay on top', async (t) => {
  const stops = [
    { fromMs: 3500, toMs: 4000 },
    { fromMs: 3000, toMs: 3500 },
  ]
  const latencies = replayArrivals(scheduleArrivals('constant', 0, 8000, 1600), stops, () => 7)
  t.equal(latencies.length, 1600)
  t.ok(near(quantileOf(latencies, 0.99), 927, 6))
  t.equal(quantileOf(latencies, 0.5), 7)
})

test('a Poisson schedule is the same every time, with its rate and its gaps', async (t) => {
  const schedule = (): number[] => scheduleArrivals('poisson', 0, 20_000, 10_000)
  t.same(schedule(), schedule())
  t.ok(near(schedule().length, 10_000, 400), `${schedule().length}`)
  const latencies = replayArrivals(schedule(), [{ fromMs: 10_000, toMs: 11_000 }], () => 0)
  t.ok(near(quantileOf(latencies, 0.99), 800, 40))
})
