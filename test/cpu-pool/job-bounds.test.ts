import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { PoolCounters } from '../../src/cpu-pool/counters.js'
import { Lane, type TaskOrder } from '../../src/cpu-pool/lane.js'
import { faultOf, Leaver, orderOf } from '../support/peers/pool-deeds.js'
import { type Deed, Watched } from '../support/peers/pool-task.js'
import { eventually } from '../support/timing/eventually.js'

const FILENAME = fileURLToPath(new URL('../support/peers/pool-task.js', import.meta.url))

function boundedLane(t: { after(end: () => Promise<void>): void }, threads = 1, jobMs = 1): Lane {
  const options = { threads, maxQueuedCost: 1000, filename: FILENAME, nice: 0, sharedJobs: 1 }
  const lane = new Lane({ ...options, bounds: { jobMs, heapMb: 64 } }, new PoolCounters())
  t.after(() => lane.close())
  return lane
}

const submit = async (lane: Lane, job: Watched, order: Partial<TaskOrder> = {}) =>
  lane.run('pbkdf2', job.input, orderOf(order))

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

test('a job that runs too long ends with its thread also where its caller has left meanwhile', async (t) => {
  const lane = boundedLane(t)
  const endless = new Watched('hold')
  const cancellation = new Leaver()
  const failed = faultOf(submit(lane, endless, { cancellation }))
  await eventually(() => endless.runs === 1)
  cancellation.leave()
  t.match(await failed, { kind: 'internal', detail: /its thread died/ })
  await t.resolves(submit(lane, new Watched('answer')))
})

test('in a lane with bounds one caller leaves the last free thread to others', async (t) => {
  const lane = boundedLane(t, 2, 60_000)
  const [first, second, other] = [new Watched('hold'), new Watched('hold'), new Watched('hold')]
  t.after(() => {
    for (const job of [first, second, other]) job.release()
  })
  const answers = [first, second].map((job) => submit(lane, job, { caller: 'flooding' }))
  await eventually(() => first.runs === 1)
  t.match(await submit(lane, new Watched('answer'), { caller: 'other' }), { value: { hash: 'answer' } })
  t.equal(second.runs, 0, 'it waits for the first')
  t.equal(lane.queued, 1)
  answers.push(submit(lane, other, { caller: 'other' }))
  await eventually(() => other.runs === 1)
  first.release()
  await eventually(() => second.runs === 1)
  for (const job of [second, other]) job.release()
  await Promise.all(answers)
})
