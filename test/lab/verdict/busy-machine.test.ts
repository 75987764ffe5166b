/** What other programs on the machine may decide about a verdict, and what they may not. */
import { type Test, test } from 'tap'
import type { LoadToolReport, LoadToolVerdict, RunSummary } from '../../../src/lab/run-summary.js'
import { judgeReport } from '../../../src/lab/verdict/judge.js'
import { formatValidityReport } from '../../../src/lab/verdict/validity-report.js'
import { FIXED_RATES, OUTAGES, type ReferenceRun, SATURATIONS } from './reference-runs.js'
import { fastService, quantilesOf, reportOf, runOf, stallOf } from './synthetic-run.js'

/** Cores of the foreign programs. */
const BUSY = 0.93

const GIVEN = { seconds: 8, arrivals: 1600, inFlightMean: 12.5, stalls: [stallOf(3, 1, { during: 200 })] }
const SERVICE = quantilesOf(
  1600,
  { ...fastService(1).percentiles, p90: 200, p95: 600, p99: 920, 'p99.9': 992 },
  62.5,
  1000,
)

/** An open loop that tells the schedule's latencies, sent so late at its p99. */
const lateTool = (latenessP99: number, more: Partial<LoadToolReport> = {}): LoadToolReport =>
  reportOf({
    done: 1600,
    durationS: 8,
    loop: 'open',
    rate: 200,
    mean: 63,
    percentiles: { p50: 0.2, p90: 203, p99: 922 },
    max: 1003,
    latenessP99,
    ...more,
  })

const heldRun = (more: Partial<Parameters<typeof runOf>[0]> = {}): RunSummary =>
  runOf({ ...GIVEN, service: SERVICE, ...more })

const judged = (truth: RunSummary, report: LoadToolReport): LoadToolVerdict => judgeReport(truth, [], report)

const resultOf = ({ checks }: LoadToolVerdict, wanted: string) =>
  checks.find(({ id }) => id === wanted)!.result

test('an open loop that tells how late it was is strict to itself on a quiet machine only', async (t) => {
  const quiet = judged(heldRun(), lateTool(3.3))
  t.match(quiet, { verdict: 'latency invalid', reasons: [/^V11 lateness: .*left 3\.3 ms/] })
  const busy = judged(heldRun({ foreign: BUSY }), lateTool(3.3))
  t.match(busy, {
    verdict: 'valid',
    reasons: [/^V11 lateness/, /^V17 machine: the machine was busy: other programs used 0\.93 cores/],
  })
  t.equal(resultOf(busy, 'V11'), 'warn')
})

test('what a busy machine cannot explain is as wrong there as elsewhere', async (t) => {
  const hidden = lateTool(3.3, { mean: 13, percentiles: { p50: 0.2, p90: 0.7, p99: 920 } })
  t.match(judged(heldRun({ foreign: BUSY }), hidden), {
    verdict: 'latency invalid',
    reasons: [/^V7 omission: p90 0\.7 ms/],
  })
})

test('what a busy machine alone may explain is not judged, and the machine is the first reason', async (t) => {
  const lag = quantilesOf(800, { p50: 4, p99: 180 })
  t.match(judged(heldRun({ lag }), lateTool(0.1)), { verdict: 'invalid', reasons: [/^V15/] })
  const truth = heldRun({ lag, foreign: BUSY })
  const verdict = judged(truth, lateTool(0.1))
  t.match(verdict, { verdict: 'not judged', reasons: [/^V17 machine/, /^V15 server health/] })
  t.match(
    formatValidityReport(truth, lateTool(0.1), verdict),
    /server V15 busy.*machine V17 warn[\s\S]*VERDICT not judged:\n {2}- V17/,
  )
})

test('a tool that keeps its due times to itself is not preferred for it', async (t) => {
  const shown = { percentiles: { p50: 0.2, p90: 219, p99: 922 }, quantum: 1 }
  const { latenessP99: _told, ...silent } = lateTool(0, shown)
  const verdict = judged(heldRun({ foreign: BUSY }), silent)
  t.equal(verdict.verdict, 'valid', verdict.reasons.join('\n'))
  t.match(
    verdict.reasons[0],
    /^V11 lateness: the tool does not tell .*p90 219 ms, .* 200 ms: 19\.\d ms are its own/,
  )
})

