import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { Lane, PoolCounters } from '../../src/cpu-pool/lane.js'
import { faultOf, orderOf } from '../support/peers/pool-deeds.js'
import { type Deed, Watched } from '../support/peers/pool-task.js'

const FILENAME = fileURLToPath(new URL('../support/peers/pool-task.js', import.meta.url))

function boundedLane(t: { after(end: () => Promise<void>): void }): Lane {
  const options = { threads: 1, maxQueuedCost: 1000, filename: FILENAME, nice: 0, sharedJobs: 1 }
  const lane = new Lane({ ...options, bounds: { jobMs: 1, heapMb: 64 } }, new PoolCounters())
  t.after(() => lane.close())
  return lane
}

const submit = async (lane: Lane, job: Watched) => lane.run('pbkdf2', job.input, orderOf({}))

test('a job that runs longer than it may ends with its thread, once, and those behind it are answered', async (t) => {
  const lane = boundedLane(t)
  const endless = new Watched('hold')
  const behind = new Watched('answer')
  const [failed, answered] = await Promise.all([faultOf(submit(lane, endless)), submit(lane, behind)])
  t.match(failed, { kind: 'internal', detail: /its thread died/ })
  t.match(answered, { value: { hash: 'answer' } })
  t.equal(endless.runs, 1, 'it is not tried again')
})

for (const deed of ['exit-once', 'throw-once'] satisfies Deed[]) {
  test(`in a lane with bounds, a job that ends in "${deed}" is not tried again`, async (t) => {
    const lane = boundedLane(t)
    const doomed = new Watched(deed)
    t.match(await faultOf(submit(lane, doomed)), { kind: 'internal' })
    t.equal(doomed.runs, 1)
    await t.resolves(submit(lane, new Watched('answer')))
  })
}
