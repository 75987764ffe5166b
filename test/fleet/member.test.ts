import { test } from 'tap'
import { createLog } from '../../src/base/log.js'
import { FleetMember } from '../../src/fleet/member.js'
import { Standing } from '../../src/fleet/standing.js'
import type { BeatAnswer, Membership } from '../../src/store/membership.js'
import { FakeClock } from '../support/timing/fake-clock.js'
import { gate } from '../support/timing/gate.js'

const FACTS = { release: '1.0.0', node: 'v20.0.0', journal_bytes: 0 }
const ANSWER: BeatAnswer = { applied: 1, head: 1, called: [], others: [], storeMs: 0 }

/** A machine whose replica is read as often as `catchUp` says; what the store is asked is told to `asked`. */
function memberWith(catchUp: () => Promise<number>) {
  const asked: string[] = []
  const answer = <T>(name: string, value: T) => {
    return async (): Promise<T> => {
      asked.push(name)
      return value
    }
  }
  const membership: Membership = {
    join: () => Promise.reject(new Error('it has joined')),
    goLive: answer('goLive', ANSWER),
    beat: answer('beat', ANSWER),
    confirm: answer('confirm', true),
    behind: answer('behind', []),
    expire: answer('expire', undefined),
    leave: answer('leave', undefined),
    forget: answer('forget', 'unknown' as const),
  }
  const member = new FleetMember(
    { name: 'here', epoch: 1 },
    {
      membership,
      replica: { position: () => ({ version: 1, change: 'a' }), catchUp },
      standing: new Standing('refuse'),
      stalenessMs: 10_000,
      clock: new FakeClock(),
      machineMs: () => 0,
      log: createLog('silent', 'test'),
      facts: () => FACTS,
      rejoin: () => Promise.resolve('not here'),
      onStanding: () => {},
      onBeat: () => {},
      onRejoined: () => {},
      onRefused: () => {},
    },
  )
  return { member, asked }
}

test('a machine leaves when it does not look at its replica any more, and does not look again', async (t) => {
  const reading = gate<number>()
  let reads = 0
  const { member, asked } = memberWith(() => {
    reads++
    return reading.opened
  })
  void member.follow()
  // One more round is asked for meanwhile.
  void member.follow()
  const left = member.leave()
  await new Promise(setImmediate)
  t.notOk(asked.includes('leave'), 'it waits for what is under way')
  reading.open(1)
  await left
  t.equal(asked.at(-1), 'leave')
  await member.follow()
  t.equal(reads, 1)
})
