import { test } from 'tap'
import { SeriesStore } from '../../../src/lab/control/series-store.js'
import { arrivalsPerStep, mergeSeries } from '../../../src/lab/summary/series.js'
import type { WorkerSeriesSnapshot } from '../../../src/lab/worker-snapshots.js'

function seriesPart(
  worker: number,
  first: number,
  arrivals: readonly number[],
  name = 'read',
): WorkerSeriesSnapshot {
  const zeros = arrivals.map(() => 0)
  return {
    worker,
    first,
    inFlightMax: arrivals,
    connections: zeros.map(() => 2),
    lagMax: zeros.map(() => worker + 1),
    cpuShare: zeros.map(() => 0.25),
    operations: {
      [name]: {
        arrivals,
        completions: arrivals,
        errors: zeros,
        inFlightMax: arrivals,
        histograms: arrivals.map((n) => (n > 0 ? [400, n] : [])),
      },
    },
  }
}

test('steps of one worker grow together, and operations that come later have had nothing before', async (t) => {
  const store = new SeriesStore(1_000)
  t.equal(store.nextStep(0), 10)
  store.append(seriesPart(0, 10, [1, 2]))
  store.append(seriesPart(0, 12, [3], 'list'))
  t.equal(store.nextStep(0), 13)
  const [whole] = store.parts()
  t.same(whole!.operations.list!.arrivals, [0, 0, 3])
  t.same(arrivalsPerStep(store.parts(), 1_000, 1_300), [1, 2, 3])
})

test('a worker that was not alive had nothing, and what is told twice counts once', async (t) => {
  const store = new SeriesStore(1_000)
  store.append(seriesPart(0, 12, [5]))
  store.append(seriesPart(0, 10, [9, 9, 9]))
  t.same(arrivalsPerStep(store.parts(), 1_000, 1_300), [0, 0, 5])
})

test('only steps that all workers have told are complete', async (t) => {
  const store = new SeriesStore(1_000)
  store.append(seriesPart(0, 10, [1, 1, 1]))
  store.append(seriesPart(1, 10, [1]))
  t.equal(store.completeSteps([0, 1]), 11)
  t.equal(store.completeSteps([0, 1, 2]), 10, 'one that has told nothing knows more')
})

test('workers add up step by step; lag is the worst one', async (t) => {
  const parts = [seriesPart(0, 10, [1, 2, 3, 4]), seriesPart(1, 10, [10, 20, 30, 40])]
  const question = { fromMs: 1_000, toMs: 1_400, originMs: 1_000, stepMs: 100 }
  t.same(
    mergeSeries(parts, question).map(({ atMs, arrivals, connections, lagMax, cpuShare, inFlightMax }) => [
      atMs,
      arrivals,
      connections,
      lagMax,
      cpuShare,
      inFlightMax,
    ]),
    [11, 22, 33, 44].map((n, i) => [i * 100, n, 4, 2, 0.5, n]),
  )
  t.same(
    mergeSeries(parts, { ...question, stepMs: 200 }).map(({ atMs, arrivals }) => [atMs, arrivals]),
    [
      [0, 33],
      [200, 77],
    ],
  )
  t.same(
    mergeSeries(parts, { ...question, operation: 'hash' }).map(({ arrivals, p50 }) => [arrivals, p50]),
    [
      [0, 0],
      [0, 0],
      [0, 0],
      [0, 0],
    ],
  )
})

test('nothing told is no steps', async (t) => {
  const store = new SeriesStore(1_000)
  const toMs = store.completeSteps([]) * 100
  t.same(mergeSeries(store.parts(), { fromMs: 1_000, toMs, originMs: 1_000, stepMs: 100 }), [])
})

test('percentiles of a step are those of its few calls, also where each is the last one', async (t) => {
  for (const n of [1, 2, 99, 100, 5_000]) {
    const [step] = mergeSeries([seriesPart(0, 10, [n])], {
      fromMs: 1_000,
      toMs: 1_100,
      originMs: 1_000,
      stepMs: 100,
    })
    const { p50, p99 } = step!
    // The half bucket 400 holds 12.288 to 12.544 ms.
    t.ok(p50 >= 12.288 && p99 <= 12.544 && p50 <= p99, `${n} calls: ${p50} and ${p99}`)
  }
})
