import { test } from 'tap'
import { PoolCounters } from '../../src/cpu-pool/counters.js'
import { Lane } from '../../src/cpu-pool/lane.js'

test('a task whose threads cannot be started fails, however many did before', async (t) => {
  // Piscina refuses to be made so.
  const options = { threads: 1, maxQueuedCost: 10, filename: 'none', nice: 'none' as never, sharedJobs: 1 }
  const lane = new Lane(options, new PoolCounters())
  const order = { cost: 1, caller: 'one', cancellation: { aborted: false, onAbort: () => {} } }
  for (let n = 0; n < 4; n++)
    await t.rejects(lane.run('count-tokens', { texts: [] }, order), { name: 'Fault', kind: 'internal' })
  t.equal(lane.queued, 0)
})
