import { test } from 'tap'
import { EMPTY_HISTOGRAM, Histogram } from '../../../src/base/histogram.js'
import {
  LIVE_PERIOD_MS,
  LiveMerge,
  MOST_READERS,
  MOST_READERS_OF_CALLER,
} from '../../../src/telemetry/live/live-merge.js'
import {
  type LiveReport,
  type ScopeReport,
  scopeName,
  type WorkerReport,
} from '../../../src/telemetry/live/live-report.js'
import { QUANTILE_ROUNDS, RATE_ROUNDS } from '../../../src/telemetry/live/live-window.js'
import { FakeClock } from '../../support/timing/fake-clock.js'

const ALL = scopeName({ of: 'machine' })
const ACME = scopeName({ of: 'organization', organizationId: 'acme' })

const NOTHING: ScopeReport = {
  ...{
    calls: 0,
    failed: 0,
    aborted: 0,
    faults: {},
    promptTokens: 0,
    completionTokens: 0,
    cost: 0,
    byokCost: 0,
  },
  ...{ durationMs: EMPTY_HISTOGRAM, firstEventMs: EMPTY_HISTOGRAM, inFlight: 0, rows: [] },
}

function workerReport(more: Partial<WorkerReport> = {}): WorkerReport {
  return {
    ...{ pid: 7, uptimeS: 1, connections: 2, requests: 3, answers: [0, 0, 0, 0, 0] },
    loop: { utilization: 0.5, lag: { p50: 1, p99: 2, max: 3 } },
    pool: { threads: 1, queue: 0, queuedRounds: 0 },
    ...{ rss: 1, cpu: 0.25, overheadMs: EMPTY_HISTOGRAM, breakers: [] },
    ...more,
  }
}

function bench(workers: number[] = [0, 1]) {
  const clock = new FakeClock()
  const asked: [worker: number, scopes: readonly string[]][] = []
  const rested: number[] = []
  const sent: { worker: number; scope: string; text: string }[] = []
  const merge = new LiveMerge({
    clock,
    workers: () => workers,
    ask: (worker, scopes) => asked.push([worker, scopes]),
    rest: (worker) => rested.push(worker),
    send: (worker, frames) => {
      for (const [scope, text] of frames) sent.push({ worker, scope, text })
    },
  })
  /** Data of an event of the text that was sent last in a scope. */
  const latest = (scope: string, event: string) => {
    const text = sent.findLast((each) => each.scope === scope)!.text
    const found = text.split('\n\n').find((block) => block.startsWith(`event: ${event}\n`))
    return found === undefined ? null : JSON.parse(found.slice(found.indexOf('data: ') + 6))
  }
  const report = (
    scope: string,
    more: Partial<ScopeReport>,
    worker: WorkerReport | null = null,
  ): LiveReport => ({
    scopes: { [scope]: { ...NOTHING, ...more } },
    worker,
  })
  return { merge, clock, asked, rested, sent, latest, report, workers }
}

test('nothing runs while nobody reads: no timer, no question', (t) => {
  const { merge, clock, asked, rested } = bench()
  t.equal(clock.pending, 0)
  t.equal(merge.enter(0, ACME, 'key'), null)
  t.equal(clock.pending, 1)
  t.same(asked, [
    [0, [ACME]],
    [1, [ACME]],
  ])
  merge.leave(0, ACME, 'key')
  t.equal(clock.pending, 0)
  t.same(rested, [0, 1])
  clock.advance(10 * LIVE_PERIOD_MS)
  t.equal(asked.length, 2)
  t.end()
})

test('one text for all readers of a scope, once to each worker that has some', (t) => {
  const { merge, clock, sent, asked } = bench()
  for (const worker of [0, 0, 1]) t.equal(merge.enter(worker, ACME, `key ${worker}`), null)
  t.equal(asked.length, 2, 'readers that come later ask nothing more')
  clock.advance(LIVE_PERIOD_MS)
  t.same(
    sent.map(({ worker }) => worker),
    [0, 1],
  )
  t.equal(sent[0]!.text, sent[1]!.text)
  t.end()
})

test('rates are those of the last second over all workers, and quantiles those of the last five', (t) => {
  const { merge, clock, latest, report } = bench()
  merge.enter(0, ACME, 'key')
  const durationMs = new Histogram().merge(EMPTY_HISTOGRAM)
  durationMs.record(100)
  const more = { calls: 3, failed: 1, faults: { 'bad-gateway': 1 }, promptTokens: 10, cost: 2_000_000_000 }
  merge.receive(
    0,
    report(ACME, { ...more, inFlight: 2, durationMs: durationMs.snapshot(), rows: ['{"id":"a"}'] }),
  )
  merge.receive(1, report(ACME, { ...more, inFlight: 5, rows: ['{"id":"b"}'] }))
  clock.advance(LIVE_PERIOD_MS)
  t.match(latest(ACME, 'sample'), {
    ...{ seq: 1, calls_per_second: 12, failed_per_second: 4, prompt_tokens_per_second: 40 },
    ...{ dollars_per_second: 8, in_flight: 7, faults_per_second: { 'bad-gateway': 4 }, machine: null },
    latency_ms: { count: 1, max: 100 },
    first_event_ms: null,
  })
  t.same(latest(ACME, 'call'), { seq: 1, data: [{ id: 'a' }, { id: 'b' }] })
  clock.advance((RATE_ROUNDS - 1) * LIVE_PERIOD_MS)
  t.match(latest(ACME, 'sample'), { seq: RATE_ROUNDS, calls_per_second: 6, latency_ms: { count: 1 } })
  t.equal(latest(ACME, 'call'), null, 'a row is told once')
  clock.advance(LIVE_PERIOD_MS)
  t.match(latest(ACME, 'sample'), { calls_per_second: 0, faults_per_second: {}, latency_ms: { count: 1 } })
  clock.advance((QUANTILE_ROUNDS - RATE_ROUNDS) * LIVE_PERIOD_MS)
  t.match(latest(ACME, 'sample'), { latency_ms: null })
  t.end()
})

