/** Writes a comparison to its folder: Markdown, a page, a plot to a file, and every repetition as it was. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { standaloneSvg } from '../plots/svg-chart.js'
import { renderMarkdown } from './markdown.js'
import { renderPage } from './page.js'
import { plotsOfRun } from './plots-of-run.js'
import type { ComparisonRun } from './repetition.js'
import { summarizeRun } from './summary.js'

/** `folder` is made when it is missing; files of an earlier report of the same run are overwritten. */
export function writeReport(run: ComparisonRun, folder: string) {
  const summaries = summarizeRun(run)
  const plots = plotsOfRun(run, summaries.scenarios)
  const markdown = renderMarkdown(run, summaries, plots)
  const texts: [string, string][] = [
    ['report.md', markdown],
    ['report.html', renderPage(run, summaries, plots)],
    [
      'run.json',
      `${JSON.stringify({ ...run, repetitions: undefined, discarded: summaries.discarded.map(({ reason }) => reason) }, null, 1)}\n`,
    ],
    // One repetition to a line: the file of a long comparison can be read by a program that streams.
    ['repetitions.json', `[\n${run.repetitions.map((one) => JSON.stringify(one)).join(',\n')}\n]\n`],
    ...plots.map(({ file, svg }): [string, string] => [`${file}.svg`, standaloneSvg(svg)]),
  ]
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of texts) writeFileSync(join(folder, name), text)
  return {
    markdown,
    /** Files in the folder, by name. */
    files: texts.map(([name]) => name),
  }
}
