/** V6 to V9: what the tool did and printed about the time in which the server stood. */
import type { LoopClass } from '../run-summary.js'
import { type CheckFinding, fail, failWhenQuiet, pass, type ReportEvidence, skip, warn } from './evidence.js'
import { AGREES, isSynthetic, MEAN_AGREES, opennessThreshold, SAMPLES_SLACK } from './loop-class.js'
import { formatMs, formatNumber, formatPercent, formatRatio } from './wording.js'

/** V6: the share of the scheduled requests that came while the server stood. */
export function checkOpenness(evidence: ReportEvidence): CheckFinding {
  const { stalls, truth, report, declaredRate, openness, dueInStalls, leastDueInStalls } = evidence
  if (openness === null || stalls === null) {
    return skip(`no planned stall with ${leastDueInStalls} or more due requests`)
  }
  const reason = `${formatNumber(stalls.arrivals)} of ${formatNumber(dueInStalls)} due requests came during the stall (openness ${formatRatio(openness)})`
  if (openness >= opennessThreshold(evidence)) return pass(`${reason}: an open loop`)
  if (report.loop === 'open') return fail(`${reason}: the tool calls itself an open loop and is a closed one`)
  const asked = declaredRate !== null || truth.expect?.loop === 'open'
  return asked ? warn(`${reason}: a closed loop with a rate`) : pass(`${reason}: a closed loop, as it says`)
}

/** V7: requests that never came, and waits that are in no percentile. */
export function checkOmission(evidence: ReportEvidence): CheckFinding {
  const missing = describeMissing(evidence)
  const gap = describeWidestGap(evidence)
  if (gap !== null) return fail(missing === null ? gap : `${missing}; ${gap}`)
  // A tool without CPU time sends less, and then there is no gap where it was idle.
  if (missing !== null) return failWhenQuiet(evidence, missing)
  const { due, truth, stalls } = evidence
  if (due !== null) {
    return pass(`${formatNumber(truth.total.arrivals)} requests arrived of ${formatNumber(due)} due`)
  }
  return stalls === null
    ? skip('no rate was declared and the server never stood')
    : pass('every percentile holds the stall that decides about it')
}

/** How many requests of the declared schedule never came; null when they did. */
function describeMissing({ due, truth, poisson }: ReportEvidence): string | null {
  if (due === null) return null
  const { arrivals } = truth.total
  // How many a Poisson schedule has is a matter of chance.
  const chance = poisson ? 3 * Math.sqrt(due) : 0
  return due - arrivals > 0.01 * due + chance
    ? `${formatNumber(arrivals)} requests arrived of ${formatNumber(due)} due: ${formatNumber(due - arrivals)} are missing`
    : null
}

/** The printed latency that is furthest below what the schedule must have seen; null when none is. */
function describeWidestGap(evidence: ReportEvidence): string | null {
  const { expected, claims, report, stalls } = evidence
  if (expected === null || stalls === null) return null
  const compared = claims
    .filter(({ p }) => expected.stalled(p))
    .map(({ name, p, ms: printed }) => {
      const least = expected.quantile(Math.max(0, p - chanceMarginAt(p, evidence))) * (1 - AGREES)
      return { name, printed, due: expected.quantile(p), least }
    })
  if (report.mean !== undefined) {
    const { mean } = expected
    compared.push({ name: 'mean', printed: report.mean, due: mean, least: leastMean(mean, evidence) })
  }
  const [widest] = compared
    .filter(({ printed, least }) => least - printed > report.quantum + 2)
    .sort((a, b) => b.due - b.printed - (a.due - a.printed))
  return widest === undefined
    ? null
    : `${widest.name} ${formatMs(widest.printed)} ms, where the schedule saw ${formatMs(widest.due)} ms: a gap of ${formatMs(widest.due - widest.printed)} ms`
}

