/** Changes that wait together are each told of their own version who has not confirmed it. */
import { test } from 'tap'
import { MembershipBarrier } from '../../src/fleet/barrier.js'
import type { MachineBehind } from '../../src/store/membership.js'
import { FakeClock } from '../support/timing/fake-clock.js'

const machine = (name: string, applied: number, isAwaited: boolean): MachineBehind => {
  return { name, epoch: 1, beat: 1, stalenessMs: 10_000, applied, isAwaited }
}

test('who expired with a change confirmed is named for later ones only', async (t) => {
  const clock = new FakeClock()
  let behind = [machine('b', 7, false), machine('c', 6, true)]
  const asked: unknown[] = []
  const self = { name: 'a', epoch: 3 }
  const barrier = new MembershipBarrier({
    clock,
    self: () => self,
    membership: {
      behind: async (version, except) => {
        asked.push(except)
        return behind.filter(({ applied }) => applied < version)
      },
      expire: async () => {},
    },
  })
  const changes = [barrier.pass(7), barrier.pass(8)]
  await new Promise((resolve) => setImmediate(resolve))
  behind = [machine('b', 7, false)]
  await clock.advance(10)
  t.same(await Promise.all(changes), [[], ['b']])
  t.same(asked[0], self)
})
