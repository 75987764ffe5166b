/** When the gate of CI shuts. */
import { test } from 'tap'
import { medianInterval } from '../../../bench/harness/figures/statistics.js'
import { type CostRecords, judgeCosts, recordFor } from '../../../bench/performance/gate.js'

const cost = (median: number) => ({ median, low: median - 0.1, high: median + 0.1 })
const RECORDS: CostRecords = {
  'Intel(R) Xeon(R) Processor, family 6': { node: 'v20.19.0', revision: 'a', costs: { chat: cost(2) } },
  'AMD EPYC, family 26': { node: 'v20.19.0', revision: 'a', costs: { chat: cost(3) } },
}

test('only what costs over a tenth more with its whole interval is too dear', async (t) => {
  const record = recordFor('AMD EPYC, family 26', 'v20.20.2', RECORDS)
  const judged = (...values: readonly number[]) => judgeCosts({ chat: medianInterval(values)! }, record)[0]
  t.match(judged(3.3, 3.2, 3.4, 3.5, 3.6, 3.6), { tooDear: false, cheaper: false }, 'in part')
  t.match(judged(3.31, 3.32, 3.4, 3.5, 3.6, 3.6), { tooDear: true })
  t.match(judged(2, 2.1, 2.2, 2.3, 2.4, 2.5), { tooDear: false, cheaper: true })
  t.throws(() => judgeCosts({ get: medianInterval([1])! }, record), /nothing is recorded for get/)
})

test('a processor or a version of Node that is not recorded is told and never too dear', async (t) => {
  t.equal(recordFor('AMD EPYC, family 26', 'v22.1.0', RECORDS), null, 'another version of Node')
  t.equal(recordFor('AMD EPYC, family 23', 'v20.20.2', RECORDS), null, 'another generation of the same name')
  t.equal(recordFor('toString', 'v20.20.2', RECORDS), null)
  const [judged] = judgeCosts({ chat: medianInterval([9, 9, 9, 9, 9, 9])! }, null)
  t.match(judged, { recorded: null, tooDear: false, cheaper: false })
})
