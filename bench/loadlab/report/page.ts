/** A comparison as one page of HTML that needs nothing else: its plots and its style are in it, and it has no script. */
import type { Verdict } from '../../../src/lab/truth.js'
import { figure } from '../plots/axes.js'
import { darkRules } from '../plots/palette.js'
import { escaped } from '../plots/svg-chart.js'
import { highestWithin, kneeOf } from '../plots/sweep-plot.js'
import { PAGE_STYLE } from './page-style.js'
import { fileName, type Plot } from './plots-of-run.js'
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
  validityOf,
  votes,
  why,
} from './wording.js'

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
<style>${PAGE_STYLE}${darkRules('figure')}</style>
</head>
<body>
<main>
<h1>Which load tools to believe</h1>
<p class="meta">${escaped(run.startedAt.slice(0, 16).replace('T', ' '))} UTC, ${run.rounds} round${run.rounds === 1 ? '' : 's'}, ${escaped(run.machine.cpu)}, revision ${escaped(run.source.revision)}</p>
<nav>${sections.map((name) => `<a href="#${fileName(name)}">${escaped(name)}</a>`).join('')}</nav>
${matrix(scenarios)}
${scenarios.map((scenario) => scenarioSection(scenario, plots)).join('\n')}
${(run.sweeps ?? []).map((sweep) => sweepSection(sweep, plots)).join('\n')}
<h2 id="method">How it was measured</h2>
<ul class="facts">${facts(run)
    .map((fact) => `<li>${coded(fact)}</li>`)
    .join('')}</ul>
<h3>Discarded repetitions</h3>
${discarded.length === 0 ? '<p>None.</p>' : `<ul class="facts">${discarded.map(({ reason }) => `<li>${escaped(reason)}</li>`).join('')}</ul>`}
<h2 id="limits">What this does not show</h2>
<p>${escaped(LIMITS)}</p>
</main>
</body>
</html>
`
}

function matrix(scenarios: readonly ScenarioSummary[]): string {
  const tools = [...new Set(scenarios.flatMap((scenario) => scenario.tools.map(({ tool }) => tool)))]
  const rows = tools.map((name) => {
    const cells = scenarios.map(
      (scenario) => `<td class="left">${verdictCell(scenario.tools.find(({ tool }) => tool === name))}</td>`,
    )
    return `<tr><td>${escaped(name)}</td>${cells.join('')}</tr>`
  })
  const head = scenarios.map(
    ({ name }) => `<th class="left"><a href="#${fileName(name)}">${escaped(name)}</a></th>`,
  )
  return `<div class="wide"><table><thead><tr><th>tool</th>${head.join('')}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`
}

function verdictCell(tool: ToolSummary | undefined): string {
  if (tool === undefined) return '<span class="note">not run</span>'
  const verdict = tool.verdicts[0]
  if (verdict === undefined) return chip('invalid', 'no figures')
  return `${chip(verdict.value)}<span class="loop">${escaped(tool.classes[0]?.value ?? '')} ${votesNote(tool)}</span>`
}

function votesNote({ verdicts, repetitions }: ToolSummary): string {
  return verdicts.length > 1 ? `${verdicts[0]!.times} of ${repetitions.length} rounds` : ''
}

const TONE: Readonly<Record<Verdict['verdict'], 'good' | 'some' | 'bad'>> = {
  valid: 'good',
  'valid for throughput only': 'some',
  'lower bound only': 'some',
  'latency invalid': 'bad',
  invalid: 'bad',
}

function chip(verdict: Verdict['verdict'], text: string = verdict): string {
  return `<span class="chip ${TONE[verdict]}">${escaped(text)}</span>`
}

function scenarioSection({ name, says, tools, reference }: ScenarioSummary, plots: readonly Plot[]): string {
  const good = tools.filter(({ repetitions }) => repetitions.length > 0)
  const failures = tools.flatMap(({ tool, failures }) => failures.map((failure) => `${tool}, ${failure}`))
  const own = plots.filter((plot) => plot.scenario === name && plot.kind !== 'sweep')
  return `<h2 id="${fileName(name)}">${escaped(name)}</h2>
