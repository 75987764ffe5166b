/** Whether a tool's report of a run can be believed, by what the server knows about the same run. */
import type { Check, CheckId, ClientReport, LoopClass, RunSummary, SeriesStep, Verdict } from '../truth.js'
import { CHECK_NAMES, type Finding } from './check.js'
import { classify } from './classify.js'
import { connectionCap, connections } from './connection-checks.js'
import { conservation, rate } from './count-checks.js'
import { type Evidence, gatherEvidence } from './evidence.js'
import { generatorCpu, lateness, pattern } from './generator-checks.js'
import { floor, little, quantum } from './latency-checks.js'
import { serverHealth, warmUp } from './server-checks.js'
import { censoring, correction, omission, opennessCheck, stallHeadline } from './stall-checks.js'

/** In the order of their numbers, V1 first. */
const CHECKS: readonly ((evidence: Evidence, loopClass: LoopClass) => Finding)[] = [
  conservation,
  rate,
  quantum,
  little,
  floor,
  opennessCheck,
  omission,
  correction,
  censoring,
  generatorCpu,
  lateness,
  pattern,
  connections,
  connectionCap,
  serverHealth,
  warmUp,
]

/** A failure of one of these leaves nothing of a report. */
const FATAL: ReadonlySet<CheckId> = new Set(['V1', 'V2', 'V15'])
/** A failure of one of these makes the latencies wrong, whatever they are. */
const OF_LATENCY: ReadonlySet<CheckId> = new Set(['V4', 'V5', 'V6', 'V7', 'V8', 'V9', 'V11', 'V12', 'V14'])

/** Failures in the order in which they explain the most; those that are not named here follow by their numbers. */
const TELLING: readonly CheckId[] = [
  'V1',
  'V2',
  'V15',
  'V9',
  'V8',
  'V14',
  'V7',
  'V6',
  'V12',
  'V11',
  'V5',
  'V4',
]

/**
 * Judges `report` by `truth` and `series` (the steps of the window, `atMs` from its start; may be empty, then checks
 * that need it are `n/a`). Pure: the same data give the same verdict. Every reason names the two figures that disagree.
 */
export function judge(truth: RunSummary, series: readonly SeriesStep[], report: ClientReport): Verdict {
  const evidence = gatherEvidence(truth, series, report)
  const loopClass = classify(evidence)
  const checks = CHECKS.map((find, index): Check => {
    const id = `V${index + 1}` as CheckId
    return { id, name: CHECK_NAMES[id], ...find(evidence, loopClass) }
  })
  const verdict = weigh(evidence, checks)
  return { verdict, loopClass, reasons: reasonsFor(verdict, evidence, loopClass, checks), checks }
}

function weigh(evidence: Evidence, checks: readonly Check[]): Verdict['verdict'] {
  const failed = (ids: ReadonlySet<CheckId>) =>
    checks.some(({ id, result }) => result === 'fail' && ids.has(id))
  if (failed(FATAL)) return 'invalid'
  const full = failed(new Set(['V10']))
  const unreadable = failed(new Set(['V3'])) || !printsLatency(evidence)
  // A closed loop at its own pace is asked for a throughput; a rate or a stall asks for latencies.
  if (evidence.declaredRate === null && evidence.stalls === null) {
    if (full) return 'lower bound only'
    return failed(OF_LATENCY) || unreadable ? 'valid for throughput only' : 'valid'
  }
  if (failed(OF_LATENCY)) return 'latency invalid'
  if (full) return 'lower bound only'
  return unreadable ? 'valid for throughput only' : 'valid'
}

function printsLatency({ claims, report }: Evidence): boolean {
  return claims.length > 0 || report.mean !== undefined
}

function reasonsFor(
  verdict: Verdict['verdict'],
  evidence: Evidence,
  loopClass: LoopClass,
  checks: readonly Check[],
): string[] {
  const headline = verdict === 'latency invalid' ? stallHeadline(evidence, loopClass) : null
  const failed = checks.filter(({ result }) => result === 'fail').sort((a, b) => place(a) - place(b))
  const warned = checks.filter(({ result }) => result === 'warn')
  return [
    ...(headline === null ? [] : [headline]),
    ...[...failed, ...warned].map(({ id, name, reason }) => `${id} ${name}: ${reason}`),
    ...(printsLatency(evidence) ? [] : ['the tool prints no latency']),
  ]
}

function place({ id }: Check): number {
  const found = TELLING.indexOf(id)
  return found < 0 ? TELLING.length : found
}
