/** What is written down about a trial, as JSON and as text. */
import type { Trial, TrialBar, TrialFigure, TrialOutcome } from './trial.js'

export type TrialFinding = ReturnType<typeof judgeTrial>

/** Turns an outcome or a broken trial into a finding. A trial without any bar has not passed. */
export function judgeTrial(trial: Trial, rounds: number, seconds: number, result: TrialOutcome | Error) {
  const broken = result instanceof Error
  return {
    trial: trial.name,
    rounds,
    seconds,
    passed: !broken && result.bars.length > 0 && result.bars.every((bar) => bar.met),
    outcome: broken ? null : { figures: [], notes: [], ...result },
    /** When the trial itself broke. */
    fault: broken ? result : null,
  }
}

/** At most three decimals, and no more digits than the value is worth. */
function formatNumber(value: number): string {
  if (!Number.isFinite(value) || Number.isInteger(value)) return String(value)
  return value.toFixed(Math.abs(value) >= 100 ? 1 : 3)
}

const formatFigure = ({ value, unit }: TrialFigure): string => `${formatNumber(value)} ${unit}`.trimEnd()

function formatBar(bar: TrialBar): string {
  return `  ${bar.met ? 'met   ' : 'MISSED'}  ${bar.name}: ${formatFigure(bar)}  (bar: ${bar.limit})`
}

/** The text block of one finding. */
export function formatFinding({ trial, rounds, seconds, passed, outcome, fault }: TrialFinding): string {
  const lines = [
    `${passed ? 'PASS' : 'FAIL'}  ${trial}  (${rounds} ${rounds === 1 ? 'round' : 'rounds'}, ${seconds.toFixed(1)} s)`,
    ...(fault === null ? [] : [`  BROKEN  ${fault.message}`]),
    ...(outcome?.bars ?? []).map(formatBar),
    ...(outcome?.figures ?? []).map((one) => `          ${one.name}: ${formatFigure(one)}`),
    ...(outcome?.notes ?? []).map((note) => `  note    ${note}`),
  ]
  return `${lines.join('\n')}\n`
}
