/** The results of a drill, for people and for programs. */

import type { ScenarioResult } from '../drill/judge.js'
import { DELIVERY_MODES, type DeliveryMode } from '../drill/scenario.js'
import { DRILL_VERDICTS, type DrillVerdict, scoreResults } from '../drill/verdict.js'
import { formatTable, sanitizeForTerminal } from './command.js'

/** What `--json` prints; the score in per cent. */
export function createDrillReport(gateway: string, results: readonly ScenarioResult[]) {
  return {
    gateway,
    score: scoreResults(results),
    passed: haveAllPassed(results),
    whole: countVerdicts(results, 'whole'),
    streamed: countVerdicts(results, 'streamed'),
    results: results.map(({ scenario: { id, name }, mode, verdict, ms, complaints }) => {
      return { scenario: id, name, mode, verdict, ms, complaints }
    }),
  }
}

export function haveAllPassed(results: readonly ScenarioResult[]): boolean {
  return results.length > 0 && results.every(({ verdict }) => verdict === 'pass')
}

function countVerdicts(results: readonly ScenarioResult[], mode: DeliveryMode) {
  const count = (verdict: DrillVerdict): number =>
    results.filter((result) => result.mode === mode && result.verdict === verdict).length
  return Object.fromEntries(DRILL_VERDICTS.map((verdict) => [verdict, count(verdict)]))
}

/** A line per scenario, a line per thing that disagrees, and what it comes to. */
export function formatDrillReport(gateway: string, results: readonly ScenarioResult[]): string {
  const ids = [...new Set(results.map(({ scenario }) => scenario.id))]
  const rows = ids.map((id) => {
    const own = DELIVERY_MODES.map((mode) =>
      results.find((each) => each.scenario.id === id && each.mode === mode),
    )
    return [
      id,
      own[0]?.scenario.name ?? '',
      ...own.map((each) => each?.verdict ?? ''),
      ...own.map((each) => `${each?.ms ?? ''}`),
    ]
  })
  const table = formatTable([
    ['', 'scenario', ...DELIVERY_MODES, ...DELIVERY_MODES.map((mode) => `${mode} ms`)],
    ...rows,
  ])
  const reasons = results.flatMap(({ scenario, mode, verdict, complaints }) =>
    complaints.map((sentence) => `${scenario.id} ${mode} ${verdict}: ${sanitizeForTerminal(sentence)}\n`),
  )
  const parts = [`drill of ${gateway}\n`, table, reasons.join(''), formatVerdictCounts(results)]
  return parts.filter((part) => part !== '').join('\n')
}

function formatVerdictCounts(results: readonly ScenarioResult[]): string {
  const lines = DELIVERY_MODES.map((mode) => {
    const counts = countVerdicts(results, mode)
    const said = DRILL_VERDICTS.map((verdict) => `${counts[verdict]} ${verdict}`).join(', ')
    return `${mode.padEnd(8)}  ${said}\n`
  })
  return `${lines.join('')}score     ${scoreResults(results)} %\n`
}
