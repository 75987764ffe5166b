/** A comparison as Markdown. */
import { bulletList, columnTable, markdownTable } from '../../harness/figures/markdown.js'
import { formatFigure } from '../plots/axes.js'
import { conclusion } from './conclusion.js'
import type { Plot } from './plots-of-run.js'
import type { ComparisonRun, Sweep } from './repetition.js'
import { type RunSummaries, type ScenarioSummary, type ToolSummary, toolNames } from './summary.js'
import {
  figuresAndFailures,
  LEGEND,
  LIMITS,
  methodFacts,
  STREAM_COLUMNS,
  streamRows,
  sweepSentences,
  TOOL_COLUMNS,
  toolCommandLine,
  UNKNOWN,
  validityText,
  verdictReason,
  voteCounts,
} from './wording.js'

export function renderMarkdown(
  run: ComparisonRun,
  { scenarios, discarded }: RunSummaries,
  plots: readonly Plot[],
): string {
  const parts = [
    '# Which load tools to believe',
    conclusion(scenarios),
    ...(run.warnings.length === 0 ? [] : [bulletList(run.warnings.map((warning) => `**Note**: ${warning}`))]),
    verdictMatrix(scenarios),
    'A cell holds the verdict and the kind of loop in the rounds, the rest of this page says why.',
    ...scenarios.flatMap((scenario) => scenarioParts(scenario, plots)),
    ...(run.sweeps ?? []).map((sweep) => sweepPart(sweep, plots)),
    `## How it was measured\n\n${bulletList(methodFacts(run))}`,
    `## Discarded\n\n${discarded.length === 0 ? 'No repetition.' : bulletList(discarded.map(({ reason }) => reason))}`,
    `## What this does not show\n\n${LIMITS}`,
  ]
  return `${parts.join('\n\n')}\n`
}

function verdictMatrix(scenarios: readonly ScenarioSummary[]): string {
  const cell = (tool: ToolSummary | undefined): string => {
    if (tool === undefined) return UNKNOWN
    const [verdict] = tool.verdicts
    return verdict === undefined ? 'no figures' : `${verdict.value} (${tool.classes[0]!.value})`
  }
  const rows = toolNames(scenarios).map((name) => [
    name,
    ...scenarios.map((scenario) => cell(scenario.tools.find(({ tool }) => tool === name))),
  ])
  return markdownTable(['tool', ...scenarios.map(({ name }) => name)], rows)
}

function scenarioParts(scenario: ScenarioSummary, plots: readonly Plot[]): string[] {
  const { name, says, reference } = scenario
  const { good, failures } = figuresAndFailures(scenario)
  const streams = streamRows(good)
  return [
    `## ${name}`,
    says,
    columnTable(TOOL_COLUMNS, good),
    reference === null ? LEGEND : `${LEGEND} Reference here: ${reference}.`,
    bulletList(good.map((tool) => `**${tool.tool}**, ${voteCounts(tool.verdicts)}: ${verdictReason(tool)}`)),
    ...(streams.length === 0 ? [] : [columnTable(STREAM_COLUMNS, streams)]),
    ...(failures.length === 0 ? [] : [`Repetitions without figures:\n\n${bulletList(failures)}`]),
    ...plotImages(plots.filter((plot) => plot.scenario === name && plot.tool === null)),
    ...good.flatMap((tool) =>
      toolParts(
        tool,
        plots.filter((plot) => plot.scenario === name && plot.tool === tool.tool),
      ),
    ),
  ]
}

function toolParts(tool: ToolSummary, plots: readonly Plot[]): string[] {
  const { typical } = tool
  if (typical === null) return []
  return [
    `### ${tool.tool}, round ${typical.round}`,
    `\`\`\`\n${toolCommandLine(tool)}\n\n${validityText(typical)}\n\`\`\``,
    ...plotImages(plots),
  ]
}

function sweepPart(sweep: Sweep, plots: readonly Plot[]): string {
  const rows = sweep.points.map(({ target, achieved, p50, p99, errors }) =>
    [target, achieved, p50, p99, errors].map(formatFigure),
  )
  return [
    `## Throughput against latency: ${sweep.scenario}`,
    sweepSentences(sweep),
    markdownTable(['target/s', 'answered/s', 'p50 ms', 'p99 ms', 'errors'], rows),
    ...plotImages(plots.filter(({ kind, scenario }) => kind === 'sweep' && scenario === sweep.scenario)),
  ].join('\n\n')
}

function plotImages(plots: readonly Plot[]): string[] {
  return plots.map(
    ({ file, kind, tool, scenario }) => `![${kind}: ${tool ?? 'all tools'}, ${scenario}](${file}.svg)`,
  )
}