test('a worker that owes an answer is not asked again, and what it says late counts', (t) => {
  const { merge, clock, asked, latest, report } = bench()
  merge.enter(0, ALL, 'key')
  merge.receive(0, report(ALL, {}, workerReport()))
  clock.advance(LIVE_PERIOD_MS)
  t.same(
    asked.map(([worker]) => worker),
    [0, 1, 0],
  )
  t.match(latest(ALL, 'sample').machine.workers, [{ worker: 0, silent_ms: LIVE_PERIOD_MS }])
  clock.advance(3 * LIVE_PERIOD_MS)
  t.equal(asked.length, 3, 'both owe an answer')
  t.match(latest(ALL, 'sample').machine.workers, [{ worker: 0, silent_ms: 4 * LIVE_PERIOD_MS }])
  merge.receive(1, report(ALL, { calls: 1 }, workerReport({ pid: 8 })))
  clock.advance(LIVE_PERIOD_MS)
  t.match(latest(ALL, 'sample'), { calls_per_second: 1, machine: { workers: [{ pid: 7 }, { pid: 8 }] } })
  t.equal(asked.at(-1)![0], 1)
  t.end()
})

test('the machine is told to its own scope alone', (t) => {
  const { merge, clock, latest, report } = bench([0])
  merge.enter(0, ALL, 'operator')
  merge.enter(0, ACME, 'key')
  const overheadMs = new Histogram()
  overheadMs.record(2)
  const both = { ...report(ALL, { calls: 1 }).scopes, ...report(ACME, {}).scopes }
  const breakers = [{ endpoint: 'acme/one', state: 'open' }] as const
  const said = workerReport({ answers: [0, 5, 0, 2, 1], overheadMs: overheadMs.snapshot(), breakers })
  merge.receive(0, { scopes: both, worker: said })
  clock.advance(LIVE_PERIOD_MS)
  t.match(latest(ALL, 'sample').machine, {
    ...{
      requests_in_flight: 3,
      answers_per_second: 16,
      answers_4xx_per_second: 4,
      answers_5xx_per_second: 2,
    },
    ...{ breakers, overhead_ms: { count: 1, max: 2 } },
  })
  t.match(latest(ACME, 'sample'), { machine: null, calls_per_second: 0 })
  t.end()
})

test('an endpoint is named once, at the worst that any worker knows of it', (t) => {
  const { merge, clock, latest, report } = bench()
  merge.enter(0, ALL, 'key')
  const states = ['half-open', 'open'] as const
  for (const [worker, state] of states.entries()) {
    merge.receive(worker, report(ALL, {}, workerReport({ breakers: [{ endpoint: 'e', state }] })))
  }
  clock.advance(LIVE_PERIOD_MS)
  t.same(latest(ALL, 'sample').machine.breakers, [{ endpoint: 'e', state: 'open' }])
  t.end()
})

test('with a worker its readers go, its figures, and what it owed', (t) => {
  const { merge, clock, asked, sent, latest, report } = bench()
  merge.enter(0, ALL, 'key')
  merge.enter(1, ALL, 'key')
  for (const worker of [0, 1]) merge.receive(worker, report(ALL, { inFlight: 4 }, workerReport()))
  clock.advance(LIVE_PERIOD_MS)
  t.equal(latest(ALL, 'sample').in_flight, 8)
  sent.length = 0
  merge.workerDied(1)
  clock.advance(LIVE_PERIOD_MS)
  t.same(
    sent.map(({ worker }) => worker),
    [0],
  )
  t.match(latest(ALL, 'sample'), { in_flight: 4, machine: { workers: [{ worker: 0 }] } })
  t.same(asked.at(-1), [1, [ALL]], 'the one that takes its place is asked')
  merge.workerDied(0)
  t.equal(clock.pending, 0, 'the last readers have gone')
  t.end()
})

test('readers are bounded, of one caller and in all, and a place is free again', (t) => {
  const { merge } = bench()
  for (let n = 0; n < MOST_READERS_OF_CALLER; n++) t.equal(merge.enter(n % 2, ACME, 'greedy'), null)
  t.equal(merge.enter(0, ALL, 'greedy'), 'caller')
  merge.leave(1, ACME, 'greedy')
  t.equal(merge.enter(0, ACME, 'greedy'), null)
  for (let n = MOST_READERS_OF_CALLER; n < MOST_READERS; n++) t.equal(merge.enter(0, ACME, `key ${n}`), null)
  t.equal(merge.enter(1, ACME, 'late'), 'server')
  merge.leave(1, ACME, 'nobody that is there')
  merge.leave(0, ACME, 'key 8')
  t.equal(merge.enter(1, ACME, 'late'), null)
  t.end()
})
