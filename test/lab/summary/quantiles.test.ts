import { decodeFromCompressedBase64 } from 'hdr-histogram-js'
import { test } from 'tap'
import { Histogram } from '../../../src/base/histogram.js'
import { encodeHdrV2, formatHgrm } from '../../../src/lab/control/histogram-formats.js'
import {
  MILLISECONDS,
  percentileSpectrum,
  summarizeDistribution,
  THINGS,
  valuesAtPercentiles,
} from '../../../src/lab/summary/quantiles.js'

/** Durations 1, 2 … n, in milliseconds times `unit`. */
function rampHistogram(n: number, unit = 1): ReturnType<Histogram['snapshot']> {
  const histogram = new Histogram()
  for (let i = 1; i <= n; i++) histogram.record(i * unit)
  return histogram.snapshot()
}

test('quantiles lie far nearer than a bucket is wide when values are even', async (t) => {
  const snapshot = rampHistogram(2_000, 0.2)
  for (const q of [0.01, 0.1, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999]) {
    const [value = 0] = valuesAtPercentiles(snapshot, [100 * q], MILLISECONDS)
    t.ok(Math.abs(value - q * 400) < 0.5, `p${q * 100}: ${value}`)
  }
  const { count, mean, max, percentiles } = summarizeDistribution(snapshot)
  t.same([count, max, percentiles['p99.99']], [2_000, 400, 400])
  t.ok(Math.abs(mean - 200.1) < 1e-9)
})

test('one value is every quantile', async (t) => {
  const histogram = new Histogram()
  histogram.record(12.345)
  const { percentiles, max, mean } = summarizeDistribution(histogram.snapshot())
  t.same([max, mean], [12.345, 12.345])
  t.same(new Set(Object.values(percentiles)), new Set([12.345]))
})

test('nothing is 0 everywhere', async (t) => {
  const { count, mean, max, percentiles } = summarizeDistribution(new Histogram().snapshot())
  t.same([count, mean, max, ...Object.values(percentiles)], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
  t.same(percentileSpectrum(new Histogram().snapshot()), [])
})

test('numbers of things stay whole numbers', async (t) => {
  const histogram = new Histogram()
  for (const n of [0, 0, 1, 2, 63, 300]) histogram.recordCount(n)
  const { percentiles, max } = summarizeDistribution(histogram.snapshot(), THINGS)
  t.same([percentiles.p50, percentiles.p75, percentiles.p99, max], [1, 63, 300, 300])
})

test('points of the spectrum ascend and end at the maximum', async (t) => {
  const points = percentileSpectrum(rampHistogram(1_000))
  t.ok(points.length > 20 && points.length <= 60)
  for (const [i, [percent, ms]] of points.entries()) {
    t.ok(percent < 100)
    if (i > 0) t.ok(percent > points[i - 1]![0] && ms >= points[i - 1]![1])
  }
  t.equal(points.at(-1)![1], 1_000)
})

test('an .hgrm file has rising values, rising counts and the total', async (t) => {
  const lines = formatHgrm(rampHistogram(1_000), MILLISECONDS).split('\n')
  t.match(lines[0], /^\s+Value\s+Percentile TotalCount 1\/\(1-Percentile\)$/)
  const rows = lines
    .filter((line) => /^\s+[0-9]/.test(line))
    .map((line) => line.trim().split(/\s+/).map(Number))
  t.ok(rows.length > 20)
  for (const [i, row] of rows.entries()) {
    if (i > 0) t.ok(row[0]! >= rows[i - 1]![0]! && row[2]! >= rows[i - 1]![2]!)
  }
  t.same(rows.at(-1), [1_000, 1, 1_000])
  t.match(lines.at(-3), /Max\s+=\s+1000\.0+, Total count\s+=\s+1000\]/)
})

test('what HdrHistogram reads back has the same counts and percentiles, in microseconds', async (t) => {
  const snapshot = rampHistogram(5_000, 0.1)
  const back = decodeFromCompressedBase64(encodeHdrV2(snapshot, MILLISECONDS))
  t.equal(back.totalCount, 5_000)
  for (const p of [50, 90, 99]) {
    const [expected = 0] = valuesAtPercentiles(snapshot, [p], MILLISECONDS)
    t.ok(Math.abs(back.getValueAtPercentile(p) / 1000 / expected - 1) < 0.005, `p${p}`)
  }
})

test('an empty histogram can be exported as well', async (t) => {
  t.equal(decodeFromCompressedBase64(encodeHdrV2(new Histogram().snapshot(), MILLISECONDS)).totalCount, 0)
  t.match(formatHgrm(new Histogram().snapshot(), MILLISECONDS), /Total count\s+=\s+0\]/)
})
