/** V6 to V9: what the tool did and printed about the time in which the server stood. */
import type { LoopClass } from '../run-summary.js'
import {
  type CheckFinding,
  failCheck,
  passCheck,
  type ReportEvidence,
  skipCheck,
  warnCheck,
} from './evidence.js'
import {
  AGREES,
  arrivalsDueInStalls,
  countTimeouts,
  isPoisson,
  isSynthetic,
  leastDueArrivals,
  MEAN_AGREES,
  measureOpenness,
  opennessThreshold,
  SAMPLES_SLACK,
} from './loop-class.js'
import { formatMs, formatNumber, formatPercent, formatRatio } from './wording.js'

/** V6: the share of the scheduled requests that came while the server stood. */
export function checkOpenness(evidence: ReportEvidence): CheckFinding {
  const { stalls, truth, report, declaredRate } = evidence
  const share = measureOpenness(evidence)
  if (share === null || stalls === null)
    return skipCheck(`no planned stall with ${leastDueArrivals(evidence)} or more due requests`)
  const due = arrivalsDueInStalls(evidence)
  const reason = `${formatNumber(stalls.arrivals)} of ${formatNumber(due)} due requests came during the stall (openness ${formatRatio(share)})`
  if (share >= opennessThreshold(evidence)) return passCheck(`${reason}: an open loop`)
  if (report.loop === 'open')
    return failCheck(`${reason}: the tool calls itself an open loop and is a closed one`)
  const asked = declaredRate !== null || truth.expect?.loop === 'open'
  return asked
    ? warnCheck(`${reason}: a closed loop with a rate`)
    : passCheck(`${reason}: a closed loop, as it says`)
}

/** V7: requests that never came, and waits that are in no percentile. */
export function checkOmission(evidence: ReportEvidence): CheckFinding {
  const { declaredRate, seconds, truth } = evidence
  const due = (declaredRate ?? 0) * seconds
  const missing = due - truth.total.arrivals
  // How many a Poisson schedule has is a matter of chance.
  const chance = truth.expect?.pattern === 'poisson' ? 3 * Math.sqrt(due) : 0
  const absent =
    declaredRate !== null && missing > 0.01 * due + chance
      ? `${formatNumber(truth.total.arrivals)} requests arrived of ${formatNumber(due)} due: ${formatNumber(missing)} are missing`
      : null
  const gap = describeWidestGap(evidence)
  if (absent !== null || gap !== null) {
    return failCheck([absent, gap].filter((reason) => reason !== null).join('; '))
  }
  if (declaredRate !== null) {
    return passCheck(`${formatNumber(truth.total.arrivals)} requests arrived of ${formatNumber(due)} due`)
  }
  return evidence.stalls === null
    ? skipCheck('no rate was declared and the server never stood')
    : passCheck('every percentile holds the stall that decides about it')
}

/** The printed latency that is furthest below what the schedule must have seen; null when none is. */
function describeWidestGap(evidence: ReportEvidence): string | null {
  const { expected, claims, report, stalls } = evidence
  if (expected === null || stalls === null) return null
  const compared = [
    ...claims
      .filter(({ p }) => expected.stalled(p))
      .map(({ name, p, ms: printed }) => {
        const least = expected.quantile(Math.max(0, p - chanceMarginAt(p, evidence)))
        return { name, printed, due: expected.quantile(p), least: least * (1 - AGREES) }
      }),
    ...(report.mean === undefined
      ? []
      : [
          {
            name: 'mean',
            printed: report.mean,
            due: expected.mean,
            least: leastMean(expected.mean, evidence),
          },
        ]),
  ]
  const gaps = compared
    .filter(({ printed, least }) => least - printed > report.quantum + 2)
    .sort((a, b) => b.due - b.printed - (a.due - a.printed))
  const widest = gaps[0]
  return widest === undefined
    ? null
    : `${widest.name} ${formatMs(widest.printed)} ms, where the schedule saw ${formatMs(widest.due)} ms: a gap of ${formatMs(widest.due - widest.printed)} ms`
}

/** By how much the share of the samples below a latency may differ by chance: a Poisson schedule draws its waits. */
function chanceMarginAt(p: number, evidence: ReportEvidence): number {
  const { pace, seconds } = evidence
  return isPoisson(evidence) ? 3 * Math.sqrt((p * (1 - p)) / Math.max(1, pace * seconds)) : 0
}

