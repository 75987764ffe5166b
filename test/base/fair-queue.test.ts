import { test } from 'tap'
import { FairQueue } from '../../src/base/fair-queue.js'

test('who has one large work waiting at a time gets no more than those of whom many wait', async (t) => {
  const queue = new FairQueue<{ caller: string; cost: number }>(40)
  const done: Record<string, number> = { large: 0, small: 0 }
  for (let n = 0; n < 10; n++) queue.add({ caller: 'small', cost: 10 })
  queue.add({ caller: 'large', cost: 200 })
  for (let n = 0; n < 1000; n++) {
    const work = queue.peek()!
    queue.take(work)
    done[work.caller]! += work.cost
    queue.add({ ...work })
  }
  t.ok(Math.abs(done.large! - done.small!) <= 200, JSON.stringify(done))
})

test('a debt is forgotten when nobody else waits, and no share is counted for the debtor', async (t) => {
  const queue = new FairQueue<{ caller: string; cost: number }>(40)
  const large = { caller: 'large', cost: 1000 }
  const small = { caller: 'small', cost: 10 }
  queue.add(large)
  queue.add(small)
  queue.take(large)
  t.ok(queue.isWithinShare({ caller: 'small', cost: 90 }, 100))
  t.notOk(queue.isWithinShare({ caller: 'large', cost: 60 }, 100))
  queue.take(small)
  t.equal(queue.peek(), undefined)
  queue.add(large)
  t.equal(queue.peek(), large)
  t.match(queue, { size: 1, cost: 1000 })
})
