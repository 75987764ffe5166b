import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { LabRecorder } from '../../../src/lab/recorder/recorder.js'
import { mergeGaps, mergeWorkerParts } from '../../../src/lab/summary/merge.js'
import { summarizeDistribution, THINGS } from '../../../src/lab/summary/quantiles.js'
import type { LabRunPlan, OperationWindowSnapshot, WindowChoice } from '../../../src/lab/worker-snapshots.js'

const MEASURE: WindowChoice = { spans: ['measure'] }
const ALL: WindowChoice = { spans: ['warm-up', 'measure', 'after'] }
const TO_MONOTONIC = 1_000_000

/** A recorder and the clock it goes by; both begin at 0. */
class RecorderScene {
  now = 0
  cpu = 0
  readonly recorder = new LabRecorder({
    worker: 3,
    pid: 42,
    now: () => this.now,
    toMonotonic: TO_MONOTONIC,
    cpuMs: () => this.cpu,
  })

  begin(plan: Partial<LabRunPlan> = {}): void {
    this.recorder.beginRun({
      id: 'run',
      startMs: this.now + TO_MONOTONIC,
      warmupMs: 0,
      measureMs: 10_000,
      sliceMs: 1_000,
      connections: null,
      byHeader: false,
      ...plan,
    })
  }

  /** A call that arrives now; the returned function ends it at the time of then. */
  call(operation = 'read', status = 200, aborted = false): () => void {
    const at = this.now
    const recorder = this.recorder.operation(operation)
    recorder.recordArrival(at)
    return () => recorder.recordSettled(this.now - at, status, 10, 100, aborted, at)
  }

  /** Calls that end at once, at these moments. */
  callAt(...moments: readonly number[]): void {
    for (const at of moments) {
      this.now = at
      this.call()()
    }
  }

  of(choice: WindowChoice = MEASURE, operation = 'read'): OperationWindowSnapshot {
    return this.recorder.readRun('run', choice)!.operations.find(({ name }) => name === operation)!
  }
}

test('a call belongs to the window in which it arrived, whenever it ends', async (t) => {
  const scene = new RecorderScene()
  scene.begin({ warmupMs: 1_000 })
  scene.now = 900
  const end = scene.call()
  scene.now = 1_500
  t.equal(scene.of({ spans: ['warm-up'] }).inFlight, 1)
  end()
  const warmUp = scene.of({ spans: ['warm-up'] })
  t.match(warmUp, {
    arrivals: 1,
    completed: 1,
    inFlight: 0,
    bytesIn: 10,
    bytesOut: 100,
    statuses: [[200, 1]],
  })
  t.equal(warmUp.service.max, 600)
  t.same([scene.of().arrivals, scene.of().completed], [0, 0], 'the measurement has only seen it under way')
  t.equal(scene.of().area, 500, 'for half a second')
})

test('a window without an arrival has nothing of the operation', async (t) => {
  const scene = new RecorderScene()
  scene.begin()
  scene.callAt(10)
  scene.now = 1_500
  t.same(scene.recorder.readRun('run', { spans: ['measure'], slices: [1, 2] })!.operations, [])
  t.equal(scene.of().arrivals, 1)
})

test('a call on the edge belongs to the window that begins there', async (t) => {
  const scene = new RecorderScene()
  scene.begin()
  scene.callAt(999.999, 1_000)
  t.equal(scene.of({ spans: ['measure'], slices: [0, 1] }).arrivals, 1)
  t.equal(scene.of({ spans: ['measure'], slices: [1, 2] }).arrivals, 1)
})

test('gaps, in flight and its integral are those of the arrivals', async (t) => {
  const scene = new RecorderScene()
  scene.begin()
  const ends: (() => void)[] = []
  for (const at of [100, 110, 130]) {
    scene.now = at
    ends.push(scene.call())
  }
  scene.now = 200
  for (const end of ends) end()
  const part = scene.of()
  t.equal(part.area, 10 + 2 * 20 + 3 * 70)
  t.equal(part.peak, 3)
  t.same([part.gap.count, part.gap.sum, part.gapSquares], [2, 30, 500])
  t.same([part.firstAt, part.lastAt], [100 + TO_MONOTONIC, 130 + TO_MONOTONIC])
  t.same(summarizeDistribution(part.seen, THINGS).percentiles.p50, 1, 'the second one saw one')
  t.same(scene.recorder.readRun('run', MEASURE)!.total.area, part.area)
})