/** Waits in a stall are spread evenly, so their mean varies a little more than their number. */
function leastMean(mean: number, evidence: ReportEvidence): number {
  const chance = isPoisson(evidence) ? 3 * Math.sqrt(4 / 3 / Math.max(1, arrivalsDueInStalls(evidence))) : 0
  return mean * (1 - Math.max(MEAN_AGREES, chance))
}

/** V8: are the latencies measured, or computed? */
export function checkCorrection(evidence: ReportEvidence, loopClass: LoopClass): CheckFinding {
  const { report, expected, claims, declaredRate } = evidence
  const { samples, done } = report
  if (samples !== undefined && isSynthetic(evidence)) {
    return failCheck(
      `the tool's histogram holds ${formatNumber(samples)} samples of ${formatNumber(done)} answers`,
    )
  }
  if (loopClass === 'corrected' && expected !== null) {
    const top = claims.filter(({ p }) => expected.stalled(p) && p <= 0.999).at(-1)
    const reason = `${top?.name} ${formatMs(top?.ms ?? 0)} ms is near the expected ${formatMs(expected.quantile(top?.p ?? 0))} ms although the requests of the stall never came (openness ${formatRatio(measureOpenness(evidence) ?? 0)}): corrected`
    return declaredRate === null
      ? warnCheck(`${reason}, for a schedule that nobody declared`)
      : passCheck(reason)
  }
  if (samples !== undefined && samples < done * (1 - SAMPLES_SLACK)) {
    return warnCheck(
      `the tool's histogram holds ${formatNumber(samples)} samples of ${formatNumber(done)} answers`,
    )
  }
  if (samples !== undefined)
    return passCheck(`${formatNumber(samples)} samples of ${formatNumber(done)} answers`)
  return skipCheck(
    report.corrected
      ? 'the tool says that it corrects, but no stall has put it to the test'
      : 'the tool does not say how many samples it holds',
  )
}

/** V9: are the longest waits samples at all? */
export function checkCensoring(evidence: ReportEvidence): CheckFinding {
  const { stalls, report, truth } = evidence
  const given = countTimeouts(evidence)
  const largest = report.max === undefined ? '' : `, and its maximum is ${formatMs(report.max)} ms`
  const stood = stalls === null ? '' : ` while the server stood for ${formatMs(stalls.longestMs)} ms`
  if (given > 0)
    return failCheck(
      `${formatNumber(given)} requests ended as timeouts${stood}, which are no samples${largest}`,
    )
  if (report.censor === undefined) return skipCheck('the tool names no timeout and counted none')
  const longest = Math.max(stalls?.longestMs ?? 0, truth.total.service.max)
  const reason = `the tool's timeout of ${formatMs(report.censor)} ms is`
  return longest >= report.censor
    ? failCheck(`${reason} not above the longest wait at the server, ${formatMs(longest)} ms${largest}`)
    : passCheck(`${reason} above the longest wait at the server, ${formatMs(longest)} ms`)
}

/** A sentence for people about what a tool made of a stall; null when there is nothing to say. */
export function describeStallOutcome(evidence: ReportEvidence, loopClass: LoopClass): string | null {
  const { stalls, report, claims, expected } = evidence
  if (stalls === null || expected === null) return null
  const length = `${formatMs(stalls.longestMs)} ms`
  const top = claims.at(-1)
  if (loopClass === 'censored') {
    return `an outage of ${length} is no sample: the tool dropped the requests that waited for it`
  }
  if (loopClass !== 'omitting' && loopClass !== 'closed') return null
  const idle = 'because the tool was idle while the server was stalled'
  if (report.max !== undefined && report.max < 0.5 * stalls.longestMs) {
    return `an outage of ${length} is almost invisible (max ${formatMs(report.max)} ms) ${idle}`
  }
  const share = measureOpenness(evidence) ?? 0
  if (top === undefined) return `the outage of ${length} is in the maximum alone ${idle}`
  return `the outage of ${length} weighs too little in the percentiles (${describeWidestGap(evidence) ?? 'as far as they are printed'}) ${idle}: it had ${formatPercent(share)} % of the due requests under way`
}
