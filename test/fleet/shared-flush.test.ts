/** Who reads what all machines have waits until they have brought it in, and for none that is silent. */
import { test } from 'tap'
import { SharedFlush } from '../../src/fleet/shared-flush.js'
import { FakeClock } from '../support/timing/fake-clock.js'

interface Machine {
  readonly flush: SharedFlush
  flushes: number
  isSilent: boolean
  canFlush: boolean
}

/** Machines that hear each other's hints, and their own. */
function machinesOf(names: readonly string[], clock: FakeClock, hears = true) {
  const machines: Machine[] = []
  let hints = 0
  for (const name of names) {
    const machine: Machine = {
      ...{ flushes: 0, isSilent: false, canFlush: true },
      flush: new SharedFlush({
        machine: name,
        live: () => names.length,
        hears: () => hears,
        send: async (payload) => {
          hints++
          for (const each of machines) if (!each.isSilent) each.flush.receive(payload)
        },
        flush: async () => {
          machine.flushes++
          return machine.canFlush
        },
        clock,
      }),
    }
    machines.push(machine)
  }
  return { machines, hints: () => hints }
}

/** Time goes by, and what it has set free runs. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  await new Promise(setImmediate)
  clock.advance(ms)
  await new Promise(setImmediate)
}

test('all bring in what they have, and only then is it read', async (t) => {
  const { machines, hints } = machinesOf(['a', 'b', 'c'], new FakeClock())
  t.equal(await machines[0]!.flush.flushAll(), true)
  t.same(
    machines.map(({ flushes }) => flushes),
    [1, 1, 1],
  )
  t.equal(hints(), 3, 'a question, two answers')
})

test('a machine that is silent is waited for a second, by whoever asks', async (t) => {
  const clock = new FakeClock()
  const { machines } = machinesOf(['a', 'b', 'c'], clock)
  machines[2]!.isSilent = true
  let isDone = false
  const done = machines[0]!.flush.flushAll().then(() => {
    isDone = true
  })
  await pass(clock, 900)
  t.notOk(isDone)
  await pass(clock, 200)
  await done
  t.ok(isDone)
})

test('one machine alone asks nobody; where nothing is heard a second is waited', async (t) => {
  const clock = new FakeClock()
  const alone = machinesOf(['a'], clock)
  t.equal(await alone.machines[0]!.flush.flushAll(), true)
  t.equal(alone.hints(), 0)
  const deaf = machinesOf(['a', 'b'], clock, false)
  let isDone = false
  void deaf.machines[0]!.flush.flushAll().then(() => {
    isDone = true
  })
  await pass(clock, 900)
  t.notOk(isDone)
  await pass(clock, 200)
  t.ok(isDone)
  t.equal(deaf.hints(), 0)
})

test('a machine that cannot bring in its own says so, and is no answer to others', async (t) => {
  const clock = new FakeClock()
  const { machines } = machinesOf(['a', 'b'], clock)
  machines[0]!.canFlush = false
  t.equal(await machines[0]!.flush.flushAll(), false)
  let isDone = false
  void machines[1]!.flush.flushAll().then(() => {
    isDone = true
  })
  await pass(clock, 500)
  t.notOk(isDone, 'what it has is not in the ledger')
})

test('a flood of questions costs a few rounds, and hints of others are left to them', async (t) => {
  const clock = new FakeClock()
  const { machines } = machinesOf(['a', 'b'], clock)
  const all = Promise.all(Array.from({ length: 100 }, () => machines[0]!.flush.flushAll()))
  for (let n = 0; n < 5; n++) await pass(clock, 200)
  t.equal((await all).length, 100)
  t.ok(machines[1]!.flushes <= 2)
  t.equal(machines[0]!.flush.receive('called 1 $x'), false)
  t.equal(machines[0]!.flush.receive('flushed b 77@a'), true, 'late answers are nothing')
})

test('one that is silent costs one wait, and is waited for again once it was heard of', async (t) => {
  const clock = new FakeClock()
  const { machines } = machinesOf(['a', 'b', 'c'], clock)
  const [a, b, c] = machines as [Machine, Machine, Machine]
  c.isSilent = true
  const first = a.flush.flushAll()
  await pass(clock, 1_000)
  await first
  for (let reads = 0; reads < 3; reads++) {
    const flushes = b.flushes
    const read = a.flush.flushAll()
    await pass(clock, 100)
    await pass(clock, 20)
    t.equal(await read, true, 'at once')
    t.equal(b.flushes, flushes + 1, 'others bring in what they have')
  }
  c.isSilent = false
  for (let reads = 0; reads < 2; reads++) {
    const flushes = c.flushes
    const read = a.flush.flushAll()
    await pass(clock, 100)
    await pass(clock, 20)
    await read
    await pass(clock, 100)
    t.equal(c.flushes, flushes + 1)
  }
  // All answer again, so that all are waited for.
  c.canFlush = false
  let isDone = false
  const last = a.flush.flushAll().then(() => {
    isDone = true
  })
  await pass(clock, 100)
  await pass(clock, 500)
  t.notOk(isDone)
  await pass(clock, 500)
  await last
})

test('many that ask at once are answered at once', async (t) => {
  const clock = new FakeClock()
  const sent: string[] = []
  let flushes = 0
  const flush = new SharedFlush({
    ...{ machine: 'a', live: () => 100, hears: () => true, clock },
    send: async (payload) => void sent.push(payload),
    flush: async () => ++flushes > 0,
  })
  for (let n = 0; n < 99; n++) flush.receive(`flush m${n} 1`)
  for (let n = 0; n < 5; n++) await pass(clock, 20)
  t.equal(flushes, 1)
  t.equal(sent.length, 3)
  t.equal(sent.join(' ').match(/1@m\d+/g)?.length, 99)
})
