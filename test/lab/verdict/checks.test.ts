import fc from 'fast-check'
import { test } from 'tap'
import type {
  LoadToolReport,
  RunSummary,
  SeriesStep,
  ValidityCheck,
  ValidityCheckId,
} from '../../../src/lab/run-summary.js'
import { judgeReport } from '../../../src/lab/verdict/judge.js'
import { formatValidityReport } from '../../../src/lab/verdict/validity-report.js'
import { EMPTY_DISTRIBUTION, quantilesOf, reportOf, runOf, stallOf } from './synthetic-run.js'

function checkOf(
  id: ValidityCheckId,
  truth: RunSummary,
  report: LoadToolReport,
  series: readonly SeriesStep[] = [],
): ValidityCheck {
  return judgeReport(truth, series, report).checks.find((check) => check.id === id)!
}

const CLEAN = { seconds: 10, arrivals: 2000 }
const OPEN_200 = { done: 2000, durationS: 10, loop: 'open', rate: 200, connections: 20 } as const

type RunFigures = Parameters<typeof runOf>[0]

/** The check and its result, what it is put to, what its reason says; figures beside what a clean run has. */
type CheckCase = readonly [
  finding: `${ValidityCheckId} ${ValidityCheck['result']}`,
  name: string,
  reason: RegExp,
  report?: Partial<LoadToolReport> | { rate: undefined },
  truth?: Partial<RunFigures>,
]

const LOST_100 = { done: 1900, statuses: { '200': 1900 } }
const POISSON_200 = { loop: 'open', rate: 200, pattern: 'poisson' } as const
const ERRORS_200 = { statuses: { '200': 1800, '503': 200 }, faults: { error: 200 } }

