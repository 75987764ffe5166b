import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import tap, { test } from 'tap'
import { medianInterval } from '../../bench/harness/figures/statistics.js'
import { heatPlot } from '../../bench/loadlab/plots/heat-plot.js'
import { colourOf, darkModeCss } from '../../bench/loadlab/plots/palette.js'
import { ecdfPlot, percentilePlot } from '../../bench/loadlab/plots/percentile-plot.js'
import { seriesPlot } from '../../bench/loadlab/plots/series-plot.js'
import { highestRateWithinLimit, kneeOfSweep, sweepPlot } from '../../bench/loadlab/plots/sweep-plot.js'
import { conclusion } from '../../bench/loadlab/report/conclusion.js'
import type { ComparisonRun, Repetition, Sweep } from '../../bench/loadlab/report/repetition.js'
import { summarizeRun } from '../../bench/loadlab/report/summary.js'
import { verdictReason } from '../../bench/loadlab/report/wording.js'
import { writeReport } from '../../bench/loadlab/report/write-report.js'
import { type Lifetime, tempFolder } from '../support/data/temp-folder.js'
import { sampleComparison } from './lab-report-sample.js'

function written(lifetime: Lifetime, run: ComparisonRun) {
  const folder = tempFolder(lifetime)
  const report = writeReport(run, folder)
  return { ...report, read: (name: string) => readFileSync(join(folder, name), 'utf8') }
}

/** The whole sample, written once: it has some sixty plots. */
const SAMPLE = sampleComparison()
const whole = written(tap, SAMPLE)

/** A comparison of two tools in one scenario: small enough to look at. */
function smallRun(change: (one: Repetition) => Repetition = (one) => one): ComparisonRun {
  const repetitions = SAMPLE.repetitions.filter(
    ({ tool, scenario }) => scenario === 'hold' && ['hey -q', 'k6 with only 20 users'].includes(tool),
  )
  return { ...SAMPLE, repetitions: repetitions.map(change), sweeps: [] }
}

/** Why a text is no well-formed XML; null when it is. Knows what plots consist of: tags, attributes, text. */
function malformed(xml: string): string | null {
  const open: string[] = []
  const rest = xml.replace(
    /<(\/?)([a-zA-Z:]+)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>/g,
    (tag, end, name, _, alone) => {
      if (end === '') {
        if (alone === '') open.push(name)
      } else if (open.pop() !== name) open.push(`unexpected ${tag}`)
      return ''
    },
  )
  const ampersand = /&(?!(?:amp|lt|gt|quot|#\d+);)/.exec(xml)
  if (rest.includes('<')) return rest.slice(rest.indexOf('<'), rest.indexOf('<') + 120)
  if (ampersand !== null) return xml.slice(ampersand.index, ampersand.index + 40)
  return open.length === 0 ? null : open.join(' ')
}

test('six values give their range, nine the second to the eighth, twelve the third to the tenth', async (t) => {
  t.same(medianInterval([6, 1, 5, 2, 4, 3]), { median: 3.5, low: 1, high: 6, confidence: 0.96875, count: 6 })
  for (const [count, middle, low, high] of [
    [8, 4.5, 1, 8],
    [9, 5, 2, 8],
    [12, 6.5, 3, 10],
  ] as const) {
    const found = medianInterval(Array.from({ length: count }, (_, at) => count - at))!
    t.same([found.median, found.low, found.high], [middle, low, high])
    t.ok(found.confidence >= 0.95)
  }
  t.same(medianInterval([7]), { median: 7, low: 7, high: 7, confidence: 0, count: 1 })
  t.equal(medianInterval([]), null)
})

test('a comparison becomes Markdown, a page, data and plots', async (t) => {
  const { markdown, files, read } = whole
  t.match(files, ['report.md', 'report.html', 'run.json', 'repetitions.json'])
  const wanted: (string | RegExp)[] = [
    'Example CPU 3.0 GHz',
    'server: core 0, generator: core 1',
    '`node dist/src/main.js serve --lab`; 1 worker; truth recording on',
    'not run: vegeta (not installed)',
    'warm-up: 3 s of the same load',
    'from seed 20261120: (1) k6, wrk, hey; (2) wrk, hey, k6',
    'open files 1048576',
    /V10: wrk in saturation, round 3, got 0\.38 of a core/,
    'siege, round 1: siege printed nothing that its parser knows',
    'tool --connections 20 http://127.0.0.1:8080/',
    /hey -q +\| +latency invalid 6\/6 +\| +omitting 6\/6/,
    'VERDICT latency invalid:',
    /drive-sse +\| +500 +\| +24 800 +\| +20\d/,
    'The knee is at 82 800/s.',
    '## What this does not show',
  ]
  for (const fact of wanted) t.match(markdown, fact)
  const repetitions = JSON.parse(read('repetitions.json'))
  t.equal(repetitions.length, SAMPLE.repetitions.length)
  t.equal(JSON.parse(read('run.json')).orderSeed, 20_261_120)
  const linked = [...markdown.matchAll(/\]\(([^)]+\.svg)\)/g)].map(([, name]) => name!)
  t.ok(linked.length > 20)
  const plots = files.filter((name) => name.endsWith('.svg'))
  t.same([...new Set(linked)].sort(), plots.sort(), 'every plot is linked, and every linked plot is there')
})

