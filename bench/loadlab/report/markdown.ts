/** A comparison as Markdown. */
import { figure } from '../plots/axes.js'
import { highestWithin, kneeOf } from '../plots/sweep-plot.js'
import type { Plot } from './plots-of-run.js'
import type { ComparisonRun, Sweep } from './repetition.js'
import type { RunSummaries, ScenarioSummary, ToolSummary } from './summary.js'
import {
  commandOf,
  facts,
  LEGEND,
  LIMITS,
  STREAM_HEAD,
  streamCells,
  TOOL_CELLS,
  UNKNOWN,
  validityOf,
  votes,
  why,
} from './wording.js'

export function renderMarkdown(
  run: ComparisonRun,
  { scenarios, discarded }: RunSummaries,
  plots: readonly Plot[],
): string {
  const parts = [
    '# Which load tools to believe',
    matrix(scenarios),
    'A cell holds the verdict and the kind of loop in the rounds, the rest of this page says why.',
    ...scenarios.flatMap((scenario) => scenarioParts(scenario, plots)),
    ...(run.sweeps ?? []).map((sweep) => sweepPart(sweep, plots)),
    `## How it was measured\n\n${list(facts(run))}`,
    `## Discarded\n\n${discarded.length === 0 ? 'No repetition.' : list(discarded.map(({ reason }) => reason))}`,
    `## What this does not show\n\n${LIMITS}`,
  ]
  return `${parts.join('\n\n')}\n`
}

function matrix(scenarios: readonly ScenarioSummary[]): string {
  const tools = [...new Set(scenarios.flatMap((scenario) => scenario.tools.map(({ tool }) => tool)))]
  const cell = (tool: ToolSummary | undefined) =>
    tool === undefined || tool.verdicts.length === 0
      ? tool === undefined
        ? UNKNOWN
        : 'no figures'
      : `${tool.verdicts[0]!.value} (${tool.classes[0]!.value})`
  const rows = tools.map((name) => [
    name,
    ...scenarios.map((scenario) => cell(scenario.tools.find(({ tool }) => tool === name))),
  ])
  return table(['tool', ...scenarios.map(({ name }) => name)], rows)
}

function scenarioParts(scenario: ScenarioSummary, plots: readonly Plot[]): string[] {
  const { name, says, tools, reference } = scenario
  const good = tools.filter(({ repetitions }) => repetitions.length > 0)
  const failures = tools.flatMap(({ tool, failures }) => failures.map((failure) => `${tool}, ${failure}`))
  return [
    `## ${name}`,
    says,
    table(
      ['tool', ...TOOL_CELLS.head],
      good.map((tool) => [tool.tool, ...TOOL_CELLS.of(tool)]),
    ),
    reference === null ? LEGEND : `${LEGEND} Reference here: ${reference}.`,
    list(good.map((tool) => `**${tool.tool}**, ${votes(tool.verdicts)}: ${why(tool)}`)),
    ...streamPart(good),
    ...(failures.length === 0 ? [] : [`Repetitions without figures:\n\n${list(failures)}`]),
    ...pictures(plots.filter((plot) => plot.scenario === name && plot.tool === null)),
    ...good.flatMap((tool) =>
      toolParts(
        tool,
        plots.filter((plot) => plot.scenario === name && plot.tool === tool.tool),
      ),
    ),
  ]
}

function streamPart(tools: readonly ToolSummary[]): string[] {
  const rows = tools.flatMap((tool) => [streamCells(tool)]).filter((cells) => cells !== null)
  return rows.length === 0 ? [] : [table(STREAM_HEAD, rows)]
}

function toolParts(tool: ToolSummary, plots: readonly Plot[]): string[] {
  const { typical } = tool
  if (typical === null) return []
  return [
    `### ${tool.tool}, round ${typical.round}`,
    `\`\`\`\n${commandOf(tool)}\n\n${validityOf(typical)}\n\`\`\``,
    ...pictures(plots),
  ]
}

function sweepPart(sweep: Sweep, plots: readonly Plot[]): string {
  const best = highestWithin(sweep)
  const knee = kneeOf(sweep)
  const rows = sweep.points.map(({ target, achieved, p50, p99, errors }) =>
    [target, achieved, p50, p99, errors].map(figure),
  )
  const sentence = [
    `A closed loop reached ${figure(sweep.capacity)}/s.`,
    best === null
      ? `No rate kept p99 within ${figure(sweep.limitMs)} ms.`
      : `p99 stayed within ${figure(sweep.limitMs)} ms up to ${figure(best.target)}/s.`,
    knee === null ? 'The sweep shows no knee.' : `The knee is at ${figure(knee.achieved)}/s.`,
  ].join(' ')
  return [
    `## Throughput against latency: ${sweep.scenario}`,
    sentence,
    table(['target/s', 'answered/s', 'p50 ms', 'p99 ms', 'errors'], rows),
    ...pictures(plots.filter(({ kind, scenario }) => kind === 'sweep' && scenario === sweep.scenario)),
  ].join('\n\n')
}

function pictures(plots: readonly Plot[]): string[] {
  return plots.map(
    ({ file, kind, tool, scenario }) => `![${kind}: ${tool ?? 'all tools'}, ${scenario}](${file}.svg)`,
  )
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join('\n')
}

/** First column to the left, the others to the right; padded so that it reads well in a terminal too. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const safe = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))
  const widths = head.map((name, column) =>
    Math.max(name.length, 2, ...safe.map((row) => row[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))).join(' | ')} |`
  const rule = `| ${widths.map((width, at) => (at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`
  return [line(head), rule, ...safe.map(line)].join('\n')
}