test('the gap before the first call of a run means nothing', async (t) => {
  const scene = new RecorderScene()
  scene.call()()
  scene.now = 5_000
  scene.begin()
  scene.callAt(6_000)
  t.equal(scene.of().gap.count, 0)
})

test('a worker that hears late of a run says so and begins then', async (t) => {
  const scene = new RecorderScene()
  scene.now = 690
  const end = scene.call()
  scene.now = 700
  scene.begin({ startMs: TO_MONOTONIC + 500 })
  scene.now = 710
  end()
  scene.call()()
  const part = scene.recorder.readRun('run', ALL)!
  t.same(part.marks, ['worker 3 joined 200.0 ms late'])
  t.equal(part.operations[0]!.arrivals, 1, 'what was there before is not its own')
  t.equal(part.fromMs, 700 + TO_MONOTONIC)
})

test('the end of a run closes its window, and calls under way are counted in it when they end', async (t) => {
  const scene = new RecorderScene()
  scene.begin()
  scene.now = 100
  const end = scene.call()
  scene.now = 200
  scene.recorder.endRun('run')
  scene.now = 300
  scene.call()
  t.match(scene.of(), { arrivals: 1, inFlight: 1 })
  end()
  t.match(scene.of(), { arrivals: 1, inFlight: 0, completed: 1 })
  t.equal(scene.recorder.readRun('run', MEASURE)!.toMs, 200 + TO_MONOTONIC)
})

test('connections count in the window in which they open and close, and while they are open', async (t) => {
  const scene = new RecorderScene()
  scene.recorder.recordConnection(1)
  scene.now = 1_000
  scene.begin()
  scene.now = 1_400
  scene.recorder.recordConnection(1)
  scene.now = 1_900
  scene.recorder.recordConnection(-1)
  scene.now = 2_000
  const { connections } = scene.recorder.readRun('run', MEASURE)!
  t.same(connections, { opened: 1, closed: 1, peak: 2, area: 400 + 2 * 500 + 100, now: 1 })
})

test('time is busy while at least 95 percent of the connections have a call', async (t) => {
  const scene = new RecorderScene()
  for (let i = 0; i < 20; i++) scene.recorder.recordConnection(1)
  scene.begin({ connections: 20 })
  scene.now = 100
  const ends = Array.from({ length: 19 }, () => scene.call())
  scene.now = 400
  ends[0]!()
  scene.now = 500
  t.equal(scene.recorder.readRun('run', MEASURE)!.total.busy, 300)
})

test('a stall tells what arrived during it and after it', async (t) => {
  const scene = new RecorderScene()
  scene.begin()
  scene.recorder.stalls.planStall('hold', 1_000, 2_000)
  scene.callAt(900, 1_000, 1_500, 1_999, 2_000, 2_004, 2_006, 2_099, 2_101)
  scene.now = 2_200
  const [stall] = scene.recorder.readRun('run', MEASURE)!.stalls
  t.match(stall, { kind: 'hold', arrivalsDuring: 3, arrivals5msAfter: 2, arrivals100msAfter: 4 })
  t.same([stall!.startMs, stall!.endMs], [1_000 + TO_MONOTONIC, 2_000 + TO_MONOTONIC])
})

test('a stall that was called off ends then, or never was', async (t) => {
  const scene = new RecorderScene()
  scene.begin()
  const callOff = scene.recorder.stalls.planStall('hold', 100, 1_000)
  const forget = scene.recorder.stalls.planStall('hold', 500, 1_000)
  scene.now = 300
  scene.recorder.catchUp()
  callOff(300)
  forget(300)
  scene.now = 1_500
  const { stalls } = scene.recorder.readRun('run', MEASURE)!
  t.same(
    stalls.map(({ startMs, endMs }) => [startMs - TO_MONOTONIC, endMs! - TO_MONOTONIC]),
    [[100, 300]],
  )
})

