import { test } from 'tap'
import { FanOut } from '../../../src/process/ipc/fan-out.js'

const LONG_MS = 60_000

test('it resolves with all answers, by worker, as soon as the last has come', async (t) => {
  const fanOut = new FanOut<string>()
  let asked = -1
  const gathered = fanOut.ask([0, 1, 2], LONG_MS, (id) => {
    asked = id
  })
  for (const worker of [2, 0, 1]) fanOut.receive(worker, asked, `of ${worker}`)
  t.same(
    await gathered,
    [0, 1, 2].map((worker) => ({ worker, answer: `of ${worker}` })),
  )
})

test('workers may answer while they are being asked', async (t) => {
  const fanOut = new FanOut<string>()
  const gathered = await fanOut.ask([4], LONG_MS, (id) => fanOut.receive(4, id, 'here'))
  t.same(gathered, [{ worker: 4, answer: 'here' }])
})

test('nobody to ask is nobody to wait for', async (t) => {
  t.same(await new FanOut<string>().ask([], LONG_MS, () => {}), [])
})

test('rounds at the same time do not mix', async (t) => {
  const fanOut = new FanOut<string>()
  const ids: number[] = []
  const rounds = [0, 1].map(() => fanOut.ask([0, 1], LONG_MS, (id) => ids.push(id)))
  t.not(ids[0], ids[1])
  for (const [round, worker] of [
    [0, 0],
    [1, 0],
    [1, 1],
    [0, 1],
  ] as const) {
    fanOut.receive(worker, ids[round]!, `round ${round}`)
  }
  for (const round of [0, 1]) {
    t.same(
      (await rounds[round])!.map(({ answer }) => answer),
      [`round ${round}`, `round ${round}`],
    )
  }
})

test('a silent worker is waited for until the deadline; what it says late is dropped, but it has spoken', async (t) => {
  const fanOut = new FanOut<string>()
  const begun = performance.now()
  let asked = -1
  const gathered = fanOut.ask([0, 1], 100, (id) => {
    asked = id
    fanOut.receive(1, id, 'here')
  })
  t.same(await gathered, [{ worker: 1, answer: 'here' }])
  const took = performance.now() - begun
  t.ok(took > 90 && took < 4_000, `${took} ms`)
  t.strictSame([fanOut.isSilent(0), fanOut.isSilent(1)], [true, false])
  fanOut.receive(0, asked, 'late')
  t.equal((await gathered).length, 1)
  t.notOk(fanOut.isSilent(0))
})

test('a worker that dies ends the wait', async (t) => {
  const fanOut = new FanOut<string>()
  const gathered = fanOut.ask([0, 1], LONG_MS, (id) => fanOut.receive(0, id, 'here'))
  fanOut.workerDied(1)
  t.equal((await gathered).length, 1)
})

test('an answer that comes twice counts once', async (t) => {
  const fanOut = new FanOut<string>()
  const gathered = fanOut.ask([0, 1], LONG_MS, (id) => {
    for (const worker of [0, 0, 1, 1]) fanOut.receive(worker, id, 'here')
  })
  t.equal((await gathered).length, 2)
})