const CASES: readonly CheckCase[] = [
  ['V1 ok', 'as many answers as arrivals', /2000 requests, the client 2000/],
  [
    'V1 fail',
    'more answers than arrivals',
    /counted 1746 requests, the client 1926: 180 of them never reached the server/,
    { done: 1926, statuses: {} },
    { arrivals: 1746 },
  ],
  [
    'V1 fail',
    'answers that the tool lost',
    /counted 2000 requests, the client 1900: 100 are gone, where 20 may be under way/,
    LOST_100,
  ],
  [
    'V1 ok',
    'pipelined requests under way at the stop',
    /100 more, where 200 may be under way/,
    { ...LOST_100, pipelining: 10 },
  ],
  [
    'V1 ok',
    'failed requests, which the tool counts as such',
    /100 failed/,
    { ...LOST_100, errors: { reset: 100 } },
  ],
  ['V1 fail', 'errors taken for successes', /counted 1800 2xx answers, the client 2000/, {}, ERRORS_200],
  [
    'V1 ok',
    'classes of statuses',
    /2000 requests, the client 2000/,
    { statuses: { '2xx': 1900, '4xx': 100 } },
    { statuses: { '200': 1500, '201': 400, '404': 100 } },
  ],
  [
    'V1 fail',
    'a class that holds errors of the server',
    /counted 1800 2xx answers, the client 2000/,
    { statuses: { '2xx': 2000 } },
    ERRORS_200,
  ],
  ['V1 warn', 'requests that were only meant to be sent', /sent 4000 requests, 2000 arrived/, { sent: 4000 }],
  [
    'V1 fail',
    'statuses that do not add up',
    /add up to 1500, its answers to 2000/,
    { statuses: { '200': 1500 } },
  ],
  [
    'V2 warn',
    'a drain in the divisor',
    /162\.6 requests\/s, the server answered 167\/s over 10\.0 s \(−2\.6 %\)/,
    { rps: 162.6, done: 1670, statuses: {} },
    { arrivals: 1670 },
  ],
  ['V2 fail', 'another rate', /250 requests\/s.*200\/s/, { rps: 250 }],
  ['V2 fail', 'a rate that no drain explains', /180 requests\/s.*200\/s/, { rps: 180 }],
  [
    'V2 warn',
    'the end of a tool that waits for answers of a second',
    /184 requests\/s.*200\/s/,
    { rps: 184 },
    { service: quantilesOf(2000, { p50: 0.02, p99: 900 }, 5, 1000) },
  ],
  [
    'V2 fail',
    'a rate that one slow answer does not explain',
    /184 requests\/s.*200\/s/,
    { rps: 184 },
    { service: quantilesOf(2000, { p50: 0.02, p99: 9 }, 5, 1000) },
  ],
  ['V3 n/a', 'no latency at all', /no latency/],
  [
    'V3 warn',
    'a median of a step',
    /p50 1 ms is below 10 steps of its 1 ms: p50 cannot be read/,
    { quantum: 1, percentiles: { p50: 1, p99: 30 } },
  ],
  ['V3 fail', 'a mean under the steps', /mean 10 ms/, { quantum: 10, mean: 10 }],
  [
    'V4 fail',
    'fewer requests under way than the server saw',
    /makes 10\.00 requests under way, the server saw 30\.00|makes 10 requests under way, the server saw 30/,
    { mean: 50 },
    { inFlightMean: 30 },
  ],
  ['V5 fail', 'a percentile that falls', /p99 5 ms is below p90 9 ms/, { percentiles: { p90: 9, p99: 5 } }],
  [
    'V5 fail',
    'a percentile above the maximum',
    /p99 50 ms exceeds the maximum 40 ms/,
    { percentiles: { p99: 50 }, max: 40 },
  ],
  [
    'V5 fail',
    'a mean that no maximum explains',
    /mean 30 ms exceeds 2\.98 ms/,
    { percentiles: { p99: 2 }, max: 100, mean: 30 },
  ],
  [
    'V6 ok',
    'a closed loop at its own pace in a stall',
    /as it says/,
    { loop: 'closed', rate: undefined },
    { stalls: [stallOf(2, 1, { during: 20 })] },
  ],
  [
    'V6 ok',
    'an open loop that was not stopped',
    /200 of 200 due requests came during the stall \(openness 1\.00\)/,
    {},
    { stalls: [stallOf(2, 1, { during: 200 })] },
  ],
  ['V6 n/a', 'a stall too short to tell', /10 or more due/, {}, { stalls: [stallOf(2, 0.01)] }],
  [
    'V6 ok',
    'a Poisson schedule that had a few less in the stall by chance',
    /160 of 200 due requests came during the stall \(openness 0\.80\): an open loop/,
    {},
    {
      stalls: [stallOf(2, 1, { during: 160 })],
      expect: POISSON_200,
    },
  ],
  [
    'V6 fail',
    'a Poisson schedule that chance does not explain',
    /150 of 200 due requests .* calls itself an open loop and is a closed one/,
    {},
    {
      stalls: [stallOf(2, 1, { during: 150 })],
      expect: POISSON_200,
    },
  ],
  [
    'V6 n/a',
    'a stall too short to tell in a Poisson schedule',
    /36 or more due/,
    {},
    {
      stalls: [stallOf(2, 0.1, { during: 20 })],
      expect: POISSON_200,
    },
  ],
  [
    'V7 fail',
    'requests that never came',
    /1800 requests arrived of 2000 due: 200 are missing/,
    { done: 1800, statuses: {} },
    { arrivals: 1800 },
  ],
  ['V8 warn', 'a histogram that ends early', /1000 samples of 2000 answers/, { samples: 1000 }],
  [
    'V8 ok',
    'a histogram with the requests that were given up',
    /2000 samples of 1900 answers/,
    { ...LOST_100, errors: { timeout: 100 }, samples: 2000 },
  ],
  [
    'V8 fail',
    'a histogram with more than was answered or given up',
    /holds 2100 samples of 1900 answers/,
    { ...LOST_100, errors: { timeout: 100 }, samples: 2100 },
  ],
  [
    'V9 fail',
    'a timeout under a stall',
    /timeout of 500 ms is not above the longest wait at the server, 1000 ms/,
    { censor: 500 },
    { stalls: [stallOf(2, 1, { during: 200 })] },
  ],
  ['V9 ok', 'a timeout far away', /30000 ms is above/, { censor: 30_000 }],
  ['V10 ok', 'a generator at rest', /used 20 % of its 1 core, below 80 %/],
  ['V10 warn', 'a busy generator', /90 %.*80 %/, { cpuShare: 0.9 }],
  ['V10 fail', 'a full generator', /99 %/, { cpuShare: 0.99 }],
  [
    'V10 ok',
    'a generator that spins, on time',
    /sent on time \(p99 0\.4 ms late\)/,
    { cpuShare: 0.99, latenessP99: 0.4 },
  ],
  ['V10 n/a', 'CPU time nobody measured', /not measured/, { cpuCores: 0 }],
  [
    'V11 fail',
    'requests sent late, by their headers',
    /left 13 ms or more after it was due, the limit is 1 ms/,
    { latenessP99: 0.1 },
    { lateness: quantilesOf(2000, { p50: 1, p99: 13 }) },
  ],
  ['V11 n/a', 'no due times', /does not tell/],
  ['V12 ok', 'even gaps', /constant: dispersion 0\.05/],
  ['V12 ok', 'Poisson gaps', /poisson: dispersion 1\.05/, {}, { dispersion: 1.05, cv: 0.98 }],
  [
    'V12 fail',
    'Poisson where even gaps were expected',
    /poisson, where constant was expected/,
    {},
    { dispersion: 1.05, cv: 0.98, expect: { loop: 'open', rate: 200, pattern: 'constant' } },
  ],
  ['V12 warn', 'even counts of uneven gaps', /neither/, {}, { dispersion: 0.1, cv: 2 }],
  [
    'V13 warn',
    'twice the connections',
    /20 connections asked for, at most 40 at once/,
    {},
    { connections: 40 },
  ],
  ['V13 warn', 'a connection for each request', /1602 opened: they did not stay open/, {}, { opened: 1602 }],
  [
    'V14 fail',
    'too few connections for the rate',
    /connection-limited.*90 % of the time, 600 of 2000.*need 91 connections, 20 were given/,
    { done: 600, statuses: {}, connections: 20 },
    { arrivals: 600, shareBusy: 0.9, service: quantilesOf(600, { p50: 300, p99: 496 }, 300, 500) },
  ],
  ['V15 fail', 'a marked run', /marked: worker 2 died/, {}, { marks: ['worker 2 died after 3 s'] }],
  [
    'V15 fail',
    'errors that nobody ordered',
    /answered 30 errors, of which 10 were made on purpose/,
    { statuses: { '200': 1970, '503': 30 } },
    { statuses: { '200': 1970, '503': 30 }, faults: { error: 10 } },
  ],
  [
    'V15 fail',
    'a loop that hardly turns',
    /lag 300 ms.*limit is 100 ms/,
    {},
    { lag: quantilesOf(100, { p50: 50, p99: 300 }) },
  ],
]

