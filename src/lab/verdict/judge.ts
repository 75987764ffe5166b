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
import * as counts from './count-checks.js'
import { type CheckFinding, gatherEvidence, type ReportEvidence } from './evidence.js'
import * as generator from './generator-checks.js'
import * as latencies from './latency-checks.js'
import { classifyLoop } from './loop-class.js'
import * as health from './server-checks.js'
import * as stalls from './stall-checks.js'

type ReportCheck = (evidence: ReportEvidence, loopClass: LoopClass) => CheckFinding
/** What a failed check makes worthless; `weighChecks` says what follows from it. */
type SpoiledPart = 'everything' | 'latency' | 'legibility' | 'ceiling' | 'nothing'

/** In the order of their numbers, V1 first. */
const CHECKS: readonly (readonly [name: string, check: ReportCheck, spoils: SpoiledPart])[] = [
  ['conservation', counts.checkConservation, 'everything'],
  ['rate', counts.checkRate, 'everything'],
  ['quantum', latencies.checkQuantum, 'legibility'],
  ['Little', latencies.checkLittlesLaw, 'latency'],
  ['floor', latencies.checkLatencyFloor, 'latency'],
  ['openness', stalls.checkOpenness, 'latency'],
  ['omission', stalls.checkOmission, 'latency'],
  ['correction', stalls.checkCorrection, 'latency'],
  ['censoring', stalls.checkCensoring, 'latency'],
  ['generator CPU', generator.checkGeneratorCpu, 'ceiling'],
  ['lateness', generator.checkLateness, 'latency'],
  ['pattern', generator.checkPattern, 'latency'],
  ['connections', generator.checkConnections, 'nothing'],
  ['connection cap', generator.checkConnectionCap, 'latency'],
  ['server health', health.checkServerHealth, 'everything'],
  ['warm-up', health.checkWarmUp, 'nothing'],
  ['machine', health.checkMachine, 'nothing'],
]

/** Failures in the order in which they explain the most; those that are not named here follow by their numbers. */
const MOST_EXPLANATORY = 'V1 V2 V15 V9 V8 V14 V7 V6 V11 V12 V5 V4 V17'.split(' ')

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
  const found = CHECKS.map(([name, check], index): ValidityCheck => {
    return { id: `V${index + 1}` as ValidityCheckId, name, ...check(evidence, loopClass) }
  })
  const checks = isLateAndRight(evidence, found) ? found.map(asWarning) : found
  const verdict = weighChecks(evidence, checks)
  return { verdict, loopClass, reasons: verdictReasons(verdict, evidence, loopClass, checks), checks }
}

/** What other programs did to the moments of sending, and nothing else. */
const TIMING: readonly ValidityCheckId[] = ['V11', 'V12']

/** Server and tool take the same p99 over slightly other requests, and in other steps. */
const HOLDS_LATENESS = 0.9

/**
 * Whether a tool told how late it was and its latencies are those of the schedule all the same: on a busy machine its
 * candour is no reason to think less of it than of a tool that keeps its due times to itself. A latency from the due time
 * is never less than the lateness it holds; one from the moment of sending leaves that out, and is not the schedule's.
 */
function isLateAndRight(
  { latenessP99: late, claims, report }: ReportEvidence,
  checks: readonly ValidityCheck[],
): boolean {
  const passed = (wanted: ValidityCheckId) =>
    checks.some(({ id, result }) => id === wanted && result === 'ok')
  if (late === null || !passed('V5') || !passed('V7')) return false
  return claims.some(({ p, ms }) => p <= 0.99 && ms + report.quantum >= HOLDS_LATENESS * late)
}

const asWarning = (check: ValidityCheck): ValidityCheck =>
  check.result === 'busy' && TIMING.includes(check.id) ? { ...check, result: 'warn' } : check

function weighChecks(evidence: ReportEvidence, checks: readonly ValidityCheck[]): LoadToolVerdict['verdict'] {
  const spoiled = new Set(CHECKS.flatMap(([, , part], at) => (checks[at]?.result === 'fail' ? [part] : [])))
  const unreadable = spoiled.has('legibility') || !printsLatency(evidence)
  // A closed loop at its own pace is asked for a throughput; a rate or a stall asks for latencies.
  const asksLatency = evidence.declaredRate !== null || evidence.stalls !== null
  if (spoiled.has('everything')) return 'invalid'
  if (asksLatency && spoiled.has('latency')) return 'latency invalid'
  if (checks.some(({ result }) => result === 'busy')) return 'not judged'
  if (spoiled.has('ceiling')) return 'lower bound only'
  return unreadable || spoiled.has('latency') ? 'valid for throughput only' : 'valid'
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
  const headline = verdict === 'latency invalid' ? stalls.describeStallOutcome(evidence, loopClass) : null
  const of = (wanted: ValidityCheck['result']) =>
    checks.filter(({ result }) => result === wanted).sort((a, b) => explanatoryRank(a) - explanatoryRank(b))
  const busy = of('busy')
  const machine = checks.filter(({ id }) => busy.length > 0 && id === 'V17')
  const warned = of('warn').filter((check) => !machine.includes(check))
  const failed = of('fail')
  const decisive =
    verdict === 'not judged' ? [...machine, ...busy, ...failed] : [...failed, ...machine, ...busy]
  return [
    ...(headline === null ? [] : [headline]),
    ...[...decisive, ...warned].map(({ id, name, reason }) => `${id} ${name}: ${reason}`),
    ...(printsLatency(evidence) ? [] : ['the tool prints no latency']),
  ]
}

function explanatoryRank({ id }: ValidityCheck): number {
  const found = MOST_EXPLANATORY.indexOf(id)
  return found < 0 ? MOST_EXPLANATORY.length : found
}