test('the series has a row for every step, empty ones included', async (t) => {
  const scene = new RecorderScene()
  scene.now = 50
  const end = scene.call()
  scene.now = 250
  end()
  scene.call('read', 500)()
  scene.now = 400
  const { first, operations, inFlightMax } = scene.recorder.readSeries(0, 100)
  t.equal(first, TO_MONOTONIC / 100)
  t.same(operations.read!.arrivals, [1, 0, 1, 0])
  t.same(operations.read!.completions, [0, 0, 2, 0])
  t.same(operations.read!.errors, [0, 0, 1, 0])
  t.same(operations.read!.inFlightMax, [1, 1, 1, 0])
  t.same(inFlightMax, [1, 1, 1, 0])
  t.same(
    operations.read!.histograms.map((pairs) => pairs.filter((_, i) => i % 2 === 1)),
    [[], [], [1, 1], []],
  )
})

test('the series keeps ten minutes', async (t) => {
  const scene = new RecorderScene()
  scene.call()()
  scene.now = 700_000
  const { first, connections, operations } = scene.recorder.readSeries(0, 10_000)
  t.equal(first, (TO_MONOTONIC + 700_000) / 100 - 5_999)
  t.equal(connections.length, 5_999)
  t.ok(operations.read!.arrivals.every((n) => n === 0))
})

/** Things that happen, each after a while. */
const wait = fc.oneof(
  fc.constant(0),
  fc.double({ min: 0, max: 5, noNaN: true }),
  fc.integer({ min: 0, max: 3_000 }),
)
const happens = <W extends string, T extends object>(weight: number, what: W, more: fc.Arbitrary<T>) => {
  const arbitrary = fc.tuple(wait, more).map(([ms, details]) => ({ wait: ms, what, ...details }))
  return { weight, arbitrary }
}
const nothingMore = fc.constant({})
const event = fc.oneof(
  happens(10, 'arrive', fc.record({ operation: fc.constantFrom('a', 'b') })),
  happens(
    10,
    'end',
    fc.record({ which: fc.nat(1_000), status: fc.constantFrom(0, 200, 404, 503), aborted: fc.boolean() }),
  ),
  happens(1, 'begin', fc.record({ warmupMs: fc.constantFrom(0, 700), sliceMs: fc.constantFrom(100, 1_000) })),
  happens(1, 'stop', nothingMore),
  happens(3, 'look', nothingMore),
)

interface ModelCall {
  readonly at: number
  readonly operation: string
  how: 'under way' | 'completed' | 'aborted'
}

/** The same as the recorder should tell: a list of all calls, and the edges of one run. */
class CallListModel {
  readonly calls: ModelCall[] = []
  run: { start: number; from: number; to: number; warmupMs: number; sliceMs: number } | null = null

  /** Throws where the recorder tells something else. */
  compare(recorder: LabRecorder): void {
    if (this.run === null) return
    const { start, from, to, warmupMs, sliceMs } = this.run
    const measure = start + warmupMs
    const spans: [WindowChoice, number, number][] = [
      [{ spans: ['warm-up'] }, from, Math.max(from, measure)],
      [MEASURE, Math.max(from, measure), measure + 10_000],
      [{ spans: ['measure'], slices: [1, 3] }, measure + sliceMs, measure + 3 * sliceMs],
      [ALL, from, Number.POSITIVE_INFINITY],
    ]
    for (const [choice, begin, end] of spans) {
      const part = recorder.readRun('run', choice)
      for (const name of ['a', 'b']) {
        const found = part?.operations.find((each) => each.name === name)
        const { arrivals = 0, completed = 0, aborted = 0, inFlight = 0, statuses = [] } = found ?? {}
        const calls = this.calls.filter(({ at, operation }) => {
          return at >= begin && at < Math.min(end, to) && operation === name
        })
        const count = (how: ModelCall['how']): number => calls.filter((call) => call.how === how).length
        const answers = statuses.reduce((sum, [, n]) => sum + n, 0)
        assert.deepEqual(
          { arrivals, completed, aborted, inFlight, answers, timed: found?.service.count ?? 0 },
          {
            arrivals: calls.length,
            completed: count('completed'),
            aborted: count('aborted'),
            inFlight: count('under way'),
            answers: count('completed'),
            timed: count('completed'),
          },
          `${name} ${JSON.stringify(choice)}`,
        )
      }
    }
  }
}