for (const [finding, name, reason, report = {}, truth] of CASES) {
  const [id, result] = finding.split(' ') as [ValidityCheckId, ValidityCheck['result']]
  test(`${id} on ${name}: ${result}`, async (t) => {
    const { rate, ...given } = { ...OPEN_200, statuses: { '200': 2000 }, ...report }
    const found = checkOf(
      id,
      runOf({ ...CLEAN, ...truth }),
      reportOf({ ...given, ...(rate !== undefined && { rate }) }),
    )
    t.equal(found.result, result, found.reason)
    t.match(found.reason, reason)
  })
}

/** Steps of 100 ms with these arrivals, all answered at once. */
function seriesOf(arrivals: readonly number[], p50 = (_index: number) => 0.5): SeriesStep[] {
  return arrivals.map((count, index) => ({
    atMs: index * 100,
    arrivals: count,
    completions: count,
    errors: 0,
    inFlightMax: 1,
    connections: 20,
    lagMax: 0.2,
    cpuShare: 0.1,
    p50: p50(index),
    p99: 1,
  }))
}

test('a rate is compared over the time in which the load was on, not over the whole window', async (t) => {
  const series = seriesOf([...Array(10).fill(0), ...Array(80).fill(20), ...Array(10).fill(0)])
  const truth = runOf({ seconds: 10, arrivals: 1600 })
  const report = reportOf({ done: 1600, durationS: 8, loop: 'open', rate: 200 })
  const { result, reason } = checkOf('V2', truth, report, series)
  t.equal(result, 'ok', reason)
  t.match(reason, /200\/s over 8\.0 s/)
})

