import fc from 'fast-check'
import { test } from 'tap'
import { Histogram } from '../../../src/base/histogram.js'
import { PagedHistogram } from '../../../src/lab/recorder/tally.js'

test('a tally counts into the buckets of the service’s own histogram', async (t) => {
  const durations = fc.array(fc.double({ min: 0, max: 1e8, noNaN: true }), { maxLength: 200 })
  fc.assert(
    fc.property(durations, (values) => {
      const tally = new PagedHistogram()
      const histogram = new Histogram()
      for (const value of values) {
        tally.record(value)
        histogram.record(value)
      }
      const { buckets, count, sum, max } = tally.snapshot()
      const expected = histogram.snapshot()
      if (String(buckets) !== String(expected.buckets)) throw new Error('other buckets')
      return count === expected.count && sum === expected.sum && max === expected.max
    }),
  )
  t.pass()
})

test('merging snapshots is the same as recording everything in one', async (t) => {
  const [one, other, all] = [new PagedHistogram(), new PagedHistogram(), new PagedHistogram()]
  for (let i = 0; i < 500; i++) {
    const value = (i * 7919) % 1000
    const tally = i % 3 === 0 ? one : other
    tally.record(value)
    all.record(value)
  }
  one.merge(other.snapshot())
  t.same(one.snapshot(), all.snapshot())
})

test('a negative duration, of a clock that was rounded, counts as none', async (t) => {
  const tally = new PagedHistogram()
  tally.record(-0.001)
  t.same(tally.snapshot(), { count: 1, sum: 0, max: 0, buckets: [0, 1] })
})
