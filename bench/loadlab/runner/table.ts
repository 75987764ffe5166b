/** The table at the end of a comparison: which tool to believe, and why. */
import type { LoadToolVerdict } from '../../../src/lab/run-summary.js'
import type { Repetition } from '../report/repetition.js'
import { countValues } from '../report/summary.js'
import { decisiveReason } from '../report/wording.js'

const SEVERITY: readonly LoadToolVerdict['verdict'][] = [
  'valid',
  'lower bound only',
  'valid for throughput only',
  'not judged',
  'latency invalid',
  'invalid',
]

/** One row per scenario and tool: how its verdicts fell, its class, and the first reason of the commonest verdict. */
export function verdictTable(repetitions: readonly Repetition[], scenarios: readonly string[]): string {
  const lines: string[] = []
  for (const scenario of scenarios) {
    const own = repetitions.filter((repetition) => repetition.scenario === scenario)
    if (own.length === 0) continue
    lines.push('', scenario, '-'.repeat(scenario.length))
    const tools = [...new Set(own.map(({ tool }) => tool))]
    const rows = tools.map((tool) =>
      toolRow(
        tool,
        own.filter((repetition) => repetition.tool === tool),
      ),
    )
    rows.sort((a, b) => a.severity - b.severity || a.tool.localeCompare(b.tool))
    for (const { tool, words, loopClass, why } of rows) {
      lines.push(`${tool.padEnd(20)} ${words.padEnd(32)} ${loopClass.padEnd(10)} ${why}`.trimEnd())
    }
  }
  return `${lines.join('\n').trimStart()}\n`
}

function toolRow(tool: string, repetitions: readonly Repetition[]) {
  const verdicts = repetitions.map(({ verdict }) => verdict)
  const commonest = mostFrequent(verdicts.map(({ verdict }) => verdict))
  const typical = verdicts.find(({ verdict }) => verdict === commonest)!
  const share = verdicts.filter(({ verdict }) => verdict === commonest).length
  const words = repetitions.length === 1 ? commonest : `${commonest} (${share} of ${repetitions.length})`
  const loopClass = mostFrequent(verdicts.map((verdict) => verdict.loopClass))
  return {
    tool,
    severity: SEVERITY.indexOf(commonest),
    words,
    loopClass,
    why: toOneLine(decisiveReason(typical)),
  }
}

const mostFrequent = <T>(values: readonly T[]): T => countValues(values)[0]!.value

function toOneLine(text: string): string {
  const flat = text.replaceAll(/\s+/g, ' ').trim()
  return flat.length > 200 ? `${flat.slice(0, 199)}…` : flat
}
