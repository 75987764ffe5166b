/** Findings as commands print them. */
import type { Finding } from '../doctor/finding.js'
import { type CommandOutput, sanitizeForTerminal } from './command.js'

/** A line each, or JSON. The exit code is 1 when one of them fails. */
export function describeFindings(findings: readonly Finding[], isJson: boolean): CommandOutput {
  const isWell = findings.every(({ verdict }) => verdict !== 'fail')
  const json = (): string => `${JSON.stringify({ ok: isWell, findings }, null, 2)}\n`
  return { text: isJson ? json() : findings.map(formatFinding).join(''), code: isWell ? 0 : 1 }
}

function formatFinding({ check, verdict, found, remedy }: Finding): string {
  const line = `${verdict.padEnd(4)}  ${check.padEnd(14)}  ${found}${remedy === null ? '' : `: ${remedy}`}`
  return `${sanitizeForTerminal(line)}\n`
}