test("a drain at the end of the client's time is no time in which requests were due", async (t) => {
  const series = seriesOf([...Array(100).fill(10), 0, 0, 0, 0])
  const truth = runOf({ seconds: 10.4, arrivals: 1000 })
  const report = reportOf({ done: 1000, durationS: 10.35, loop: 'open', rate: 100 })
  t.equal(checkOf('V7', truth, report, series).result, 'ok')
})

test('a tool that sends once a second is active until its next burst would be due', async (t) => {
  const series = seriesOf(Array.from({ length: 80 }, (_, index) => (index % 10 === 0 ? 200 : 0)))
  const truth = runOf({ seconds: 8, arrivals: 1600, dispersion: 130 })
  const report = reportOf({ done: 1600, durationS: 8, rate: 200 })
  t.equal(checkOf('V2', truth, report, series).result, 'ok')
  t.match(checkOf('V12', truth, report, series), { result: 'fail', reason: /bursty: dispersion 1\d\d/ })
})

test('a stall does not make a pattern bursty: its steps and what follows are left out', async (t) => {
  const stalled: number[] = Array.from({ length: 80 }, (_, index) => (index > 30 && index < 40 ? 0 : 20))
  stalled[30] = 20
  stalled[40] = 200
  const truth = runOf({
    seconds: 8,
    arrivals: 1600,
    dispersion: 25,
    stalls: [stallOf(3, 1, { during: 20, after5: 180 })],
  })
  const report = reportOf({ done: 1600, durationS: 8, rate: 200, mean: 12 })
  t.match(checkOf('V12', truth, report, seriesOf(stalled)), {
    result: 'ok',
    reason: /constant: dispersion 0\.00/,
  })
})

test('a server that is still getting faster has not been warmed up', async (t) => {
  const steps = Array(100).fill(2000)
  const truth = runOf({ seconds: 10, arrivals: 200_000 })
  const report = reportOf({ done: 200_000, durationS: 10 })
  const cold = checkOf(
    'V16',
    truth,
    report,
    seriesOf(steps, (index) => (index < 30 ? 2 : 1)),
  )
  t.match(cold, { result: 'warn', reason: /p50 of 2 ms, the last 2000 and 1 ms: the warm-up was too short/ })
  t.equal(checkOf('V16', truth, report, seriesOf(steps)).result, 'ok')
  t.equal(checkOf('V16', truth, report).result, 'n/a')
})

test('a hold of every worker counts once, and one of two workers stops half of the requests', async (t) => {
  const both = runOf({
    seconds: 8,
    arrivals: 1600,
    stalls: [stallOf(3, 1, { during: 100, worker: 1 }), stallOf(3, 1, { during: 100, worker: 2 })],
  })
  const two = { ...both, workers: [both.workers[0]!, { ...both.workers[0]!, worker: 2 }] }
  const report = reportOf({
    done: 1600,
    durationS: 8,
    loop: 'open',
    rate: 200,
    percentiles: { p99: 920 },
  })
  t.match(checkOf('V6', two, report).reason, '200 of 200 due')
  t.equal(checkOf('V7', two, report).result, 'ok')
  const half = { ...two, stalls: [stallOf(3, 1, { during: 100, worker: 1 })] }
  t.match(checkOf('V6', half, report).reason, '100 of 100 due')
  const low = reportOf({ ...report, percentiles: { p99: 700 } })
  t.match(checkOf('V7', half, low).reason, /p99 700 ms, where the schedule saw 840 ms/)
})

test('a hold of requests that are slow anyway waits for the end and then takes as long as ever', async (t) => {
  const percentiles = { p50: 310, p75: 410, p90: 480, p95: 900, p99: 1320, 'p99.9': 1450 }
  const truth = runOf({
    seconds: 20,
    arrivals: 2000,
    service: quantilesOf(2000, percentiles, 340, 1490),
    stalls: [stallOf(5, 1, { during: 100 })],
  })
  const report = reportOf({
    done: 2000,
    durationS: 20,
    loop: 'open',
    rate: 100,
    percentiles: { p50: 310, p99: 1200 },
  })
  t.equal(checkOf('V7', truth, report).result, 'ok')
  const blind = reportOf({ ...report, percentiles: { p50: 310, p99: 500 } })
  t.match(checkOf('V7', truth, blind), {
    result: 'fail',
    reason: /p99 500 ms, where the schedule saw 1(09|10)\d ms/,
  })
})

