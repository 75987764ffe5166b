import { type Test, test } from 'tap'
import type { LoadToolVerdict } from '../../../src/lab/run-summary.js'
import { judgeReport } from '../../../src/lab/verdict/judge.js'
import {
  EXAMPLE,
  FIXED_RATES,
  KNOWN_DISTRIBUTION,
  OUTAGES,
  type ReferenceRun,
  SATURATIONS,
} from './reference-runs.js'

function failing({ checks }: LoadToolVerdict): string[] {
  return checks.filter(({ result }) => result === 'fail').map(({ id }) => id)
}

function verify(t: Test, { truth, report, loopClass, verdict, fails }: ReferenceRun): LoadToolVerdict {
  const judged = judgeReport(truth, [], report)
  t.equal(judged.loopClass, loopClass)
  t.equal(judged.verdict, verdict, judged.reasons.join('\n'))
  t.same(failing(judged), fails, judged.reasons.join('\n'))
  for (const { id, result, reason } of judged.checks) {
    if (result === 'fail' || result === 'warn')
      t.match(reason, /\d.*\d/, `${id} names two figures: ${reason}`)
  }
  return judged
}

const TABLES: [string, readonly ReferenceRun[]][] = [
  ['an outage', OUTAGES],
  ['a fixed rate', FIXED_RATES],
  ['a known distribution', KNOWN_DISTRIBUTION],
]
for (const [table, runs] of TABLES) {
  for (const run of runs) {
    test(`in ${table}, ${run.name} is ${run.loopClass}: ${run.verdict}`, async (t) => {
      verify(t, run)
    })
  }
}

for (const run of SATURATIONS) {
  test(`at saturation, ${run.name} has a Little ratio of ${run.ratio}`, async (t) => {
    const judged = verify(t, run)
    t.match(judged.checks[3]?.reason, `ratio ${run.ratio}`)
  })
}

test('hey is told how many requests are missing, and how far off its percentiles are', async (t) => {
  const hey = OUTAGES.find(({ name }) => name === 'hey -q')!
  const omission = judgeReport(hey.truth, [], hey.report).checks[6]?.reason
  t.match(omission, '1440 requests arrived of 1600 due: 160 are missing')
  t.match(omission, /p90 0\.7 ms, where the schedule saw 200 ms/)
})

test('wrk is told that its timeouts are no samples', async (t) => {
  const wrk = OUTAGES.find(({ loopClass }) => loopClass === 'censored')!
  const judged = judgeReport(wrk.truth, [], wrk.report)
  t.equal(
    judged.checks[8]?.reason,
    '16 requests ended as timeouts while the server stood for 3000 ms, which are no samples, and its maximum is 10.2 ms',
  )
  t.match(judged.reasons[0], 'an outage of 3000 ms is no sample')
})

test('the example is judged as the reference judges it', async (t) => {
  const judged = verify(t, EXAMPLE)
  t.match(judged.reasons[0], 'an outage of 1000 ms is almost invisible (max 59 ms)')
  t.match(judged.checks[5]?.reason, '20 of 200 due requests came during the stall (openness 0.10)')
  t.match(judged.checks[11]?.reason, 'bursty: dispersion 130')
})
