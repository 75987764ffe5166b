import { test } from 'tap'
import { SnapshotGatherer } from '../../src/process/snapshot-gatherer.js'
import { workerSnapshot } from '../support/models/worker-snapshot.js'

test('it resolves with all snapshots, by worker, as soon as the last has come', async (t) => {
  const gatherer = new SnapshotGatherer()
  let asked = -1
  const gathered = gatherer.gather(3, (id) => {
    asked = id
  })
  for (const worker of [2, 0, 1]) gatherer.take(asked, workerSnapshot(worker))
  t.same(
    (await gathered).map(({ worker }) => worker),
    [0, 1, 2],
  )
})

test('workers may answer while they are being asked', async (t) => {
  const gatherer = new SnapshotGatherer()
  const gathered = await gatherer.gather(1, (id) => gatherer.take(id, workerSnapshot(4)))
  t.match(gathered, [{ worker: 4 }])
})

test('nobody to ask is nobody to wait for', async (t) => {
  const gathered = await new SnapshotGatherer().gather(0, () => t.fail('nobody is asked'))
  t.same(gathered, [])
})

test('rounds at the same time do not mix', async (t) => {
  const gatherer = new SnapshotGatherer()
  const ids: number[] = []
  const rounds = [0, 1].map(() => gatherer.gather(2, (id) => ids.push(id)))
  t.not(ids[0], ids[1])
  for (const [round, worker] of [
    [0, 0],
    [1, 10],
    [1, 11],
    [0, 1],
  ] as const) {
    gatherer.take(ids[round]!, workerSnapshot(worker))
  }
  t.match(await rounds[0], [{ worker: 0 }, { worker: 1 }])
  t.match(await rounds[1], [{ worker: 10 }, { worker: 11 }])
})

test('a worker that does not answer is not waited for longer than the deadline', async (t) => {
  const gatherer = new SnapshotGatherer()
  const begun = performance.now()
  let asked = -1
  const gathered = gatherer.gather(2, (id) => {
    asked = id
    gatherer.take(id, workerSnapshot(1))
  })
  t.match(await gathered, [{ worker: 1 }])
  const took = performance.now() - begun
  t.ok(took > 900 && took < 5000, `${took} ms`)
  gatherer.take(asked, workerSnapshot(0))
  t.equal((await gathered).length, 1, 'what comes late is dropped')
})