test('a run in which nothing arrived and a report of nothing are judged, not thrown at', async (t) => {
  const truth = runOf({ seconds: 10, arrivals: 0, connections: 0, service: EMPTY_DISTRIBUTION })
  const judged = judgeReport(truth, [], reportOf({ done: 0, durationS: 10, connections: 0, statuses: {} }))
  t.equal(judged.checks.length, 17)
  t.notMatch(
    formatValidityReport(truth, reportOf({ done: 0, durationS: 10 }), judged),
    /NaN|Infinity|undefined/,
  )
})

test('whatever a report says, there is a verdict of seventeen checks with reasons in words', async () => {
  const amount = fc.oneof(fc.constant(0), fc.double({ min: 0.0001, max: 1e7, noNaN: true }))
  const reports = fc.record({
    done: fc.nat(1_000_000),
    durationS: amount,
    loop: fc.constantFrom('open' as const, 'closed' as const),
    connections: fc.nat(5000),
    rps: amount,
    quantum: fc.constantFrom(0.000001, 0.001, 1, 10),
    percentiles: fc.dictionary(fc.constantFrom('p50', 'p90', 'p99', 'p99.9', 'worst', 'p', 'p100'), amount),
    errors: fc.dictionary(fc.constantFrom('timeout', 'reset', 'Timed out'), fc.nat(100)),
    cpuShare: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  const optional = fc.record(
    {
      mean: amount,
      max: amount,
      rate: amount,
      samples: fc.nat(),
      censor: amount,
      latenessP99: amount,
      sent: fc.nat(),
    },
    { requiredKeys: [] },
  )
  const stalls = fc.array(
    fc.record({
      fromS: fc.double({ min: -1, max: 12, noNaN: true }).map((value) => Math.round(value * 1000) / 1000),
      forS: fc.integer({ min: 0, max: 5 }),
      kind: fc.constantFrom('hold' as const, 'block' as const, 'unplanned' as const, 'accept-pause' as const),
      during: fc.nat(500),
    }),
    { maxLength: 3 },
  )
  const property = fc.property(reports, optional, stalls, fc.nat(5000), (report, more, stops, arrivals) => {
    const truth = runOf({
      seconds: 10,
      arrivals,
      stalls: stops.map(({ fromS, forS, kind, during }) =>
        stallOf(Math.max(0, fromS), forS, { kind, during }),
      ),
    })
    const client = reportOf({ ...report, ...more })
    const judged = judgeReport(truth, seriesOf(Array(100).fill(Math.round(arrivals / 100))), client)
    const text =
      judged.checks.map(({ reason }) => reason).join('\n') + formatValidityReport(truth, client, judged)
    return (
      judged.checks.length === 17 &&
      judged.checks.every(({ reason }) => reason.length > 0) &&
      !/NaN|undefined|null/.test(text) &&
      (judged.verdict === 'valid'
        ? judged.checks.every(({ result }) => result !== 'fail')
        : judged.reasons.length > 0)
    )
  })
  fc.assert(property, { numRuns: 150 })
})

test('V7 leaves to a Poisson schedule what chance explains, and nothing of an even one', async (t) => {
  const given = { seconds: 8, arrivals: 1600, stalls: [stallOf(3, 1, { during: 178 })] }
  const report = reportOf({
    done: 1600,
    durationS: 8,
    loop: 'open',
    rate: 200,
    mean: 55,
    percentiles: { p50: 0.2, p90: 100, p99: 910 },
    max: 999,
  })
  const of = (pattern: 'poisson' | 'constant') =>
    checkOf('V7', runOf({ ...given, expect: { loop: 'open', rate: 200, pattern } }), report)
  t.equal(of('poisson').result, 'ok', of('poisson').reason)
  t.equal(of('constant').result, 'fail')
  t.match(
    of('constant').reason,
    /p90 100 ms, where the schedule saw 199 ms|p90 100 ms, where the schedule saw 200 ms/,
  )
  const hidden = { ...report, mean: 5, percentiles: { p50: 0.2, p90: 0.4, p99: 100 } }
  const truth = runOf({ ...given, expect: POISSON_200 })
  t.equal(checkOf('V7', truth, hidden).result, 'fail', 'chance does not hide an outage')
})
