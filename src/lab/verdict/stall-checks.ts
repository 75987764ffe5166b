/** V6 to V9: what the tool did and printed about the time in which the server stood. */
import type { LoopClass } from '../truth.js'
import { type Finding, fail, notApplicable, ok, warn } from './check.js'
import {
  AGREES,
  dueInStalls,
  isPoisson,
  isSynthetic,
  leastDue,
  MEAN_AGREES,
  openFrom,
  openness,
  SAMPLES_SLACK,
  timeouts,
} from './classify.js'
import type { Evidence } from './evidence.js'
import { ms, number, percent, ratio } from './wording.js'

/** V6: the share of the scheduled requests that came while the server stood. */
export function opennessCheck(evidence: Evidence): Finding {
  const { stalls, truth, report, declaredRate } = evidence
  const share = openness(evidence)
  if (share === null || stalls === null)
    return notApplicable(`no planned stall with ${leastDue(evidence)} or more due requests`)
  const due = dueInStalls(evidence)
  const reason = `${number(stalls.arrivals)} of ${number(due)} due requests came during the stall (openness ${ratio(share)})`
  if (share >= openFrom(evidence)) return ok(`${reason}: an open loop`)
  if (report.loop === 'open') return fail(`${reason}: the tool calls itself an open loop and is a closed one`)
  const asked = declaredRate !== null || truth.expect?.loop === 'open'
  return asked ? warn(`${reason}: a closed loop with a rate`) : ok(`${reason}: a closed loop, as it says`)
}

/** V7: requests that never came, and waits that are in no percentile. */
export function omission(evidence: Evidence): Finding {
  const { declaredRate, seconds, truth } = evidence
  const due = (declaredRate ?? 0) * seconds
  const missing = due - truth.total.arrivals
  // How many a Poisson schedule has is a matter of chance.
  const chance = truth.expect?.pattern === 'poisson' ? 3 * Math.sqrt(due) : 0
  const absent =
    declaredRate !== null && missing > 0.01 * due + chance
      ? `${number(truth.total.arrivals)} requests arrived of ${number(due)} due: ${number(missing)} are missing`
      : null
  const gap = widestGap(evidence)
  if (absent !== null || gap !== null) {
    return fail([absent, gap].filter((reason) => reason !== null).join('; '))
  }
  if (declaredRate !== null) {
    return ok(`${number(truth.total.arrivals)} requests arrived of ${number(due)} due`)
  }
  return evidence.stalls === null
    ? notApplicable('no rate was declared and the server never stood')
    : ok('every percentile holds the stall that decides about it')
}

/** The printed latency that is furthest below what the schedule must have seen; null when none is. */
function widestGap(evidence: Evidence): string | null {
  const { expected, claims, report, stalls } = evidence
  if (expected === null || stalls === null) return null
  const compared = [
    ...claims
      .filter(({ p }) => expected.stalled(p))
      .map(({ name, p, ms: printed }) => {
        const least = expected.quantile(Math.max(0, p - chanceAt(p, evidence)))
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
    : `${widest.name} ${ms(widest.printed)} ms, where the schedule saw ${ms(widest.due)} ms: a gap of ${ms(widest.due - widest.printed)} ms`
}

/** By how much the share of the samples below a latency may differ by chance: a Poisson schedule draws its waits. */
function chanceAt(p: number, evidence: Evidence): number {
  const { pace, seconds } = evidence
  return isPoisson(evidence) ? 3 * Math.sqrt((p * (1 - p)) / Math.max(1, pace * seconds)) : 0
}

/** Waits in a stall are spread evenly, so their mean varies a little more than their number. */
function leastMean(mean: number, evidence: Evidence): number {
  const chance = isPoisson(evidence) ? 3 * Math.sqrt(4 / 3 / Math.max(1, dueInStalls(evidence))) : 0
  return mean * (1 - Math.max(MEAN_AGREES, chance))
}

/** V8: are the latencies measured, or computed? */
export function correction(evidence: Evidence, loopClass: LoopClass): Finding {
  const { report, expected, claims, declaredRate } = evidence
  const { samples, done } = report
  if (samples !== undefined && isSynthetic(evidence)) {
    return fail(`the tool's histogram holds ${number(samples)} samples of ${number(done)} answers`)
  }
  if (loopClass === 'corrected' && expected !== null) {
    const top = claims.filter(({ p }) => expected.stalled(p) && p <= 0.999).at(-1)
    const reason = `${top?.name} ${ms(top?.ms ?? 0)} ms is near the expected ${ms(expected.quantile(top?.p ?? 0))} ms although the requests of the stall never came (openness ${ratio(openness(evidence) ?? 0)}): corrected`
    return declaredRate === null ? warn(`${reason}, for a schedule that nobody declared`) : ok(reason)
  }
  if (samples !== undefined && samples < done * (1 - SAMPLES_SLACK)) {
    return warn(`the tool's histogram holds ${number(samples)} samples of ${number(done)} answers`)
  }
  if (samples !== undefined) return ok(`${number(samples)} samples of ${number(done)} answers`)
  return notApplicable(
    report.corrected
      ? 'the tool says that it corrects, but no stall has put it to the test'
      : 'the tool does not say how many samples it holds',
  )
}

/** V9: are the longest waits samples at all? */
export function censoring(evidence: Evidence): Finding {
  const { stalls, report, truth } = evidence
  const given = timeouts(evidence)
  const largest = report.max === undefined ? '' : `, and its maximum is ${ms(report.max)} ms`
  const stood = stalls === null ? '' : ` while the server stood for ${ms(stalls.longestMs)} ms`
  if (given > 0)
    return fail(`${number(given)} requests ended as timeouts${stood}, which are no samples${largest}`)
  if (report.censor === undefined) return notApplicable('the tool names no timeout and counted none')
  const longest = Math.max(stalls?.longestMs ?? 0, truth.total.service.max)
  const reason = `the tool's timeout of ${ms(report.censor)} ms is`
  return longest >= report.censor
    ? fail(`${reason} not above the longest wait at the server, ${ms(longest)} ms${largest}`)
    : ok(`${reason} above the longest wait at the server, ${ms(longest)} ms`)
}

/** A sentence for people about what a tool made of a stall; null when there is nothing to say. */
export function stallHeadline(evidence: Evidence, loopClass: LoopClass): string | null {
  const { stalls, report, claims, expected } = evidence
  if (stalls === null || expected === null) return null
  const length = `${ms(stalls.longestMs)} ms`
  const top = claims.at(-1)
  if (loopClass === 'censored') {
    return `an outage of ${length} is no sample: the tool dropped the requests that waited for it`
  }
  if (loopClass !== 'omitting' && loopClass !== 'closed') return null
  const idle = 'because the tool was idle while the server was stalled'
  if (report.max !== undefined && report.max < 0.5 * stalls.longestMs) {
    return `an outage of ${length} is almost invisible (max ${ms(report.max)} ms) ${idle}`
  }
  const share = openness(evidence) ?? 0
  if (top === undefined) return `the outage of ${length} is in the maximum alone ${idle}`
  return `the outage of ${length} weighs too little in the percentiles (${widestGap(evidence) ?? 'as far as they are printed'}) ${idle}: it had ${percent(share)} % of the due requests under way`
}
