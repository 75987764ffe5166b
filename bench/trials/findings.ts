import type { Bar, Figure, Outcome, Trial } from './trial.js'

/** What is written down about one trial. `fault` replaces the outcome when the trial itself broke. */
export interface Finding {
  readonly trial: string
  readonly rounds: number
  readonly seconds: number
  readonly passed: boolean
  readonly outcome: Outcome | null
  readonly fault: Error | null
}

/** Turns an outcome or a broken trial into a finding. A trial without any bar has not passed. */
export function findingOf(trial: Trial, rounds: number, seconds: number, result: Outcome | Error): Finding {
  const broken = result instanceof Error
  return {
    trial: trial.name,
    rounds,
    seconds,
    passed: !broken && result.bars.length > 0 && result.bars.every((bar) => bar.met),
    outcome: broken ? null : result,
    fault: broken ? result : null,
  }
}

/** The form of a finding that goes into the JSON file. */
export function recordOf(finding: Finding): Record<string, unknown> {
  return { ...finding, fault: finding.fault?.message ?? null }
}

/** At most three decimals, and no more digits than the value is worth. */
function printNumber(value: number): string {
  if (!Number.isFinite(value) || Number.isInteger(value)) return String(value)
  return value.toFixed(Math.abs(value) >= 100 ? 1 : 3)
}

function printValue({ value, unit }: Figure): string {
  return unit === '' ? printNumber(value) : `${printNumber(value)} ${unit}`
}

function printBar(bar: Bar): string {
  return `  ${bar.met ? 'met   ' : 'MISSED'}  ${bar.name}: ${printValue(bar)}  (bar: ${bar.limit})`
}

/** The text block of one finding. */
export function printFinding({ trial, rounds, seconds, passed, outcome, fault }: Finding): string {
  const lines = [
    `${passed ? 'PASS' : 'FAIL'}  ${trial}  (${rounds} ${rounds === 1 ? 'round' : 'rounds'}, ${seconds.toFixed(1)} s)`,
  ]
  if (fault !== null) lines.push(`  BROKEN  ${fault.message}`)
  if (outcome) {
    lines.push(...outcome.bars.map(printBar))
    lines.push(...outcome.figures.map((one) => `          ${one.name}: ${printValue(one)}`))
    lines.push(...outcome.notes.map((note) => `  note    ${note}`))
  }
  return `${lines.join('\n')}\n`
}
