import { test } from 'tap'
import type { FaultPlan } from '../../../src/lab/control/requests.js'
import { faultWindowAt } from '../../../src/lab/faults/active-fault.js'

const PLAN: FaultPlan = {
  id: 'f',
  kind: 'slow',
  op: '*',
  worker: null,
  startMs: 1_000,
  forMs: 50,
  everyMs: null,
  prob: 1,
  seed: 0,
  status: 503,
  addMs: 10,
  bytesPerS: 0,
  token: 0,
  maxHeld: 10,
}

const CASES: readonly (readonly [Partial<FaultPlan>, number, readonly [number, number] | null])[] = [
  [{}, 0, [1_000, 1_050]],
  [{}, 1_000, [1_000, 1_050]],
  [{}, 1_049.9, [1_000, 1_050]],
  [{}, 1_050, null],
  [{ forMs: null }, 1e9, [1_000, Number.POSITIVE_INFINITY]],
  [{ everyMs: 200 }, 500, [1_000, 1_050]],
  [{ everyMs: 200 }, 1_050, [1_200, 1_250]],
  [{ everyMs: 200 }, 1_200, [1_200, 1_250]],
  [{ everyMs: 200 }, 1_249, [1_200, 1_250]],
  [{ everyMs: 200 }, 1_250, [1_400, 1_450]],
  [{ everyMs: 50 }, 1_050, [1_050, 1_100]],
]

test('the window of a fault is the one under way or the next', async (t) => {
  for (const [change, at, expected] of CASES) {
    const window = faultWindowAt({ ...PLAN, ...change }, at)
    t.same(window === null ? null : [window.from, window.to], expected, `${JSON.stringify(change)} at ${at}`)
  }
})