test('without the CPU time of the tool nobody knows what others used, and the verdict is strict', async (t) => {
  const verdict = judged(heldRun({ foreign: BUSY }), lateTool(3.3, { cpuShare: 0 }))
  t.equal(verdict.verdict, 'latency invalid')
  t.equal(resultOf(verdict, 'V17'), 'n/a')
})

test('a tool that spins while it waits is not taken for another program', async (t) => {
  const spinning = lateTool(0.1, { cpuShare: 0.05, cpuS: 8 * (BUSY + 0.2) })
  t.equal(resultOf(judged(heldRun({ foreign: BUSY }), spinning), 'V17'), 'ok')
})

test('the cores that a tool shares are all its own', async (t) => {
  const crowd = { ...heldRun({ foreign: BUSY }), others: { seconds: 8, cores: 3.6 } }
  t.equal(resultOf(judged(crowd, lateTool(3.3, { cpuShare: 0.9, cpuCores: 4 })), 'V17'), 'ok')
})

test('an outage is no excuse for a rate that is told too low', async (t) => {
  t.equal(resultOf(judged(heldRun(), lateTool(0.1, { rps: 182 })), 'V2'), 'fail')
})

test('latencies from the moment of sending are not those of the schedule, however candid the tool is', async (t) => {
  const truth = runOf({ seconds: 8, arrivals: 1600, foreign: BUSY, inFlightMean: 0.04 })
  const late = { percentiles: { p50: 0.2, p90: 0.4, p99: 0.9 }, mean: 0.3, max: 30 }
  t.equal(judged(truth, lateTool(2_000, late)).verdict, 'not judged')
  t.equal(
    judged(truth, lateTool(3.3, { ...late, percentiles: { ...late.percentiles, p99: 3.6 } })).verdict,
    'valid',
  )
})

test('on a machine with cores to spare others may use more before they disturb', async (t) => {
  const many = { ...heldRun({ foreign: BUSY }), environment: { cores: 32 } }
  t.match(judged(many, lateTool(3.3)), { verdict: 'latency invalid' })
  t.match(judged({ ...many, environment: { cores: 16 } }, lateTool(3.3)), { verdict: 'valid' })
})

test('a rate at its own pace is said to be what the others left', async (t) => {
  const report = reportOf({ done: 1600, durationS: 8, cpuShare: 0.2 })
  const verdict = judged(runOf({ seconds: 8, arrivals: 1600, foreign: BUSY }), report)
  t.match(
    verdict.reasons[1],
    /^V10 generator CPU: .* 20 % .*at its own pace: its rate may be what other programs/,
  )
})

test('a mean that is too great may be the time a tool waited for a core, one that is too small is not', async (t) => {
  const { latenessP99: _told, ...silent } = lateTool(0, { mean: 81 })
  t.equal(judged(heldRun(), silent).verdict, 'latency invalid')
  t.match(judged(heldRun({ foreign: BUSY }), silent), {
    verdict: 'not judged',
    reasons: [/^V17 machine/, /^V4 Little/],
  })
  t.equal(judged(heldRun({ foreign: BUSY }), { ...silent, mean: 52 }).verdict, 'latency invalid')
})

test('bursts of a tool are its own on any machine, and small ones may be the fault of others', async (t) => {
  const of = (dispersion: number) => judged(heldRun({ foreign: BUSY, dispersion }), lateTool(0.1)).verdict
  t.equal(of(12), 'latency invalid')
  t.equal(of(4), 'valid', 'its latencies are right, and it tells how late it was')
  const { latenessP99: _told, ...silent } = lateTool(0)
  t.equal(judged(heldRun({ foreign: BUSY, dispersion: 4 }), silent).verdict, 'not judged')
})

/** The same run as other programs would have seen it. */
const amongOthers = (t: Test, { truth, report, verdict, name }: ReferenceRun): void => {
  const cores = BUSY + report.cpuShare
  const busy = judged({ ...truth, others: { seconds: report.wallS, cores } }, report)
  if (verdict === 'valid') t.equal(busy.verdict, 'valid', name)
  else t.ok([verdict, 'not judged'].includes(busy.verdict), `${name}: ${busy.verdict}`)
}

test('of the tools that were measured none gets better by a busy machine, and few are not judged', async (t) => {
  const all = [...OUTAGES, ...FIXED_RATES, ...SATURATIONS]
  for (const run of all) amongOthers(t, run)
})
