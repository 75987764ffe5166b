import { test } from 'tap'
import { judgeReport } from '../../../src/lab/verdict/judge.js'
import { formatValidityReport } from '../../../src/lab/verdict/validity-report.js'
import { EXAMPLE, FIXED_RATES } from './reference-runs.js'

function linesOf({ truth, report }: typeof EXAMPLE): string[] {
  return formatValidityReport(truth, report, judgeReport(truth, [], report)).split('\n')
}

test('the example reads as the reference prints it: client, server and expected side by side', async (t) => {
  const lines = linesOf(EXAMPLE)
  t.match(lines[0], /^run 7f3a {3}op hello {3}expect open 200\/s constant 20 connections {3}hold 1000 ms/)
  t.ok(lines.some((line) => /^requests done +1623 +1623/.test(line)))
  t.ok(lines.some((line) => /^ +p50 +0 +0\.02 +0\.\d+ +V3 below quantum/.test(line)))
  t.ok(lines.some((line) => /^ +p99 +54 +52\.9 +920/.test(line)))
  t.ok(lines.some((line) => /^arrivals in stall +– +20 +200 +V6 warn openness 0\.10/.test(line)))
  t.ok(lines.includes('VERDICT latency invalid:'))
  t.ok(lines.some((line) => /V12 pattern: bursty: dispersion 130/.test(line)))
})

test('the columns of the table end at the same place', async (t) => {
  const lines = linesOf(EXAMPLE)
  const from = lines.findIndex((line) => /client +server +expected/.test(line))
  const end = lines[from]!.indexOf('expected') + 'expected'.length
  const until = lines.indexOf('', from)
  for (const line of lines.slice(from, until)) t.match(line.slice(0, end), /\S$/, line)
})

test('a good run ends in a verdict without reasons', async (t) => {
  const lines = linesOf(FIXED_RATES.at(-1)!)
  t.equal(lines.at(-1), 'VERDICT valid')
})
