import fc from 'fast-check'
import { test } from 'tap'
import { TimerEntry, TimerWheel } from '../../src/simulator/timer-wheel.js'
import { FakeClock } from './calls.js'

/** Notes when it was woken; may do something then. */
class RecordedEntry extends TimerEntry {
  readonly wokenAt: number[] = []
  constructor(readonly then: (now: number) => void = () => {}) {
    super()
  }
  onDue(now: number): void {
    this.wokenAt.push(now)
    this.then(now)
  }
}

/** A wheel on a clock that stands at `time`. */
function setUpWheel(time?: number) {
  const clock = new FakeClock(time)
  const wheel = new TimerWheel(clock)
  const schedule = (dueAt: number): RecordedEntry => {
    const entry = new RecordedEntry()
    wheel.schedule(entry, dueAt)
    return entry
  }
  return { clock, wheel, schedule }
}

test('an entry is never woken early and at most two milliseconds late while timers are punctual', async (t) => {
  const dues = fc.array(fc.double({ min: 0.01, max: 5000, noNaN: true }), { minLength: 1, maxLength: 60 })
  fc.assert(
    fc.property(dues, fc.double({ min: 0, max: 5000, noNaN: true }), (delays, start) => {
      const { clock, schedule } = setUpWheel(start)
      const entries = delays.map((delay) => schedule(start + delay))
      clock.run()
      return entries.every((entry, i) => {
        const due = start + delays[i]!
        const [woken, second] = entry.wokenAt
        return second === undefined && woken! >= due && woken! <= due + 2.001
      })
    }),
    { numRuns: 300 },
  )
  t.pass()
})

test('an entry whose time has come is woken in a later turn, never inside schedule', async (t) => {
  const { clock, schedule } = setUpWheel()
  const entry = schedule(clock.time - 5)
  t.equal(entry.wokenAt.length, 0)
  clock.turn()
  t.equal(entry.wokenAt.length, 1)
  t.notOk(clock.hasTimer)
})

test('an entry that reschedules itself for now leaves the turn to others', async (t) => {
  const { clock, wheel } = setUpWheel()
  const entry: RecordedEntry = new RecordedEntry((now) => wheel.schedule(entry, now))
  wheel.schedule(entry, 0)
  clock.turn()
  t.equal(entry.wokenAt.length, 1)
  clock.turn()
  t.equal(entry.wokenAt.length, 2)
})

test('one turn wakes a bounded number, and all are woken in their order', async (t) => {
  const { clock, wheel } = setUpWheel()
  const order: number[] = []
  for (let i = 0; i < 200; i++) wheel.schedule(new RecordedEntry(() => order.push(i)), 0)
  clock.turn()
  t.ok(order.length < 200)
  clock.run()
  t.strictSame(
    order,
    Array.from({ length: 200 }, (_, i) => i),
  )
})

test('a timer that fires early wakes nobody and is set again', async (t) => {
  const { clock, schedule } = setUpWheel(1000)
  const entry = schedule(1010)
  clock.time = 1009.7
  clock.fire()
  t.equal(entry.wokenAt.length, 0)
  t.ok(clock.hasTimer)
  clock.run()
  t.equal(entry.wokenAt.length, 1)
})

test('after a long stop of the loop everything due goes out in one tick, later rounds stay', async (t) => {
  const { clock, schedule } = setUpWheel(50)
  const near = Array.from({ length: 500 }, (_, i) => schedule(51 + i * 7))
  const far = schedule(20_000)
  clock.time = 5000
  clock.fire()
  t.ok(near.every((entry) => entry.wokenAt.length === 1))
  t.equal(far.wokenAt.length, 0)
  clock.run()
  t.ok(far.wokenAt[0]! >= 20_000 && far.wokenAt[0]! < 20_003)
})

test('a cancelled entry is never woken, and an empty wheel holds no timer', async (t) => {
  const { clock, wheel, schedule } = setUpWheel()
  const entries = [5, 10, 2000, -1].map((delay) => schedule(clock.time + delay))
  for (const entry of entries) {
    wheel.cancel(entry)
    wheel.cancel(entry)
  }
  t.equal(wheel.size(), 0)
  t.notOk(clock.hasTimer)
  clock.run()
  t.ok(entries.every((entry) => entry.wokenAt.length === 0))
})

test('entries may cancel and move each other inside a tick', async (t) => {
  const { clock, wheel } = setUpWheel(100)
  const cancelled = new RecordedEntry()
  const moved = new RecordedEntry()
  const first = new RecordedEntry(() => {
    wheel.cancel(cancelled)
    wheel.schedule(moved, 300)
  })
  for (const entry of [first, cancelled, moved]) wheel.schedule(entry, 110.5)
  clock.run()
  t.equal(first.wokenAt.length, 1)
  t.equal(cancelled.wokenAt.length, 0)
  t.equal(moved.wokenAt.length, 1)
  t.ok(moved.wokenAt[0]! >= 300)
  t.equal(wheel.size(), 0)
})

test('a model of a thousand random schedules, moves and cancels agrees with a plain list', async (t) => {
  const step = fc.record({ entry: fc.nat(19), delay: fc.integer({ min: -2, max: 3000 }), act: fc.nat(3) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const { clock, wheel } = setUpWheel(17.5)
      const entries = Array.from({ length: 20 }, () => new RecordedEntry())
      const model = new Map<number, number>()
      const expected = entries.map(() => 0)
      const settle = () => {
        while (clock.hasTurns) clock.turn()
        for (const [entry, due] of model) {
          if (entries[entry]!.wokenAt.length === expected[entry]) {
            if (due + 2.001 < clock.time) return false
            continue
          }
          if (entries[entry]!.wokenAt.at(-1)! < due) return false
          expected[entry]!++
          model.delete(entry)
        }
        return (
          wheel.size() === model.size && entries.every((entry, i) => entry.wokenAt.length === expected[i])
        )
      }
      for (const { entry, delay, act } of steps) {
        if (act === 0) {
          wheel.cancel(entries[entry]!)
          model.delete(entry)
        } else if (act === 1) clock.advance()
        else {
          wheel.schedule(entries[entry]!, clock.time + delay)
          model.set(entry, clock.time + delay)
        }
        if (!settle()) return false
      }
      clock.run()
      return settle() && model.size === 0 && !clock.hasTimer
    }),
    { numRuns: 300 },
  )
  t.pass()
})
