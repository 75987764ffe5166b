/** Whether a tool's report of a run can be believed, by what the server knows about the same run. */
import type {
  LoadToolReport,
  LoadToolVerdict,
  LoopClass,
  RunSummary,
  SeriesStep,
  ValidityCheck,
  ValidityCheckId,
} from '../run-summary.js'
import { CHECK_NAMES, type CheckFinding } from './check.js'
import { classifyLoop } from './classify.js'
import { checkConnectionCap, checkConnections } from './connection-checks.js'
import { checkConservation, checkRate } from './count-checks.js'
import { gatherEvidence, type ReportEvidence } from './evidence.js'
import { checkGeneratorCpu, checkLateness, checkPattern } from './generator-checks.js'
import { checkLatencyFloor, checkLittlesLaw, checkQuantum } from './latency-checks.js'
import { checkServerHealth, checkWarmUp } from './server-checks.js'
import {
  checkCensoring,
  checkCorrection,
  checkOmission,
  checkOpenness,
  describeStallOutcome,
} from './stall-checks.js'

/** In the order of their numbers, V1 first. */
const CHECKS: readonly ((evidence: ReportEvidence, loopClass: LoopClass) => CheckFinding)[] = [
  checkConservation,
  checkRate,
  checkQuantum,
  checkLittlesLaw,
  checkLatencyFloor,
  checkOpenness,
  checkOmission,
  checkCorrection,
  checkCensoring,
  checkGeneratorCpu,
  checkLateness,
  checkPattern,
  checkConnections,
  checkConnectionCap,
  checkServerHealth,
  checkWarmUp,
]

/** A failure of one of these leaves nothing of a report. */
const FATAL_CHECKS: ReadonlySet<ValidityCheckId> = new Set(['V1', 'V2', 'V15'])
/** A failure of one of these makes the latencies wrong, whatever they are. */
const LATENCY_CHECKS: ReadonlySet<ValidityCheckId> = new Set([
  'V4',
  'V5',
  'V6',
  'V7',
  'V8',
  'V9',
  'V11',
  'V12',
  'V14',
])

/** Failures in the order in which they explain the most; those that are not named here follow by their numbers. */
const MOST_EXPLANATORY: readonly ValidityCheckId[] = [
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
export function judgeReport(
  truth: RunSummary,
  series: readonly SeriesStep[],
  report: LoadToolReport,
): LoadToolVerdict {
  const evidence = gatherEvidence(truth, series, report)
  const loopClass = classifyLoop(evidence)
  const checks = CHECKS.map((find, index): ValidityCheck => {
    const id = `V${index + 1}` as ValidityCheckId
    return { id, name: CHECK_NAMES[id], ...find(evidence, loopClass) }
  })
  const verdict = weighChecks(evidence, checks)
  return { verdict, loopClass, reasons: verdictReasons(verdict, evidence, loopClass, checks), checks }
}

function weighChecks(evidence: ReportEvidence, checks: readonly ValidityCheck[]): LoadToolVerdict['verdict'] {
  const failed = (ids: ReadonlySet<ValidityCheckId>) =>
    checks.some(({ id, result }) => result === 'fail' && ids.has(id))
  if (failed(FATAL_CHECKS)) return 'invalid'
  const full = failed(new Set(['V10']))
  const unreadable = failed(new Set(['V3'])) || !printsLatency(evidence)
  // A closed loop at its own pace is asked for a throughput; a rate or a stall asks for latencies.
  if (evidence.declaredRate === null && evidence.stalls === null) {
    if (full) return 'lower bound only'
    return failed(LATENCY_CHECKS) || unreadable ? 'valid for throughput only' : 'valid'
  }
  if (failed(LATENCY_CHECKS)) return 'latency invalid'
  if (full) return 'lower bound only'
  return unreadable ? 'valid for throughput only' : 'valid'
}

function printsLatency({ claims, report }: ReportEvidence): boolean {
  return claims.length > 0 || report.mean !== undefined
}

function verdictReasons(
  verdict: LoadToolVerdict['verdict'],
  evidence: ReportEvidence,
  loopClass: LoopClass,
  checks: readonly ValidityCheck[],
): string[] {
  const headline = verdict === 'latency invalid' ? describeStallOutcome(evidence, loopClass) : null
  const failed = checks
    .filter(({ result }) => result === 'fail')
    .sort((a, b) => explanatoryRank(a) - explanatoryRank(b))
  const warned = checks.filter(({ result }) => result === 'warn')
  return [
    ...(headline === null ? [] : [headline]),
    ...[...failed, ...warned].map(({ id, name, reason }) => `${id} ${name}: ${reason}`),
    ...(printsLatency(evidence) ? [] : ['the tool prints no latency']),
  ]
}

function explanatoryRank({ id }: ValidityCheck): number {
  const found = MOST_EXPLANATORY.indexOf(id)
  return found < 0 ? MOST_EXPLANATORY.length : found
}
