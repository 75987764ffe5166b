import fc from 'fast-check'
import { test } from 'tap'
import { BUCKET_COUNT, countValuesAtOrBelow, Histogram } from '../../src/base/histogram.js'

const UNIT_MS = 1 / 16_000
/** Longest duration that has a bucket of its own; about three days. */
const LONGEST_MS = 2 ** 42 / 16_000
const QUANTILES = [0, 0.001, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 1]

/** Durations of every magnitude: evenly spread over the logarithm, with zeros and equal values among them. */
const duration = fc.oneof(
  { weight: 8, arbitrary: fc.double({ min: -6, max: 8.4, noNaN: true }).map((e) => 10 ** e) },
  { weight: 1, arbitrary: fc.constantFrom(0, UNIT_MS, 1, 1000) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 50_000 }).map((n) => n / 16) },
)
const durations = fc.array(duration, { minLength: 1, maxLength: 300 })

function recorded(values: readonly number[]): Histogram {
  const histogram = new Histogram()
  for (const value of values) histogram.record(value)
  return histogram
}

/** The exact order statistic, by the same definition of rank. */
function exactQuantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(1, Math.ceil(q * sorted.length)) - 1]!
}

test('a quantile is never below the exact order statistic and at most 1/64 above it', async () => {
  fc.assert(
    fc.property(durations, fc.double({ min: 0, max: 1, noNaN: true }), (values, any) => {
      const histogram = recorded(values)
      for (const q of [...QUANTILES, any]) {
        const exact = exactQuantile(values, q)
        const told = histogram.quantile(q)
        if (told < exact * (1 - 1e-12)) return false
        if (told > exact * (1 + 1 / 64 + 1e-12) + UNIT_MS) return false
      }
      return true
    }),
    { numRuns: 500 },
  )
})

test('quantiles grow with their rank and end at the exact maximum', async () => {
  fc.assert(
    fc.property(durations, (values) => {
      const told = QUANTILES.map((q) => recorded(values).quantile(q))
      return (
        told.every((value, i) => i === 0 || value >= told[i - 1]!) &&
        told.at(-1) === Math.max(...values) &&
        recorded(values).max === Math.max(...values)
      )
    }),
  )
})

test('count, sum and mean are those of the values', async (t) => {
  fc.assert(
    fc.property(durations, (values) => {
      const histogram = recorded(values)
      const sum = values.reduce((total, value) => total + value, 0)
      return (
        histogram.count === values.length &&
        histogram.sum === sum &&
        Math.abs(histogram.mean - sum / values.length) <= 1e-9 * sum
      )
    }),
  )
  t.equal(recorded([]).count, 0)
})

test('merging parts tells the same as recording everything in one', async () => {
  fc.assert(
    fc.property(fc.array(durations, { maxLength: 5 }), fc.boolean(), (parts, asSnapshots) => {
      const merged = new Histogram()
      for (const part of parts) {
        const histogram = recorded(part)
        merged.merge(asSnapshots ? histogram.snapshot() : histogram)
      }
      const whole = recorded(parts.flat())
      return (
        JSON.stringify(merged.snapshot().buckets) === JSON.stringify(whole.snapshot().buckets) &&
        merged.count === whole.count &&
        merged.max === whole.max &&
        Math.abs(merged.sum - whole.sum) <= 1e-9 * whole.sum &&
        QUANTILES.every((q) => merged.quantile(q) === whole.quantile(q))
      )
    }),
  )
})

test('a snapshot survives JSON and says everything the histogram knew', async (t) => {
  fc.assert(
    fc.property(durations, (values) => {
      const histogram = recorded(values)
      const travelled = JSON.parse(JSON.stringify(histogram.snapshot()))
      const again = new Histogram().merge(travelled)
      return JSON.stringify(again.snapshot()) === JSON.stringify(histogram.snapshot())
    }),
  )
  t.same(new Histogram().snapshot(), { count: 0, sum: 0, max: 0, buckets: [] })
})

test('a snapshot is a copy: later recordings do not reach it', async (t) => {
  const histogram = recorded([1])
  const before = histogram.snapshot()
  histogram.record(2)
  t.equal(before.count, 1)
  t.equal(histogram.snapshot().count, 2)
})

test('countsAtOrBelow counts whole buckets: never more than the truth, never less than 1/64 below it', async () => {
  fc.assert(
    fc.property(durations, duration, (values, bound) => {
      const told = countValuesAtOrBelow(recorded(values).snapshot(), [bound])[0]!
      const most = values.filter((value) => value <= bound).length
      const least = values.filter((value) => value * (1 + 1 / 64) + UNIT_MS < bound).length
      return least <= told && told <= most
    }),
  )
})

interface Extreme {
  readonly name: string
  readonly values: readonly number[]
  readonly p50: number
  readonly max: number
  readonly sum: number
}

const EXTREMES: readonly Extreme[] = [
  { name: 'nothing', values: [], p50: 0, max: 0, sum: 0 },
  { name: 'zero', values: [0], p50: 0, max: 0, sum: 0 },
  { name: 'negative values, of a clock that stepped back', values: [-1, -1e9], p50: 0, max: 0, sum: 0 },
  { name: 'NaN', values: [Number.NaN], p50: 0, max: 0, sum: 0 },
  { name: 'less than a unit', values: [1e-9], p50: 1e-9, max: 1e-9, sum: 1e-9 },
  { name: 'the longest duration', values: [LONGEST_MS], p50: LONGEST_MS, max: LONGEST_MS, sum: LONGEST_MS },
  { name: 'beyond the longest', values: [1e9], p50: LONGEST_MS, max: 1e9, sum: 1e9 },
  { name: 'far beyond', values: [1e15, 1e15], p50: LONGEST_MS, max: 1e15, sum: 2e15 },
]

test('extremes are counted where they belong', async (t) => {
  for (const { name, values, p50, max, sum } of EXTREMES) {
    const histogram = recorded(values)
    t.equal(histogram.count, values.length, `${name}: count`)
    t.equal(histogram.quantile(0.5), p50, `${name}: p50`)
    t.equal(histogram.max, max, `${name}: max`)
    t.equal(histogram.sum, sum, `${name}: sum`)
    t.ok(
      histogram.snapshot().buckets.every((n, i) => i % 2 === 1 || n < BUCKET_COUNT),
      `${name}: bucket`,
    )
  }
})

test('every bucket edge lies in the bucket that begins there', async (t) => {
  let wrong = 0
  for (let octave = 0; octave < 36; octave++) {
    for (let sub = 0; sub < 64; sub++) {
      const units = octave === 0 ? sub : (64 + sub) * 2 ** (octave - 1)
      const bucket = recorded([units / 16_000]).snapshot().buckets[0]
      if (bucket !== octave * 64 + sub) wrong++
    }
  }
  t.equal(wrong, 0)
})

test('quantiles() quotes the six figures of every report', async (t) => {
  const figures = recorded(Array.from({ length: 1000 }, (_, i) => i + 1)).quantiles()
  t.equal(figures.mean, 500.5)
  t.equal(figures.max, 1000)
  for (const [name, exact] of [
    ['p50', 500],
    ['p90', 900],
    ['p99', 990],
    ['p99_9', 999],
  ] as const) {
    t.ok(figures[name] >= exact && figures[name] <= exact * (1 + 1 / 64), `${name} = ${figures[name]}`)
  }
})
