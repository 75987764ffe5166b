/** A comparison in one sentence. */
import type { LoadToolVerdict } from '../../../src/lab/run-summary.js'
import { type ScenarioSummary, toolNames } from './summary.js'

/** What a reader is told to do about a tool, in the order of the sentence. */
const ADVICE = {
  believe: 'Believe the latencies of',
  rate: 'of the throughput only believe',
  wrong: 'do not believe the latencies of',
  nothing: 'believe nothing of',
  unjudged: 'not judged, because the machine was busy:',
  silent: 'without figures:',
} as const

type Advice = keyof typeof ADVICE

/** Of the commonest verdict of each scenario that a tool was in, the one that decides: the first that occurs. */
const DECIDES: readonly (readonly [LoadToolVerdict['verdict'], Advice])[] = [
  ['invalid', 'nothing'],
  ['latency invalid', 'wrong'],
  ['not judged', 'unjudged'],
  ['valid for throughput only', 'rate'],
  ['lower bound only', 'rate'],
  ['valid', 'believe'],
]

export function conclusion(scenarios: readonly ScenarioSummary[]): string {
  const tools = toolNames(scenarios)
  if (tools.length === 0) return 'Nothing was measured.'
  const advised = tools.map((tool) => [adviceOn(tool, scenarios), tool] as const)
  const parts = (Object.keys(ADVICE) as Advice[]).flatMap((advice) => {
    const named = advised.flatMap(([own, tool]) => (own === advice ? [tool] : []))
    return named.length === 0 ? [] : [`${ADVICE[advice]} ${listed(named)}`]
  })
  const sentence = parts.join('; ')
  return `${sentence[0]!.toUpperCase()}${sentence.slice(1)}.`
}

function adviceOn(name: string, scenarios: readonly ScenarioSummary[]): Advice {
  const verdicts = scenarios.flatMap(({ tools }) =>
    tools.filter(({ tool }) => tool === name).map((tool) => tool.verdicts[0]?.value ?? null),
  )
  if (verdicts.every((verdict) => verdict === null)) return 'silent'
  return DECIDES.find(([verdict]) => verdicts.includes(verdict))![1]
}

const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
