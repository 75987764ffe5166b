import { test } from 'tap'
import {
  closedLoopRate,
  connectionsNeeded,
  orderStatisticRanks,
  queueWait,
  stallMean,
  stallQuantile,
  uniformDeviation,
  uniformMean,
  uniformQuantile,
  uniformQuantileError,
} from '../../src/lab/expected.js'
import { quantileOf, replayArrivals, replaySchedule } from '../../src/lab/expected-replay.js'

function near(actual: number, expected: number, within: number): boolean {
  return Math.abs(actual - expected) <= within
}

test('the report operation has the quantiles of an even delay of 100 to 500 ms', (t) => {
  t.equal(uniformMean(), 300)
  t.ok(near(uniformDeviation(), 115.5, 0.05))
  const quantiles: [number, number][] = [
    [0.5, 300],
    [0.75, 400],
    [0.9, 460],
    [0.95, 480],
    [0.99, 496],
    [0.999, 499.6],
  ]
  for (const [p, expected] of quantiles) t.ok(near(uniformQuantile(p), expected, 1e-9), `p = ${p}`)
  t.equal(uniformQuantile(0.5, { lowMs: 0, highMs: 10 }), 5)
  t.end()
})

test('1,600 draws give the p99 to within a millisecond, and ranks to look for it between', (t) => {
  t.ok(near(uniformQuantileError(0.99, 1600), 1, 0.01))
  t.same(orderStatisticRanks(0.99, 1600), [1576, 1592])
  t.same(orderStatisticRanks(0.5, 4), [1, 4], 'clipped to the sample')
  t.end()
})

test('fifty connections get 166.6 answers of 300 ms a second, and 100/s need 52 connections', (t) => {
  t.ok(near(closedLoopRate(50, 300, 0.1), 166.6, 0.05))
  t.equal(connectionsNeeded(100, 300), 52)
  t.end()
})

test('a second of standstill in eight has the quantiles of the formula', (t) => {
  t.equal(stallMean(1000, 8000), 62.5)
  const quantiles: [number, number][] = [
    [0.5, 0],
    [0.9, 200],
    [0.99, 920],
    [0.999, 992],
  ]
  for (const [p, expected] of quantiles) t.ok(near(stallQuantile(p, 1000, 8000), expected, 1e-6), `p = ${p}`)
  t.ok(near(stallQuantile(0.99, 1000, 20_000), 800, 1e-6), 'the stall profile: 800 ms in 20 s')
  t.ok(near(stallQuantile(0.99, 1000, 14_000, 2), 862, 1e-6), 'a window of 14 s and a base of 2 ms')
  t.end()
})

test('replaying arrivals against a stop agrees with the formula', (t) => {
  const arrivals = Array.from({ length: 1600 }, (_, i) => i * 5)
  for (const fromMs of [0, 1234, 3000, 5551, 7000]) {
    const latencies = replayArrivals(arrivals, [{ fromMs, toMs: fromMs + 1000 }], () => 0)
    for (const p of [0.9, 0.99, 0.999]) {
      t.ok(near(quantileOf(latencies, p), stallQuantile(p, 1000, 8000), 6), `from ${fromMs}, p = ${p}`)
    }
    t.ok(near(latencies.reduce((sum, ms) => sum + ms, 0) / 1600, 62.5, 0.5))
  }
  t.end()
})

test('a declared schedule meets stops that touch as one, and every delay on top', (t) => {
  const stops = [
    { fromMs: 3500, toMs: 4000 },
    { fromMs: 3000, toMs: 3500 },
  ]
  const schedule = { rate: 200, pattern: 'constant', fromMs: 0, forMs: 8000 } as const
  const latencies = replaySchedule(schedule, stops, () => 7)
  t.equal(latencies.length, 1600)
  t.ok(near(quantileOf(latencies, 0.99), 927, 6))
  t.equal(quantileOf(latencies, 0.5), 7)
  t.end()
})

test('a Poisson schedule is the same every time, with its rate and its gaps', (t) => {
  const schedule = { rate: 500, pattern: 'poisson', fromMs: 0, forMs: 20_000 } as const
  const first = replaySchedule(schedule, [{ fromMs: 10_000, toMs: 11_000 }], () => 0)
  t.same(
    first,
    replaySchedule(schedule, [{ fromMs: 10_000, toMs: 11_000 }], () => 0),
  )
  t.ok(near(first.length, 10_000, 400), `${first.length}`)
  t.ok(near(quantileOf(first, 0.99), 800, 40))
  t.end()
})

test('a fast schedule is thinned out, and its percentiles stay', (t) => {
  const schedule = { rate: 150_000, pattern: 'constant', fromMs: 0, forMs: 8000 } as const
  const latencies = replaySchedule(schedule, [{ fromMs: 2000, toMs: 3000 }], () => 0)
  t.ok(latencies.length <= 50_000)
  t.ok(near(quantileOf(latencies, 0.999), 992, 1))
  t.end()
})

test('Poisson arrivals of 5 ms of work at 70 % wait 5.8 ms, even ones do not', (t) => {
  t.ok(near(queueWait(5, 0.7, 'poisson'), 5.8, 0.05))
  t.equal(queueWait(5, 0.7, 'constant'), 0)
  t.equal(queueWait(5, 1, 'constant'), Number.POSITIVE_INFINITY)
  t.end()
})
