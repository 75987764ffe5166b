/** A comparison as one page of HTML that needs nothing else: its plots and its style are in it, and it has no script. */
import type { LoadToolVerdict } from '../../../src/lab/run-summary.js'
import { type Columns, cellsOf, headsOf } from '../../harness/figures/markdown.js'
import { darkModeCss } from '../plots/palette.js'
import { escapeXml } from '../plots/svg-chart.js'
import { conclusion } from './conclusion.js'
import { PAGE_STYLE } from './page-style.js'
import { fileName, type Plot } from './plots-of-run.js'
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
  validityText,
  verdictReason,
  voteCounts,
} from './wording.js'

/** Painted when all of it has been read, in browsers that know `expect`: columns of half a table move. */
export function renderPage(
  run: ComparisonRun,
  { scenarios, discarded }: RunSummaries,
  plots: readonly Plot[],
): string {
  const sections = [...scenarios.map(({ name }) => name), 'method', 'limits']
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Which load tools to believe</title>
<link rel="icon" href="data:,">
<style>${PAGE_STYLE}${darkModeCss('figure')}</style>
<link rel="expect" href="#whole" blocking="render">
</head>
<body>
<main>
<h1>Which load tools to believe</h1>
<p class="meta">${escapeXml(run.startedAt.slice(0, 16).replace('T', ' '))} UTC, ${run.rounds} round${run.rounds === 1 ? '' : 's'}, ${escapeXml(run.machine.cpu)}, revision ${escapeXml(run.source.revision)}</p>
<p class="conclusion">${escapeXml(conclusion(scenarios))}</p>
${warningList(run.warnings)}
<nav>${sections.map((name) => `<a href="#${fileName(name)}">${escapeXml(name)}</a>`).join('')}</nav>
${verdictMatrix(scenarios)}
${scenarios.map((scenario) => scenarioSection(scenario, plots)).join('\n')}
${(run.sweeps ?? []).map((sweep) => sweepSection(sweep, plots)).join('\n')}
<h2 id="method">How it was measured</h2>
<ul class="facts">${methodFacts(run)
    .map((fact) => `<li>${withCodeTags(fact)}</li>`)
    .join('')}</ul>
<h3>Discarded repetitions</h3>
${discarded.length === 0 ? '<p>None.</p>' : `<ul class="facts">${discarded.map(({ reason }) => `<li>${escapeXml(reason)}</li>`).join('')}</ul>`}
<h2 id="limits">What this does not show</h2>
<p>${escapeXml(LIMITS)}</p>
</main>
<span id="whole"></span>
</body>
</html>
`
}

/** What to know before any verdict. */
function warningList(warnings: readonly string[]): string {
  if (warnings.length === 0) return ''
  return `<ul class="warnings">${warnings.map((warning) => `<li>${escapeXml(warning)}</li>`).join('')}</ul>`
}

function verdictMatrix(scenarios: readonly ScenarioSummary[]): string {
  const rows = toolNames(scenarios).map((name) => {
    const cells = scenarios.map((scenario) =>
      verdictCell(
        scenario.name,
        scenario.tools.find(({ tool }) => tool === name),
      ),
    )
    return `<tr><td>${escapeXml(name)}</td>${cells.join('')}</tr>`
  })
  const head = scenarios.map(
    ({ name }) => `<th class="left"><a href="#${fileName(name)}">${escapeXml(name)}</a></th>`,
  )
  return `<div class="wide"><table><thead><tr><th>tool</th>${head.join('')}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`
}

function verdictCell(scenario: string, tool: ToolSummary | undefined): string {
  if (tool === undefined) return '<td class="left none">–</td>'
  const verdict = tool.verdicts[0]
  const said =
    verdict === undefined
      ? verdictChip('invalid', 'no figures')
      : `<span>${verdictChip(verdict.value)} <span class="loop">${escapeXml(tool.classes[0]?.value ?? '')} ${votesNote(tool)}</span></span>`
  return `<td class="left" data-head="${escapeXml(scenario)}">${said}</td>`
}

function votesNote({ verdicts, repetitions }: ToolSummary): string {
  return verdicts.length > 1 ? `${verdicts[0]!.times} of ${repetitions.length} rounds` : ''
}

const TONE: Readonly<Record<LoadToolVerdict['verdict'], 'good' | 'some' | 'calm' | 'bad'>> = {
  valid: 'good',
  'valid for throughput only': 'some',
  'lower bound only': 'some',
  'not judged': 'calm',
  'latency invalid': 'bad',
  invalid: 'bad',
}

function verdictChip(verdict: LoadToolVerdict['verdict'], text: string = verdict): string {
  return `<span class="chip ${TONE[verdict]}">${escapeXml(text)}</span>`
}

function scenarioSection(scenario: ScenarioSummary, plots: readonly Plot[]): string {
  const { name, says, reference } = scenario
  const { good, failures } = figuresAndFailures(scenario)
  const own = plots.filter((plot) => plot.scenario === name && plot.kind !== 'sweep')
  const streams = streamRows(good)
  return `<h2 id="${fileName(name)}">${escapeXml(name)}</h2>
<p>${escapeXml(says)}</p>
<ul class="why">${good.map((tool) => `<li><b>${escapeXml(tool.tool)}</b><span>${verdictChip(tool.verdicts[0]!.value)} ${escapeXml(verdictReason(tool))}</span></li>`).join('')}</ul>
${failures.length === 0 ? '' : `<p class="note">Without figures: ${escapeXml(failures.join('; '))}.</p>`}
${plotFigures(own.filter(({ tool }) => tool === null))}
${htmlTable(TOOL_COLUMNS, good, 3)}
${streams.length === 0 ? '' : htmlTable(STREAM_COLUMNS, streams, 1)}
<p class="note">${escapeXml(LEGEND)}${reference === null ? '' : ` Reference here: ${escapeXml(reference)}.`}</p>
${good
  .map((tool) =>
    toolDetails(
      tool,
      own.filter((plot) => plot.tool === tool.tool),
    ),
  )
  .join('\n')}`
}

/** The first `words` columns are text and stand to the left. */
function htmlTable<Row>(columns: Columns<Row>, rows: readonly Row[], words: number): string {
  const heads = headsOf(columns).map(escapeXml)
  const cells = (tag: 'th' | 'td', texts: readonly string[]) =>
    texts
      .map(
        (text, at) =>
          `<${tag}${at < words ? ' class="left"' : ''}${tag === 'td' && at > 0 ? ` data-head="${heads[at]}"` : ''}>${unbroken(escapeXml(text))}</${tag}>`,
      )
      .join('')
  return `<div class="wide"><table><thead><tr>${cells('th', headsOf(columns))}</tr></thead><tbody>${rows.map((row) => `<tr>${cells('td', cellsOf(columns, row))}</tr>`).join('')}</tbody></table></div>`
}

/** The space within a number is no place for the end of a line. */
const unbroken = (text: string): string => text.replaceAll(/(?<=\d) (?=\d{3})/g, '\u00a0')

function toolDetails(tool: ToolSummary, plots: readonly Plot[]): string {
  if (tool.typical === null) return ''
  return `<details><summary>${escapeXml(tool.tool)}: ${escapeXml(voteCounts(tool.verdicts))}</summary><div>
<pre>${escapeXml(toolCommandLine(tool))}</pre>
<pre>${escapeXml(validityText(tool.typical))}</pre>
${plotFigures(plots)}
</div></details>`
}

function sweepSection(sweep: Sweep, plots: readonly Plot[]): string {
  return `<h2>Throughput against latency: ${escapeXml(sweep.scenario)}</h2>
<p>${escapeXml(sweepSentences(sweep))}</p>
${plotFigures(plots.filter(({ kind, scenario }) => kind === 'sweep' && scenario === sweep.scenario))}`
}

function plotFigures(plots: readonly Plot[]): string {
  if (plots.length === 0) return ''
  return `<div class="plots">${plots.map(plotFigure).join('')}</div>`
}

function plotFigure({ svg, narrow, file }: Plot): string {
  if (narrow === undefined) return `<figure>${withUniqueIds(svg, file)}</figure>`
  const [broad, small] = [withUniqueIds(svg, file), withUniqueIds(narrow, `${file}-narrow`)]
  return `<figure class="broad">${broad}</figure><figure class="narrow">${small}</figure>`
}

/** Clip paths have names, and on one page no two plots may share one. */
function withUniqueIds(svg: string, file: string): string {
  return svg.replace(/(id="|url\(#|href="#)(zr\d+)/g, `$1${file}-$2`)
}

const withCodeTags = (text: string): string => escapeXml(text).replace(/`([^`]*)`/g, '<code>$1</code>')
