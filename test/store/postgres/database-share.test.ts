/** A share of a process's connections: as many statements at a time, and nobody beyond it waits for ever. */
import { setImmediate as turn } from 'node:timers/promises'
import { t } from 'tap'
import type { Database } from '../../../src/store/postgres/database.js'
import { shareOf } from '../../../src/store/postgres/database-share.js'
import { FakeClock } from '../../support/timing/fake-clock.js'

interface Opened {
  readonly share: Database
  readonly clock: FakeClock
  /** Ends of the statements under way, the first one first. */
  readonly underWay: (() => void)[]
}

/** Of a database that answers when it is told to. */
function openShare(connections: number): Opened {
  const clock = new FakeClock()
  const underWay: (() => void)[] = []
  const query = () => new Promise<never[]>((resolve) => underWay.push(() => resolve([])))
  const database: Database = {
    query,
    transaction: (work) => work(query),
    isAway: false,
    isPooled: false,
    statements: () => 0,
    statementsByKind: () => ({}),
    close: async () => {},
  }
  return { share: shareOf(database, connections, clock), clock, underWay }
}

t.test('more statements than it has connections wait for their turn', async (t) => {
  const { share, underWay } = openShare(2)
  const ends: number[] = []
  const all = [0, 1, 2].map((n) => share.query('SELECT 1').then(() => ends.push(n)))
  await turn()
  t.equal(underWay.length, 2)
  underWay.shift()!()
  await turn()
  t.equal(underWay.length, 2, 'who ends gives its connection on')
  for (const end of underWay) end()
  await Promise.all(all)
  t.same(ends, [0, 1, 2])
})

t.test('who has waited too long is refused when its turn comes, and the next one goes on', async (t) => {
  const { share, clock, underWay } = openShare(1)
  const first = share.query('SELECT 1')
  const second = t.rejects(
    share.transaction((query) => query('SELECT 1')),
    /unavailable/,
  )
  await clock.advance(2_001)
  const third = share.query('SELECT 1')
  await turn()
  underWay.shift()!()
  await Promise.all([first, second])
  await turn()
  underWay.shift()!()
  t.same(await third, [])
})

t.test('beyond a bound nobody waits', async (t) => {
  const { share, underWay } = openShare(1)
  const calls = Array.from({ length: 1_001 }, () => share.query('SELECT 1'))
  await t.rejects(share.query('SELECT 1'), /unavailable/)
  let answered = 0
  for (const call of calls) void call.then(() => answered++)
  while (answered < calls.length) {
    underWay.shift()?.()
    await turn()
  }
  t.equal(answered, 1_001)
})