test('whatever happens in whatever order, every snapshot is what a list of all calls says', async (t) => {
  const property = fc.property(fc.array(event, { maxLength: 120 }), (events) => {
    const scene = new RecorderScene()
    const model = new CallListModel()
    const open: ModelCall[] = []
    for (const each of events) {
      scene.now += each.wait
      switch (each.what) {
        case 'arrive': {
          scene.call(each.operation)
          const call: ModelCall = { at: scene.now, operation: each.operation, how: 'under way' }
          model.calls.push(call)
          open.push(call)
          break
        }
        case 'end': {
          const [chosen] = open.splice(each.which % Math.max(1, open.length), 1)
          if (chosen === undefined) break
          const aborted = each.aborted || each.status === 0
          const { at, operation } = chosen
          scene.recorder.operation(operation).recordSettled(scene.now - at, each.status, 1, 1, aborted, at)
          chosen.how = aborted ? 'aborted' : 'completed'
          break
        }
        case 'begin':
          if (model.run !== null) break
          scene.begin({ warmupMs: each.warmupMs, sliceMs: each.sliceMs })
          // What arrived at this very moment came before.
          model.run = { ...each, start: scene.now, from: scene.now + 0.0005, to: Number.POSITIVE_INFINITY }
          scene.now += 0.01
          break
        case 'stop':
          if (model.run?.to !== Number.POSITIVE_INFINITY) break
          scene.recorder.endRun('run')
          model.run.to = scene.now + 0.0005
          scene.now += 0.01
          break
        case 'look':
          model.compare(scene.recorder)
      }
    }
    model.compare(scene.recorder)
  })
  fc.assert(property, { numRuns: 1_000 })
  t.pass()
})

test('slices of a measurement add up to it', async (t) => {
  const scene = new RecorderScene()
  scene.begin()
  for (let i = 0; i < 500; i++) {
    scene.now = i * 17
    scene.call('read', i % 7 === 0 ? 503 : 200)()
  }
  scene.now = 10_000
  const slices = Array.from({ length: 10 }, (_, i) =>
    scene.recorder.readRun('run', { spans: ['measure'], slices: [i, i + 1] }),
  )
  const whole = scene.recorder.readRun('run', MEASURE)!
  const merged = mergeWorkerParts(slices.map((slice) => slice!))
  t.same(merged.operations, whole.operations)
  t.same(merged.connections, whole.connections)
})

test('the moments of arrivals come back as they were, as long as they are kept', async (t) => {
  const scene = new RecorderScene()
  scene.callAt(10, 20, 25, 40)
  const times = scene.recorder.arrivalTimes(TO_MONOTONIC + 20, TO_MONOTONIC + 40)!
  t.equal(times.firstMs, TO_MONOTONIC + 20)
  t.same(mergeGaps([times, { firstMs: TO_MONOTONIC + 22, gaps: '' }]).gap.count, 2)
  t.same(mergeGaps([times, { firstMs: TO_MONOTONIC + 22, gaps: '' }]).gapSquares, 4 + 9)
  t.same(scene.recorder.arrivalTimes(TO_MONOTONIC + 41, TO_MONOTONIC + 99), { firstMs: null, gaps: '' })
  for (let i = 0; i < 2 ** 17; i++) scene.call()()
  t.equal(scene.recorder.arrivalTimes(TO_MONOTONIC + 20, TO_MONOTONIC + 40), null)
})
