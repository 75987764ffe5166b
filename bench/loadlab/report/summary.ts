import { gatherEvidence } from '../../../src/lab/verdict/evidence.js'
import type { ExpectedLatency } from '../../../src/lab/verdict/expected-latency.js'
import { type MedianInterval, medianInterval, medianOfKnown } from '../../harness/figures/statistics.js'
import { discardDisturbed } from '../runner/discard.js'
import type { ComparisonRun, Repetition } from './repetition.js'

export interface ValueCount<T> {
  readonly value: T
  readonly times: number
}

export type ToolSummary = ReturnType<typeof summarizeTool>

export type ScenarioSummary = ReturnType<typeof summarizeScenario>

export type RunSummaries = ReturnType<typeof summarizeRun>

/** Disturbed repetitions are taken out first, by rule and before any result is looked at. */
export function summarizeRun(run: ComparisonRun) {
  const { kept, discarded } = discardDisturbed(run.repetitions)
  const scenarios = run.scenarios.flatMap(({ name, says }) => {
    const ofScenario = kept.filter(({ scenario }) => scenario === name)
    return ofScenario.length === 0 ? [] : [summarizeScenario(name, says, ofScenario)]
  })
  return { scenarios, discarded }
}

/** Every tool of a comparison. */
export function toolNames(scenarios: readonly ScenarioSummary[]): string[] {
  return [...new Set(scenarios.flatMap(({ tools }) => tools.map(({ tool }) => tool)))].sort(compareToolNames)
}

function summarizeScenario(name: string, says: string, repetitions: readonly Repetition[]) {
  const tools = [...new Set(repetitions.map(({ tool }) => tool))].sort(compareToolNames)
  const usable = repetitions.filter(({ failure }) => failure === undefined)
  const reference = referenceTool(tools.filter((tool) => usable.some((one) => one.tool === tool)))
  return {
    name,
    says,
    /** The tool that the others' rates are compared with; null for a single one. */
    reference,
    tools: tools.map((tool) =>
      summarizeTool(
        tool,
        repetitions.filter((one) => one.tool === tool),
        usable.filter((one) => one.tool === reference && reference !== tool),
      ),
    ),
  }
}

/** Rounds draw their order, tables have one: our drivers, then the others by name. */
function compareToolNames(a: string, b: string): number {
  return Number(b.startsWith('drive')) - Number(a.startsWith('drive')) || a.localeCompare(b)
}

/** Our own driver where it ran: its schedule is known. Otherwise the first tool. */
function referenceTool(tools: readonly string[]): string | null {
  if (tools.length < 2) return null
  return tools.find((tool) => tool === 'drive') ?? tools.find((tool) => tool.startsWith('drive')) ?? tools[0]!
}

function summarizeTool(tool: string, all: readonly Repetition[], peers: readonly Repetition[]) {
  const good = all.filter(({ failure }) => failure === undefined)
  const generatorCpu = medianOfKnown(good.map(({ cpu }) => cpu.generator)) ?? 0
  const perSecond = good.flatMap(({ report, cpu }) => (cpu.generator > 0 ? [report.rps / cpu.generator] : []))
  return {
    tool,
    /** Repetitions that count, in their order. */
    repetitions: good,
    failures: all.flatMap(({ round, failure }) =>
      failure === undefined ? [] : [`round ${round}: ${failure}`],
    ),
    rate: medianInterval(good.map(({ report }) => report.rps)),
    /** By name of the percentile; `mean` and `max` too. Medians of what the tool printed. */
    client: medianByName(
      good.map(({ report: { percentiles, mean, max } }) => ({ ...percentiles, mean, max })),
    ),
    server: medianByName(good.map(({ truth: { total } }) => total.service.percentiles)),
    errors: sumOf(good.flatMap(({ report }) => Object.values(report.errors))),
    non2xx: sumOf(
      good.map(({ report }) =>
        sumOf(Object.entries(report.statuses).map(([status, n]) => (status.startsWith('2') ? 0 : n))),
      ),
    ),
    generatorCpu,
    serverCpu: medianOfKnown(good.map(({ cpu }) => cpu.server)) ?? 0,
    perGeneratorSecond: medianOfKnown(perSecond),
    /** Requests per second over those of the scenario's reference tool in the same round. */
    paired: pairedRatio(good, peers),
    /** Most frequent first. */
    verdicts: countValues(good.map(({ verdict }) => verdict.verdict)),
    classes: countValues(good.map(({ verdict }) => verdict.loopClass)),
    /** The repetition whose p99 (or rate) is the median: plots and the validity report show it. */
    typical: typicalRepetition(good),
  }
}

function pairedRatio(good: readonly Repetition[], peers: readonly Repetition[]): MedianInterval | null {
  const ratios = good.flatMap(({ round, report }) => {
    const peer = peers.find((one) => one.round === round)
    return peer === undefined || peer.report.rps === 0 ? [] : [report.rps / peer.report.rps]
  })
  return medianInterval(ratios)
}

function typicalRepetition(good: readonly Repetition[]): Repetition | null {
  const weight = ({ report }: Repetition) => report.percentiles.p99 ?? report.mean ?? report.rps
  return [...good].sort((a, b) => weight(a) - weight(b))[(good.length - 1) >> 1] ?? null
}

/** What the schedule must have seen in this repetition; null where that is unknown. */
export function expectedLatency({ truth, series, report }: Repetition): ExpectedLatency | null {
  return gatherEvidence(truth, series, report).expected
}

function medianByName(records: readonly Readonly<Record<string, number | undefined>>[]) {
  const names = new Set(records.flatMap((record) => Object.keys(record)))
  const medians = [...names].map(
    (name) => [name, medianOfKnown(records.map((record) => record[name]))] as const,
  )
  return Object.fromEntries(medians.filter((pair): pair is [string, number] => pair[1] !== null))
}

/** Most frequent first. */
export function countValues<T>(values: readonly T[]): ValueCount<T>[] {
  const counts = new Map<T, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].map(([value, times]) => ({ value, times })).sort((a, b) => b.times - a.times)
}

const sumOf = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
