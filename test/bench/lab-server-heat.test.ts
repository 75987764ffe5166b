import fc from 'fast-check'
import { test } from 'tap'
import { HeatMap, latencyBandEdges } from '../../bench/loadlab/drivers/heat.js'
import type { LabControl, ServiceSpan } from '../../bench/loadlab/runner/control.js'
import { bandCounts, serverHeat } from '../../bench/loadlab/runner/server-heat.js'
import type { RunSummary } from '../../src/lab/run-summary.js'

const FAST: ServiceSpan = {
  count: 200,
  max: 0.09,
  points: [
    { percentile: 0, ms: 0.03 },
    { percentile: 50, ms: 0.05 },
    { percentile: 99, ms: 0.08 },
  ],
}
/** Half of them waited for the end of a stop. */
const HELD: ServiceSpan = {
  count: 100,
  max: 1000,
  points: [
    { percentile: 0, ms: 0.04 },
    { percentile: 49, ms: 0.06 },
    { percentile: 51, ms: 20 },
    { percentile: 75, ms: 500 },
  ],
}

test('a map of the server has the same bands as one of the driver, and a column for each slice', async (t) => {
  const asked: string[] = []
  const control = {
    serviceTimes: async (id: string, operation: string, from: number, to: number) => {
      asked.push(`${id} ${operation} ${from}..${to}`)
      return from === 1 ? HELD : FAST
    },
  } as unknown as LabControl
  const truth = { window: { seconds: 2.4 }, slices: { seconds: 1, count: 40 } } as unknown as RunSummary
  const heat = await serverHeat(control, 'r1', 'health', truth)
  t.same(asked, ['r1 health 0..1', 'r1 health 1..2', 'r1 health 2..3'])
  t.equal(heat?.side, 'server')
  t.equal(heat?.stepMs, 1000)
  t.same(
    heat?.counts.map((step) => step.reduce((sum, count) => sum + count, 0)),
    [200, 100, 200],
  )
  const driver = new HeatMap(1000)
  driver.record(0, 0, 1000)
  t.same(heat?.edgesMs, driver.cells().edgesMs)
  const slow = heat!.edgesMs.findIndex((edge) => edge > 1)
  const waited = heat!.counts[1]!.slice(slow).reduce((sum, count) => sum + count, 0)
  t.ok(waited >= 49 && waited <= 51, `half of the second's 100 waited: ${waited}`)
})

test('a run without slices has no map', async (t) => {
  const truth = { window: { seconds: 2 } } as unknown as RunSummary
  t.equal(await serverHeat({} as LabControl, 'r1', 'health', truth), null)
})

test('no request is lost or made up between the bands', (t) => {
  const spans = fc
    .tuple(
      fc.integer({ min: 0, max: 100_000 }),
      fc.array(fc.double({ min: 0.001, max: 5_000, noNaN: true }), { minLength: 1, maxLength: 20 }),
    )
    .map(([count, values]): ServiceSpan => {
      const sorted = values.sort((a, b) => a - b)
      const points = sorted.slice(0, -1).map((ms, i) => ({ percentile: (100 * i) / sorted.length, ms }))
      return { count, max: sorted.at(-1)!, points }
    })
  fc.assert(
    fc.property(spans, (span) => {
      const counts = bandCounts(span, latencyBandEdges(span.max))
      t.ok(counts.every((count) => count >= 0))
      return counts.reduce((sum, count) => sum + count, 0) === span.count
    }),
  )
  t.end()
})