/** By how much the share of the samples below a latency may differ by chance: a Poisson schedule draws its waits. */
function chanceMarginAt(p: number, { poisson, pace, seconds }: ReportEvidence): number {
  return poisson ? 3 * Math.sqrt((p * (1 - p)) / Math.max(1, pace * seconds)) : 0
}

/** Waits in a stall are spread evenly, so their mean varies a little more than their number. */
function leastMean(mean: number, { poisson, dueInStalls }: ReportEvidence): number {
  const chance = poisson ? 3 * Math.sqrt(4 / 3 / Math.max(1, dueInStalls)) : 0
  return mean * (1 - Math.max(MEAN_AGREES, chance))
}

/** V8: are the latencies measured, or computed? */
export function checkCorrection(evidence: ReportEvidence, loopClass: LoopClass): CheckFinding {
  const { report, expected, claims, declaredRate, openness } = evidence
  const { samples, done } = report
  const held = `the tool's histogram holds ${formatNumber(samples ?? 0)} samples of ${formatNumber(done)} answers`
  if (isSynthetic(evidence)) return fail(held)
  if (loopClass === 'corrected' && expected !== null) {
    const top = claims.filter(({ p }) => expected.stalled(p) && p <= 0.999).at(-1)
    const reason = `${top?.name} ${formatMs(top?.ms ?? 0)} ms is near the expected ${formatMs(expected.quantile(top?.p ?? 0))} ms although the requests of the stall never came (openness ${formatRatio(openness ?? 0)}): corrected`
    return declaredRate === null ? warn(`${reason}, for a schedule that nobody declared`) : pass(reason)
  }
  if (samples !== undefined) {
    return samples < done * (1 - SAMPLES_SLACK)
      ? warn(held)
      : pass(`${formatNumber(samples)} samples of ${formatNumber(done)} answers`)
  }
  return skip(
    report.corrected
      ? 'the tool says that it corrects, but no stall has put it to the test'
      : 'the tool does not say how many samples it holds',
  )
}

/** V9: are the longest waits samples at all? */
export function checkCensoring({ stalls, report, truth, timeouts }: ReportEvidence): CheckFinding {
  const largest = report.max === undefined ? '' : `, and its maximum is ${formatMs(report.max)} ms`
  const stood = stalls === null ? '' : ` while the server stood for ${formatMs(stalls.longestMs)} ms`
  if (timeouts > 0) {
    return fail(
      `${formatNumber(timeouts)} requests ended as timeouts${stood}, which are no samples${largest}`,
    )
  }
  if (report.censor === undefined) return skip('the tool names no timeout and counted none')
  const longest = Math.max(stalls?.longestMs ?? 0, truth.total.service.max)
  const reason = `the tool's timeout of ${formatMs(report.censor)} ms is`
  const wait = `above the longest wait at the server, ${formatMs(longest)} ms`
  return longest >= report.censor ? fail(`${reason} not ${wait}${largest}`) : pass(`${reason} ${wait}`)
}

/** A sentence for people about what a tool made of a stall; null when there is nothing to say. */
export function describeStallOutcome(evidence: ReportEvidence, loopClass: LoopClass): string | null {
  const { stalls, report, claims, expected, openness } = evidence
  if (stalls === null || expected === null) return null
  const outage = `outage of ${formatMs(stalls.longestMs)} ms`
  if (loopClass === 'censored') {
    return `an ${outage} is no sample: the tool dropped the requests that waited for it`
  }
  if (loopClass !== 'omitting' && loopClass !== 'closed') return null
  const idle = 'because the tool was idle while the server was stalled'
  if (report.max !== undefined && report.max < 0.5 * stalls.longestMs) {
    return `an ${outage} is almost invisible (max ${formatMs(report.max)} ms) ${idle}`
  }
  if (claims.length === 0) return `the ${outage} is in the maximum alone ${idle}`
  return `the ${outage} weighs too little in the percentiles (${describeWidestGap(evidence) ?? 'as far as they are printed'}) ${idle}: it had ${formatPercent(openness ?? 0)} % of the due requests under way`
}
