/** A verdict as text: what the client says, what the server saw and what theory expects, side by side. */
import type { Check, CheckId, ClientReport, RunSummary, SeriesStep, Verdict } from '../truth.js'
import { dueInStalls } from './classify.js'
import { type Evidence, gatherEvidence } from './evidence.js'
import { LEAST_QUANTA } from './latency-claims.js'
import { ms, number, percent, ratio } from './wording.js'

/** The cells of a line: name, client, server, expected, checks. */
type Row = readonly [name: string, client: string, server: string, expected: string, checks: string]

const UNKNOWN = '–'
const QUANTILES = ['p50', 'p75', 'p90', 'p95', 'p99', 'p99.9', 'p99.99']

/**
 * Lines of text without a trailing line end; columns are aligned for a terminal. `series` as for `judge`: without it
 * rates are over the client's own time.
 */
export function validityReport(
  truth: RunSummary,
  report: ClientReport,
  verdict: Verdict,
  series: readonly SeriesStep[] = [],
): string {
  const evidence = gatherEvidence(truth, series, report)
  const noteOf = notes(verdict.checks)
  const rows: Row[] = [
    ['', 'client', 'server', 'expected', 'checks'],
    ...countRows(evidence, noteOf),
    ...latencyRows(evidence, noteOf),
    ...stallRow(evidence, noteOf),
  ]
  return [
    ...headLines(evidence),
    '',
    ...aligned(rows),
    '',
    ...footLines(evidence, verdict, noteOf),
    '',
    ...verdictLines(verdict),
  ].join('\n')
}

function headLines({ truth, report, stalls }: Evidence): string[] {
  const expect = truth.expect
  const asked =
    expect === null
      ? null
      : [
          `expect ${expect.loop}`,
          expect.rate === undefined ? '' : `${number(expect.rate)}/s`,
          expect.pattern ?? '',
          expect.connections === undefined ? '' : `${number(expect.connections)} connections`,
        ]
          .filter((word) => word !== '')
          .join(' ')
  const facts = [
    `run ${truth.id}`,
    `op ${Object.keys(truth.operations).join(', ') || UNKNOWN}`,
    asked,
    stalls === null ? null : `${stalls.kinds.join(' and ')} ${ms(stalls.longestMs)} ms`,
    `quantum ${ms(report.quantum)} ms`,
  ]
  return [facts.filter((fact) => fact !== null).join('   '), `tool ${report.tool}, version ${report.version}`]
}

function countRows(
  { truth, report, declaredRate, seconds, active }: Evidence,
  noteOf: (...ids: CheckId[]) => string,
): Row[] {
  const { total, window } = truth
  const due = declaredRate === null ? UNKNOWN : number(declaredRate * seconds)
  const served = total.completed / (active?.seconds ?? (seconds > 0 ? seconds : window.seconds))
  return [
    ['requests arrived', count(report.sent), number(total.arrivals), due, ''],
    ['requests done', number(report.done), number(total.completed), UNKNOWN, noteOf('V1')],
    [
      'rate /s',
      number(report.rps),
      number(served),
      declaredRate === null ? UNKNOWN : number(declaredRate),
      noteOf('V2', 'V12'),
    ],
    [
      'errors',
      number(Object.values(report.errors).reduce((sum, value) => sum + value, 0)),
      number(total.aborted),
      UNKNOWN,
      noteOf('V9'),
    ],
  ]
}

function latencyRows({ truth, report, expected }: Evidence, noteOf: (...ids: CheckId[]) => string): Row[] {
  const { service } = truth.total
  const printed = QUANTILES.filter((name) => report.percentiles[name] !== undefined)
  const last = printed.at(-1)
  const quantileRows = printed.map((name): Row => {
    const client = report.percentiles[name] ?? 0
    const coarse = client < LEAST_QUANTA * report.quantum ? 'V3 below quantum' : ''
    return [
      `        ${name}`,
      ms(client),
      latency(service.percentiles[name]),
      latency(expected?.quantile(Number(name.slice(1)) / 100)),
      [coarse, name === last ? noteOf('V5', 'V7') : ''].filter((note) => note !== '').join('   '),
    ]
  })
  return [
    ['latency mean ms', latency(report.mean), latency(service.mean), latency(expected?.mean), noteOf('V4')],
    ...quantileRows,
    [
      '        max',
      latency(report.max),
      latency(service.max),
      latency(expected?.max),
      last === undefined ? noteOf('V5', 'V7', 'V8') : noteOf('V8'),
    ],
  ]
}

function stallRow(evidence: Evidence, noteOf: (...ids: CheckId[]) => string): Row[] {
  const { stalls } = evidence
  if (stalls === null) return []
  const due = dueInStalls(evidence)
  return [
    [
      'arrivals in stall',
      UNKNOWN,
      number(stalls.arrivals),
      number(due),
      `${noteOf('V6')} openness ${ratio(due === 0 ? 0 : stalls.arrivals / due)}`.trim(),
    ],
  ]
}

function footLines(
  { truth, report }: Evidence,
  { loopClass }: Verdict,
  noteOf: (...ids: CheckId[]) => string,
) {
  const { peak, opened } = truth.connections
  const lateness = truth.total.lateness.count > 0 ? truth.total.lateness.percentiles.p99 : report.latenessP99
  const facts = [
    `generator CPU ${report.cpuCores > 0 ? `${percent(report.cpuShare)} %` : 'n/a'} ${noteOf('V10')}`,
    `lateness p99 ${lateness === undefined ? 'n/a' : `${ms(lateness)} ms ${noteOf('V11')}`}`,
    `connections ${number(peak)}/${number(report.connections)}, ${number(opened)} opened ${noteOf('V13', 'V14')}`,
    `server ${noteOf('V15', 'V16') || 'n/a'}`,
  ]
  return [`loop ${loopClass}`, facts.map((fact) => fact.trim()).join('   ')]
}

function verdictLines({ verdict, reasons }: Verdict): string[] {
  return [`VERDICT ${verdict}${reasons.length === 0 ? '' : ':'}`, ...reasons.map((reason) => `  - ${reason}`)]
}

/** `V1 ok`, `V12 FAIL`; what was not applicable is left out. */
function notes(checks: readonly Check[]): (...ids: CheckId[]) => string {
  return (...ids) =>
    checks
      .filter(({ id, result }) => ids.includes(id) && result !== 'n/a')
      .map(({ id, result }) => `${id} ${result === 'fail' ? 'FAIL' : result}`)
      .join('   ')
}

function aligned(rows: readonly Row[]): string[] {
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

function latency(value: number | undefined): string {
  return value === undefined ? UNKNOWN : ms(value)
}

function count(value: number | undefined): string {
  return value === undefined ? UNKNOWN : number(value)
}
