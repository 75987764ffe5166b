import fc from 'fast-check'
import { test } from 'tap'
import { SampleSet } from '../../../bench/harness/figures/sample-set.js'
import { quantileOfSorted } from '../../../bench/harness/figures/statistics.js'
import { type ArrivalSchedule, arrivalSchedule } from '../../../bench/harness/http/arrival-schedule.js'
import { runPaced } from '../../../bench/harness/http/pacer.js'

function all(plan: ArrivalSchedule): number[] {
  const times: number[] = []
  for (let at = plan.next(); at !== Number.POSITIVE_INFINITY; at = plan.next()) times.push(at)
  return times
}

test('a constant schedule is evenly spaced and has exactly rate times length requests', async (t) => {
  const times = all(arrivalSchedule([{ seconds: 8, rate: 200 }], 'constant', 1))
  t.equal(times.length, 1600)
  t.ok(times.every((at, i) => Math.abs(at - i * 5) < 1e-6))
})

test('every constant rate and length gives as many requests as it should, in order, within the run', async (t) => {
  const rate = fc.integer({ min: 1, max: 5_000 })
  const seconds = fc.integer({ min: 1, max: 4 })
  fc.assert(
    fc.property(rate, seconds, (perSecond, length) => {
      const times = all(arrivalSchedule([{ seconds: length, rate: perSecond }], 'constant', 1))
      const ordered = times.every((at, i) => i === 0 || at > times[i - 1]!)
      return times.length === perSecond * length && ordered && times.at(-1)! < length * 1000
    }),
    { numRuns: 50 },
  )
  t.pass('for 50 pairs')
})

test('Poisson arrivals have exponential gaps, and the same seed repeats them', async (t) => {
  const times = all(arrivalSchedule([{ seconds: 60, rate: 500 }], 'poisson', 7))
  const gaps = times.slice(1).map((at, i) => at - times[i]!)
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length
  const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length
  t.ok(Math.abs(mean - 2) < 0.05, `mean gap ${mean}`)
  t.ok(
    Math.abs(Math.sqrt(variance) / mean - 1) < 0.05,
    `coefficient of variation ${Math.sqrt(variance) / mean}`,
  )
  t.same(all(arrivalSchedule([{ seconds: 60, rate: 500 }], 'poisson', 7)), times)
  t.not(all(arrivalSchedule([{ seconds: 60, rate: 500 }], 'poisson', 8))[0], times[0])
})

test('a change of rate takes effect at its time', async (t) => {
  const stretches = [
    { seconds: 1, rate: 10 },
    { seconds: 1, rate: 100 },
    { seconds: 1, rate: 10 },
  ]
  for (const pattern of ['constant', 'poisson'] as const) {
    const times = all(arrivalSchedule(stretches, pattern, 3))
    const within = (from: number) => times.filter((at) => at >= from && at < from + 1000).length
    const slack = pattern === 'constant' ? 1 : 40
    t.ok(Math.abs(within(0) - 10) <= slack, `${pattern}: ${within(0)} in the first second`)
    t.ok(Math.abs(within(1000) - 100) <= slack, `${pattern}: ${within(1000)} in the second`)
    t.ok(Math.abs(within(2000) - 10) <= slack, `${pattern}: ${within(2000)} in the third`)
  }
})

test('percentiles are those of the samples, by the nearest rank', async (t) => {
  const samples = new SampleSet()
  for (let ms = 1000; ms >= 1; ms--) samples.record(ms)
  const { count, mean, max, percentiles } = samples.quantiles()
  t.same({ count, mean, max }, { count: 1000, mean: 500.5, max: 1000 })
  t.match(percentiles, { p50: 500, p75: 750, p90: 900, p95: 950, p99: 990, 'p99.9': 999, 'p99.99': 1000 })
})

test('samples beyond a block are all kept, in whichever order they came', async (t) => {
  const samples = new SampleSet()
  for (let i = 0; i < 50_000; i++) samples.record((i * 7919) % 50_000)
  const sorted = samples.sorted()
  t.equal(samples.count, 50_000)
  t.ok(sorted.every((ms, i) => ms === i))
  t.equal(samples.histogram().count, 50_000)
})

test('nothing at all has quantiles of 0', async (t) => {
  t.match(new SampleSet().quantiles(), { count: 0, mean: 0, max: 0, percentiles: { p99: 0 } })
  t.equal(quantileOfSorted([], 0.5), 0)
})

test('a pace fires every due time, in bursts, and tells how late', async (t) => {
  for (const precise of [true, false]) {
    const begun = performance.now()
    const due: number[] = []
    const lateness = await runPaced({ perSecond: 1_000, burst: 5, seconds: 0.1, precise }, (at) =>
      due.push(at),
    )
    t.equal(due.length, 100)
    t.equal(new Set(due).size, 20, 'five at a time')
    t.equal(lateness.count, 20)
    t.ok(due.every((at) => at >= begun && performance.now() >= at))
    for (const [i, at] of due.entries())
      if (Math.abs(at - due[0]! - Math.floor(i / 5) * 5) > 1e-6) t.fail(`${i}`)
  }
})

test('a pace ends when it shall run no longer, and with what is thrown', async (t) => {
  let fired = 0
  await runPaced({ perSecond: 1_000, running: () => fired < 7 }, () => fired++)
  t.equal(fired, 7)
  const thrown = runPaced({ perSecond: 1_000 }, () => {
    throw new Error('enough')
  })
  await t.rejects(thrown, { message: 'enough' })
})
