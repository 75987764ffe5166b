/** A comparison in one sentence. */
import type { LoadToolVerdict } from '../../../src/lab/run-summary.js'
import { type ScenarioSummary, type ToolSummary, toolNames } from './summary.js'

/** What a reader is told about tools, in the order of the sentence. */
const ADVICE = {
  believe: (tools: string) => `believe the latencies of ${tools}`,
  untried: (tools: string) =>
    `the latencies of ${tools} fit what the server saw, but no rate and no stall was tried on them`,
  rate: (tools: string) => `of ${tools} believe the throughput only`,
  wrong: (tools: string) => `do not believe the latencies of ${tools}`,
  nothing: (tools: string) => `believe nothing of ${tools}`,
  unjudged: (tools: string) => `not judged, because the machine was busy: ${tools}`,
  silent: (tools: string) => `without figures: ${tools}`,
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
    return named.length === 0 ? [] : [ADVICE[advice](listed(named))]
  })
  const sentence = parts.join('; ')
  return `${sentence[0]!.toUpperCase()}${sentence.slice(1)}.`
}

function adviceOn(name: string, scenarios: readonly ScenarioSummary[]): Advice {
  const own = scenarios.flatMap(({ tools }) => tools.filter(({ tool }) => tool === name))
  const verdicts = own.flatMap((tool) => tool.verdicts[0]?.value ?? [])
  const [, advice] = DECIDES.find(([verdict]) => verdicts.includes(verdict)) ?? [null, 'silent' as const]
  return advice === 'believe' && !own.some(wasTried) ? 'untried' : advice
}

/** A closed loop at its own pace, in front of a server that answers, shows nothing of what it hides from its users. */
const wasTried = ({ typical }: ToolSummary): boolean =>
  typical?.report.rate !== undefined || typical?.truth.stalls.some(({ kind }) => kind === 'hold') === true

const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
