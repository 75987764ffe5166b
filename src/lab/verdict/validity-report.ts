/** A verdict as text: what the client says, what the server saw and what theory expects, side by side. */
import type {
  LoadToolReport,
  LoadToolVerdict,
  RunSummary,
  SeriesStep,
  ValidityCheck,
  ValidityCheckId,
} from '../run-summary.js'
import { addUp } from '../sums.js'
import { gatherEvidence, LEAST_QUANTA, type ReportEvidence } from './evidence.js'
import { formatMs, formatNumber, formatPercent, formatRatio } from './wording.js'

/** The cells of a line: name, client, server, expected, checks. */
type ReportLine = readonly [name: string, client: string, server: string, expected: string, checks: string]

/** What is to be said of these checks. */
type CheckNotes = (...ids: ValidityCheckId[]) => string

const UNKNOWN = '–'
const QUANTILES = ['p50', 'p75', 'p90', 'p95', 'p99', 'p99.9', 'p99.99']

/**
 * Lines of text without a trailing line end; columns are aligned for a terminal. `series` as for `judge`: without it
 * rates are over the client's own time.
 */
export function formatValidityReport(
  truth: RunSummary,
  report: LoadToolReport,
  verdict: LoadToolVerdict,
  series: readonly SeriesStep[] = [],
): string {
  const evidence = gatherEvidence(truth, series, report)
  const noteOf = createCheckNotes(verdict.checks)
  const rows: ReportLine[] = [
    ['', 'client', 'server', 'expected', 'checks'],
    ...countRows(evidence, noteOf),
    ...latencyRows(evidence, noteOf),
    ...stallRow(evidence, noteOf),
  ]
  return [
    ...headLines(evidence),
    '',
    ...alignColumns(rows),
    '',
    ...footLines(evidence, verdict, noteOf),
    '',
    ...verdictLines(verdict),
  ].join('\n')
}

function headLines({ truth, report, stalls }: ReportEvidence): string[] {
  const { expect, id, operations } = truth
  const asked = expect && [
    `expect ${expect.loop}`,
    expect.rate !== undefined && `${formatNumber(expect.rate)}/s`,
    expect.pattern,
    expect.connections !== undefined && `${formatNumber(expect.connections)} connections`,
  ]
  const facts = [
    `run ${id}`,
    `op ${Object.keys(operations).join(', ') || UNKNOWN}`,
    asked?.filter(Boolean).join(' '),
    stalls !== null && `${stalls.kinds.join(' and ')} ${formatMs(stalls.longestMs)} ms`,
    `quantum ${formatMs(report.quantum)} ms`,
  ]
  return [facts.filter(Boolean).join('   '), `tool ${report.tool}, version ${report.version}`]
}

/** A line of three figures: of the client, of the server, and expected. */
function figureLine(
  name: string,
  format: (figure: number) => string,
  [client, server, expected]: readonly (number | null | undefined)[],
  notes = '',
): ReportLine {
  const cell = (figure: number | null | undefined): string => (figure == null ? UNKNOWN : format(figure))
  return [name, cell(client), cell(server), cell(expected), notes]
}

function countRows(
  { truth, report, declaredRate, seconds, due, active }: ReportEvidence,
  noteOf: CheckNotes,
): ReportLine[] {
  const { total, window } = truth
  const served = total.completed / (active?.seconds ?? (seconds > 0 ? seconds : window.seconds))
  const errors = addUp(Object.values(report.errors))
  return [
    figureLine('requests arrived', formatNumber, [report.sent, total.arrivals, due]),
    figureLine('requests done', formatNumber, [report.done, total.completed], noteOf('V1')),
    figureLine('rate /s', formatNumber, [report.rps, served, declaredRate], noteOf('V2', 'V12')),
    figureLine('errors', formatNumber, [errors, total.aborted], noteOf('V9')),
  ]
}

function latencyRows({ truth, report, expected }: ReportEvidence, noteOf: CheckNotes): ReportLine[] {
  const { service } = truth.total
  const printed = QUANTILES.filter((name) => report.percentiles[name] !== undefined)
  const quantileRows = printed.map((name): ReportLine => {
    const client = report.percentiles[name] ?? 0
    const notes = [
      client < LEAST_QUANTA * report.quantum ? 'V3 below quantum' : '',
      name === printed.at(-1) ? noteOf('V5', 'V7') : '',
    ]
    return figureLine(
      `        ${name}`,
      formatMs,
      [client, service.percentiles[name], expected?.quantile(Number(name.slice(1)) / 100)],
      notes.filter((note) => note !== '').join('   '),
    )
  })
  const atMaximum = printed.length === 0 ? noteOf('V5', 'V7', 'V8') : noteOf('V8')
  return [
    figureLine('latency mean ms', formatMs, [report.mean, service.mean, expected?.mean], noteOf('V4')),
    ...quantileRows,
    figureLine('        max', formatMs, [report.max, service.max, expected?.max], atMaximum),
  ]
}

function stallRow({ stalls, dueInStalls }: ReportEvidence, noteOf: CheckNotes): ReportLine[] {
  if (stalls === null) return []
  const openness = `openness ${formatRatio(dueInStalls === 0 ? 0 : stalls.arrivals / dueInStalls)}`
  const notes = `${noteOf('V6')} ${openness}`.trim()
  return [figureLine('arrivals in stall', formatNumber, [null, stalls.arrivals, dueInStalls], notes)]
}

function footLines(
  { truth, report, latenessP99: lateness }: ReportEvidence,
  { loopClass }: LoadToolVerdict,
  noteOf: CheckNotes,
): string[] {
  const { peak, opened } = truth.connections
  const facts = [
    `generator CPU ${report.cpuCores > 0 ? `${formatPercent(report.cpuShare)} %` : 'n/a'} ${noteOf('V10')}`,
    `lateness p99 ${lateness === null ? 'n/a' : `${formatMs(lateness)} ms ${noteOf('V11')}`}`,
    `connections ${formatNumber(peak)}/${formatNumber(report.connections)}, ${formatNumber(opened)} opened ${noteOf('V13', 'V14')}`,
    `server ${noteOf('V15', 'V16') || 'n/a'}`,
    `machine ${noteOf('V17') || 'n/a'}`,
  ]
  return [`loop ${loopClass}`, facts.map((fact) => fact.trim()).join('   ')]
}

function verdictLines({ verdict, reasons }: LoadToolVerdict): string[] {
  return [`VERDICT ${verdict}${reasons.length === 0 ? '' : ':'}`, ...reasons.map((reason) => `  - ${reason}`)]
}

/** `V1 ok`, `V12 FAIL`; what was not applicable is left out. */
function createCheckNotes(checks: readonly ValidityCheck[]): CheckNotes {
  return (...ids) =>
    checks
      .filter(({ id, result }) => ids.includes(id) && result !== 'n/a')
      .map(({ id, result }) => `${id} ${result === 'fail' ? 'FAIL' : result}`)
      .join('   ')
}

function alignColumns(rows: readonly ReportLine[]): string[] {
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map(([name, client, server, expected, checks]) =>
    [
      name.padEnd(widths[0]!),
      client.padStart(widths[1]! + 2),
      server.padStart(widths[2]! + 2),
      expected.padStart(widths[3]! + 2),
      `   ${checks}`,
    ]
      .join(' ')
      .trimEnd(),
  )
}