<p>${escaped(says)}</p>
<ul class="why">${good.map((tool) => `<li><b>${escaped(tool.tool)}</b><span>${chip(tool.verdicts[0]!.value)} ${escaped(why(tool))}</span></li>`).join('')}</ul>
${failures.length === 0 ? '' : `<p class="note">Without figures: ${escaped(failures.join('; '))}.</p>`}
${figures(own.filter(({ tool }) => tool === null))}
${toolTable(good)}
${streamTable(good)}
<p class="note">${escaped(LEGEND)}${reference === null ? '' : ` Reference here: ${escaped(reference)}.`}</p>
${good
  .map((tool) =>
    toolDetails(
      tool,
      own.filter((plot) => plot.tool === tool.tool),
    ),
  )
  .join('\n')}`
}

function toolTable(tools: readonly ToolSummary[]): string {
  return table(
    ['tool', ...TOOL_CELLS.head],
    tools.map((tool) => [tool.tool, ...TOOL_CELLS.of(tool)]),
    3,
  )
}

function streamTable(tools: readonly ToolSummary[]): string {
  const rows = tools.map(streamCells).filter((cells) => cells !== null)
  return rows.length === 0 ? '' : table(STREAM_HEAD, rows, 1)
}

/** The first `words` columns are text and stand to the left. */
function table(head: readonly string[], rows: readonly (readonly string[])[], words: number): string {
  const cells = (tag: 'th' | 'td', texts: readonly string[]) =>
    texts.map((text, at) => `<${tag}${at < words ? ' class="left"' : ''}>${escaped(text)}</${tag}>`).join('')
  return `<div class="wide"><table><thead><tr>${cells('th', head)}</tr></thead><tbody>${rows.map((row) => `<tr>${cells('td', row)}</tr>`).join('')}</tbody></table></div>`
}

function toolDetails(tool: ToolSummary, plots: readonly Plot[]): string {
  if (tool.typical === null) return ''
  return `<details><summary>${escaped(tool.tool)}: ${escaped(votes(tool.verdicts))}</summary><div>
<pre>${escaped(commandOf(tool))}</pre>
<pre>${escaped(validityOf(tool.typical))}</pre>
${figures(plots)}
</div></details>`
}

function sweepSection(sweep: Sweep, plots: readonly Plot[]): string {
  const best = highestWithin(sweep)
  const knee = kneeOf(sweep)
  const sentence = [
    `A closed loop reached ${figure(sweep.capacity)}/s.`,
    best === null
      ? `No rate kept p99 within ${figure(sweep.limitMs)} ms.`
      : `p99 stayed within ${figure(sweep.limitMs)} ms up to ${figure(best.target)}/s.`,
    knee === null ? 'The sweep shows no knee.' : `The knee is at ${figure(knee.achieved)}/s.`,
  ].join(' ')
  return `<h2>Throughput against latency: ${escaped(sweep.scenario)}</h2>
<p>${escaped(sentence)}</p>
${figures(plots.filter(({ kind, scenario }) => kind === 'sweep' && scenario === sweep.scenario))}`
}

function figures(plots: readonly Plot[]): string {
  if (plots.length === 0) return ''
  return `<div class="plots">${plots.map(({ svg, file }) => `<figure>${unique(svg, file)}</figure>`).join('')}</div>`
}

/** Clip paths have names, and on one page no two plots may share one. */
function unique(svg: string, file: string): string {
  return svg.replace(/(id="|url\(#|href="#)(zr\d+)/g, `$1${file}-$2`)
}

function coded(text: string): string {
  return escaped(text).replace(/`([^`]*)`/g, '<code>$1</code>')
}
