/** When the gate of CI shuts. */
import { test } from 'tap'
import { medianInterval } from '../../../bench/harness/figures/statistics.js'
import { type CostRecords, judgeCosts, nearestRecord } from '../../../bench/performance/gate.js'

const cost = (median: number) => ({ median, low: median - 0.1, high: median + 0.1 })
const RECORDS: CostRecords = {
  'Intel(R) Xeon(R) Processor': { node: 'v20', revision: 'a', costs: { chat: cost(2) } },
  'AMD EPYC 9005': { node: 'v20', revision: 'a', costs: { chat: cost(3) } },
}

test('only what costs over a tenth more with its whole interval is too dear', async (t) => {
  const [, record] = nearestRecord('AMD EPYC 9005', { 'AMD EPYC 9005': RECORDS['AMD EPYC 9005']! })
  const judged = (...values: readonly number[]) => judgeCosts({ chat: medianInterval(values)! }, record)[0]
  t.match(judged(3.3, 3.2, 3.4, 3.5, 3.6, 3.6), { tooDear: false, cheaper: false }, 'in part')
  t.match(judged(3.31, 3.32, 3.4, 3.5, 3.6, 3.6), { tooDear: true })
  t.match(judged(2, 2.1, 2.2, 2.3, 2.4, 2.5), { tooDear: false, cheaper: true })
  t.throws(() => judgeCosts({ get: medianInterval([1])! }, record), /nothing is recorded for get/)
})

test('an unknown processor is held against the one that is most like it', async (t) => {
  t.equal(nearestRecord('AMD EPYC 9005', RECORDS)[0], 'AMD EPYC 9005')
  t.equal(nearestRecord('AMD EPYC 7763 64-Core Processor', RECORDS)[0], 'AMD EPYC 9005')
  t.equal(nearestRecord('Intel(R) Xeon(R) Platinum 8488C', RECORDS)[0], 'Intel(R) Xeon(R) Processor')
  t.throws(() => nearestRecord('any', {}), /holds nothing/)
})