test('every plot is a well-formed picture with a title, for light and dark', async (t) => {
  const { files, read } = whole
  for (const name of files.filter((file) => file.endsWith('.svg'))) {
    const svg = read(name)
    const style = /<style>[^<]*<\/style>/.exec(svg)?.[0] ?? ''
    t.match(style, 'prefers-color-scheme: dark')
    t.equal(malformed(svg.replace(style, '')), null, name)
    t.match(svg, /<title>[^<]+<\/title>/)
    t.notMatch(svg, /NaN|undefined|Infinity/)
  }
})

test('the page needs nothing from outside, runs no script, and no two things on it have one name', async (t) => {
  const { read } = whole
  const page = read('report.html')
  t.notMatch(page, /<script|<link(?! rel="icon" href="data:| rel="expect" href="#)|<img|<iframe|@import/)
  const found = (pattern: RegExp) => [...page.matchAll(pattern)].map(([, what]) => what!)
  const addresses = found(/(?:src|href|url)\s*[=(]\s*["']?([^"')\s>]+)/g)
  t.notOk(addresses.find((address) => !/^(#|data:)/.test(address)))
  const ids = found(/ id="([^"]+)"/g)
  t.equal(new Set(ids).size, ids.length)
  const named = new Set(ids)
  t.notOk(found(/(?:href="#|url\(#)([^")]+)/g).find((id) => !named.has(id)))
})

test('the reason beside a verdict is a reason of that verdict, whatever the typical round has', async (t) => {
  const wrkIn = (repetitions: ComparisonRun['repetitions']) =>
    summarizeRun({ ...SAMPLE, repetitions }).scenarios[0]!.tools[0]!
  const rounds = SAMPLE.repetitions.filter(
    ({ scenario, tool }) => scenario === 'saturation' && tool === 'wrk',
  )
  const { typical } = wrkIn(rounds)
  const other = { ...typical!.verdict, verdict: 'valid' as const, reasons: ['a reason of its own'] }
  const mixed = wrkIn(rounds.map((one) => (one.round === typical!.round ? { ...one, verdict: other } : one)))
  t.equal(mixed.typical?.verdict.verdict, 'valid')
  t.equal(verdictReason(mixed), typical!.verdict.reasons[0])
})

test('a report opens with its conclusion and what to know before it, on the page and in Markdown', async (t) => {
  const { markdown, read } = whole
  const believe = conclusion(summarizeRun(SAMPLE).scenarios)
  t.match(
    believe,
    /^Believe the latencies of .*loadtest --rps 200.*; do not believe the latencies of .*hey -q/,
  )
  const alone = SAMPLE.repetitions
    .filter(({ scenario, tool }) => scenario === 'saturation' && ['h2load', 'wrk'].includes(tool))
    .map((one) =>
      one.tool === 'wrk' ? one : { ...one, verdict: { ...one.verdict, verdict: 'valid' as const } },
    )
  t.equal(
    conclusion(summarizeRun({ ...SAMPLE, repetitions: alone }).scenarios),
    'The latencies of h2load fit what the server saw, but no rate and no stall was tried on them; of wrk believe the throughput only.',
  )
  const escaped = believe.replaceAll("'", '&#39;')
  for (const [text, sentence] of [
    [markdown, believe],
    [read('report.html'), escaped],
  ] as const) {
    const at = [sentence, SAMPLE.warnings[0]!, 'latency invalid'].map((part) => text.indexOf(part))
    t.same(
      at.toSorted((a, b) => a - b),
      at,
    )
    t.ok(at[0]! > 0)
  }
})

test('no two lines of a plot of all tools have one colour, and what is due is the thickest', async (t) => {
  const points = [1, 2].map((ms) => ({ percentile: ms * 40, ms }))
  const tools = Array.from({ length: 19 }, (_, i) => ({ name: `tool ${i}`, side: 'other' as const, points }))
  const own = ['drive', 'drive-poisson', 'drive-closed'].map((name) => ({
    name,
    side: 'ours' as const,
    points,
  }))
  const svg = percentilePlot('all', '', [...tools, ...own, { name: 'due', side: 'theory', points }], 1200)!
  const lines = [
    ...svg.matchAll(/<path d="M[^"]*L[^"]*" fill="none" stroke="([^"]+)" stroke-width="([^"]+)"/g),
  ]
    .map(([, colour, width]) => ({ colour, width: Number(width) }))
    .filter(({ width }) => width > 1.5)
  t.equal(lines.length, 23)
  t.equal(new Set(lines.map(({ colour }) => colour)).size, 23)
  const thick = lines.toSorted((a, b) => b.width - a.width).slice(0, 4)
  t.equal(thick[0]?.colour, colourOf('ink'))
  t.same(
    thick.slice(1).map(({ width }) => width),
    [3, 3, 3],
    'then ours',
  )
})

test('no two roles share a colour, neither light nor dark', async (t) => {
  const css = darkModeCss()
  for (const pattern of [/\[fill="([^"]+)"\]/g, /\[fill="[^"]+"\]\{fill:([^}]+)\}/g]) {
    const colours = [...css.matchAll(pattern)].map(([, colour]) => colour)
    t.equal(new Set(colours).size, colours.length)
  }
})

test('what a tool calls itself is text in every form of the report', async (t) => {
  const evil = '<img src=x>|"&'
  const { markdown, read, files } = written(
    t,
    smallRun((one) => ({ ...one, tool: evil, argv: [evil] })),
  )
  t.notMatch(read('report.html'), '<img')
  t.match(read('report.html'), '&lt;img src=x&gt;')
  t.match(markdown, '<img src=x>\\|"&')
  for (const name of files) t.match(name, /^[a-z0-9-]+\.[a-z]+$/)
})

test('a tool that never gave figures is named with its reason, and nothing of it is computed', async (t) => {
  const run = smallRun((one) =>
    one.tool === 'hey -q' ? { ...one, failure: 'hey hung and was stopped after 20 s' } : one,
  )
  const { markdown } = written(t, run)
  t.match(markdown, /hey -q +\| +no figures/)
  t.match(markdown, 'hey -q, round 6: hey hung and was stopped after 20 s')
  const [scenario] = summarizeRun(run).scenarios
  t.match(scenario?.tools, [{ rate: null }, { rate: { count: 6 } }])
})

test('rates are compared by round with the reference tool', async (t) => {
  const run = smallRun((one) => ({
    ...one,
    tool: one.tool === 'hey -q' ? 'hey' : 'drive',
    report: { ...one.report, rps: (one.tool === 'hey -q' ? 180 : 200) * one.round },
  }))
  const [scenario] = summarizeRun(run).scenarios
  t.equal(scenario?.reference, 'drive')
  const { paired } = scenario!.tools.find(({ tool }) => tool === 'hey')!
  t.match(paired, { median: 0.9, low: 0.9, high: 0.9, count: 6 })
  t.equal(scenario?.tools.find(({ tool }) => tool === 'drive')?.paired, null)
})

test('a run of nothing but failures, or of no repetition, is still a report', async (t) => {
  const failed = smallRun((one) => ({ ...one, failure: 'it crashed' }))
  t.match(written(t, failed).markdown, 'it crashed')
  t.match(written(t, { ...failed, repetitions: [] }).markdown, 'Which load tools to believe')
})

const SWEEP: Sweep = SAMPLE.sweeps![0]!

test('the knee is where latency begins to grow faster than throughput', async (t) => {
  t.equal(kneeOfSweep(SWEEP)?.target, 82_800)
  t.equal(highestRateWithinLimit(SWEEP)?.target, 82_800)
  t.equal(highestRateWithinLimit({ ...SWEEP, limitMs: 0.01 }), null)
  const straight = { ...SWEEP, points: SWEEP.points.map((point, index) => ({ ...point, p99: 2 ** index })) }
  t.equal(kneeOfSweep(straight), null, 'growth by the same factor has none')
  t.equal(kneeOfSweep({ ...SWEEP, points: SWEEP.points.slice(0, 3) }), null)
})

test('where there is nothing to draw there is no plot', async (t) => {
  t.equal(percentilePlot('x', '', [{ name: 'a', side: 'client', points: [] }]), null)
  t.equal(seriesPlot('x', '', [], []), null)
  t.equal(heatPlot('x', '', { stepMs: 100, edgesMs: [1, 2], counts: [[0]] }), null)
  t.equal(ecdfPlot('x', 'y', [{ name: 'a', points: [] }]), null)
  t.equal(sweepPlot({ ...SWEEP, points: [] }), null)
})

test('a percentile plot names its percentiles and a latency that is zero does not break it', async (t) => {
  const points = [
    { percentile: 50, ms: 0 },
    { percentile: 99, ms: 54 },
    { percentile: 99.9, ms: 59 },
  ]
  const svg = percentilePlot('autocannon', '', [{ name: 'client', side: 'client', points }])!
  for (const label of ['50 %', '90 %', '99 %', '99.9 %', 'latency, ms']) t.match(svg, `>${label}<`)
  t.equal(malformed(svg), null)
})
