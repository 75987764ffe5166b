/** V15 to V17: were server and machine in a state worth measuring? */
import type { SeriesStep } from '../run-summary.js'
import { countMatching, sumOf } from '../sums.js'
import {
  type CheckFinding,
  fail,
  failWhenQuiet,
  foreignLimit,
  pass,
  type ReportEvidence,
  skip,
  warn,
} from './evidence.js'
import { arrivalDispersion, BURSTY } from './generator-checks.js'
import { formatMs, formatNumber, formatPercent, formatRatio } from './wording.js'

const LAG_WARNS_MS = 10
const LAG_FAILS_MS = 100
const SERVER_FULL = 0.95

/** V15: no marks, no errors but those made on purpose, loops that turn. */
export function checkServerHealth(evidence: ReportEvidence): CheckFinding {
  const { truth } = evidence
  if (truth.marks.length > 0) return fail(`the run is marked: ${truth.marks.join('; ')}`)
  const errors = countMatching(truth.total.statuses, /^5/)
  const planned = truth.total.faults.error ?? 0
  if (errors > planned) {
    return fail(
      `the server answered ${formatNumber(errors)} errors, of which ${formatNumber(planned)} were made on purpose`,
    )
  }
  if (truth.workers.length === 0) return skip('no worker reported')
  const lag = Math.max(...truth.workers.map((worker) => worker.lag.percentiles.p99 ?? 0))
  const busy = Math.max(...truth.workers.map(({ cpuShare }) => cpuShare))
  const reason = `p99 of the loop's lag ${formatMs(lag)} ms, the busiest worker used ${formatPercent(busy)} % of a core`
  if (lag > LAG_FAILS_MS) return failWhenQuiet(evidence, `${reason}: the lag's limit is ${LAG_FAILS_MS} ms`)
  const unplanned = truth.stalls.filter(({ kind }) => kind === 'unplanned').length
  if (unplanned > 0)
    return warn(`${reason}; unplanned stalls of the loop: ${formatNumber(unplanned)}, expected 0`)
  if (lag > LAG_WARNS_MS) return warn(`${reason}: more than ${LAG_WARNS_MS} ms of lag`)
  return busy >= SERVER_FULL
    ? warn(
        `${reason}: it had less than ${formatPercent(1 - SERVER_FULL)} % left, latencies are those of a full server`,
      )
    : pass(reason)
}

const DRIFT = 0.05

/** V16: the first quarter of the time like the last, stalls aside. */
export function checkWarmUp(evidence: ReportEvidence): CheckFinding {
  const { quiet, declaredRate } = evidence
  const length = Math.floor(quiet.length / 4)
  if (length < 5) return skip('fewer than 20 undisturbed steps in the series')
  if (declaredRate !== null && arrivalDispersion(evidence) > BURSTY) {
    return skip('arrivals in bursts have no rate in a quarter of the time')
  }
  const first = summarizeSteps(quiet.slice(0, length))
  const last = summarizeSteps(quiet.slice(-length))
  const reason = `the first quarter had ${formatNumber(first.rate)} arrivals a step and a p50 of ${formatMs(first.p50)} ms, the last ${formatNumber(last.rate)} and ${formatMs(last.p50)} ms`
  // Two counts differ by chance by about the root of their sum; two of these are rare.
  const chance = 2 * Math.sqrt(2 / Math.max(1, first.total))
  const rateDrifts = Math.abs(first.rate - last.rate) > (DRIFT + chance) * last.rate
  const drift = Math.abs(first.p50 - last.p50)
  const latencyDrifts = drift > (DRIFT + chance) * last.p50 && drift > 0.05
  return rateDrifts || latencyDrifts ? warn(`${reason}: the warm-up was too short`) : pass(reason)
}

/** V17: who else used the cores? */
export function checkMachine({ truth, foreignCores, busy }: ReportEvidence): CheckFinding {
  if (foreignCores === null) return skip('what other programs used is not known')
  const reason = `other programs used ${formatRatio(foreignCores)} cores while it ran, where ${formatRatio(foreignLimit(truth))} is the limit`
  return busy ? warn(`the machine was busy: ${reason}`) : pass(reason)
}

function summarizeSteps(steps: readonly SeriesStep[]): { rate: number; total: number; p50: number } {
  const total = sumOf(steps, ({ arrivals }) => arrivals)
  const medians = steps
    .flatMap(({ p50, completions }) => (completions > 0 && Number.isFinite(p50) ? [p50] : []))
    .sort((a, b) => a - b)
  return { rate: total / steps.length, total, p50: medians[medians.length >> 1] ?? 0 }
}
