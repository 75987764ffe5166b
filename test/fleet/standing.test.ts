import { test } from 'tap'
import { Fault } from '../../src/base/fault.js'
import { ANONYMOUS, type CallerAuthority, type Principal } from '../../src/base/principal.js'
import { machineMs, Standing } from '../../src/fleet/standing.js'

const CALLER = { ...ANONYMOUS, keyHash: 'ab' } as Principal

/** A machine whose time the test holds. */
function standingAt(whenAway: 'refuse' | 'serve' = 'refuse') {
  const time = { now: 1_000 }
  return { time, standing: new Standing(whenAway, () => time.now) }
}

test('a machine serves until its time is over, to the millisecond', async (t) => {
  const { time, standing } = standingAt()
  t.throws(() => standing.check(), { name: 'Fault', kind: 'unavailable' })
  standing.extend(1_500)
  time.now = 1_499
  t.doesNotThrow(() => standing.check())
  time.now = 1_500
  t.throws(() => standing.check(), { name: 'Fault', kind: 'unavailable' })
  standing.extend(1_400)
  standing.extend(2_000)
  standing.extend(1_600)
  time.now = 1_999
  t.equal(standing.isValid(), true, 'a beat that is confirmed late takes nothing away')
})

test('one that goes on without the store refuses when it hears from the store that it is gone', async (t) => {
  const { standing } = standingAt('serve')
  t.equal(standing.isValid(), false)
  t.doesNotThrow(() => standing.check())
  standing.fence()
  t.throws(() => standing.check(), { name: 'Fault', kind: 'unavailable' })
  standing.unfence()
  t.doesNotThrow(() => standing.check(), 'the store went away again')
  standing.fence()
  standing.extend(5_000)
  t.doesNotThrow(() => standing.check(), 'it has joined anew')
})

test('another process of the machine is told', async (t) => {
  const { standing } = standingAt()
  standing.extend(1_500)
  const worker = new Standing('refuse', () => 1_200)
  worker.set(standing.notice)
  t.equal(worker.isValid(), true)
  standing.fence()
  worker.set(structuredClone(standing.notice))
  t.equal(worker.isValid(), false)
})

test('the time of a process is that of all processes of its machine', async (t) => {
  const standing = new Standing('refuse')
  standing.extend(machineMs() + 60_000)
  t.equal(standing.isValid(), true)
  const over = new Standing('refuse')
  over.extend(machineMs() - 1)
  t.equal(over.isValid(), false)
})

test('the key is read first and the time asked after it', async (t) => {
  const { time, standing } = standingAt()
  standing.extend(1_500)
  const freezing = (caller: Principal): CallerAuthority => ({
    authorize: () => {
      // The process stands still between the reading of the key and its answer.
      time.now += 10_000
      return caller
    },
  })
  t.throws(() => standing.guard(freezing(CALLER)).authorize('', '', 'op', 'key'), {
    name: 'Fault',
    kind: 'unavailable',
  })
  t.equal(
    standing.guard(freezing(ANONYMOUS)).authorize('', '', 'op', 'anyone'),
    ANONYMOUS,
    'who needs no key needs no fresh one',
  )
  const late: CallerAuthority = { authorize: async () => CALLER }
  const answer = Promise.resolve(standing.guard(late).authorize('', '', 'op', 'key'))
  await t.rejects(answer, { name: 'Fault', kind: 'unavailable' })
})

test('a key that is not known here may be known elsewhere: a machine that is behind does not refuse it', async (t) => {
  const { time, standing } = standingAt()
  standing.extend(1_500)
  const unknown: CallerAuthority = {
    authorize: () => {
      throw new Fault('unauthenticated')
    },
  }
  const guarded = standing.guard(unknown)
  t.throws(() => guarded.authorize('', '', 'op', 'key'), { name: 'Fault', kind: 'unauthenticated' })
  time.now = 1_500
  t.throws(() => guarded.authorize('', '', 'op', 'key'), { name: 'Fault', kind: 'unavailable' })
})

test('what lasts is given away only by a machine that may serve to the end of it', async (t) => {
  const { time, standing } = standingAt()
  standing.extend(1_500)
  t.equal(await standing.within(async () => 'token'), 'token')
  const late = async (): Promise<string> => {
    time.now = 1_600
    return 'token'
  }
  await t.rejects(standing.within(late), { name: 'Fault', kind: 'unavailable' })
})
