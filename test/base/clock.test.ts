import { getEventListeners } from 'node:events'
import { test } from 'tap'
import { sleep, systemClock } from '../../src/base/clock.js'
import { FakeClock } from '../support/timing/fake-clock.js'

/** Lets promise callbacks run; no time passes on the fake clock. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('sleep resolves when its time has come and not before', async (t) => {
  const clock = new FakeClock()
  let awake = false
  void sleep(100, clock).then(() => {
    awake = true
  })
  clock.advance(99)
  await settle()
  t.equal(awake, false, 'after 99 ms')
  clock.advance(1)
  await settle()
  t.equal(awake, true, 'after 100 ms')
  t.equal(clock.pending, 0)
})

test('sleep rejects with the reason of its signal as soon as it fires, and releases the timer', async (t) => {
  const clock = new FakeClock()
  const leaving = new AbortController()
  const sleeping = sleep(100, clock, leaving.signal)
  clock.advance(50)
  const reason = new Error('the caller left')
  leaving.abort(reason)
  t.equal(clock.pending, 0, 'the timer is gone at once')
  await t.rejects(sleeping, reason)
})

test('sleep under a signal that has fired already rejects without a timer', async (t) => {
  const clock = new FakeClock()
  const reason = new Error('gone before')
  await t.rejects(sleep(100, clock, AbortSignal.abort(reason)), reason)
  t.equal(clock.pending, 0)
})

test('sleep takes its listener off the signal when it ends in time', async (t) => {
  const clock = new FakeClock()
  const { signal } = new AbortController()
  const sleeping = Array.from({ length: 5 }, () => sleep(10, clock, signal))
  t.equal(getEventListeners(signal, 'abort').length, 5)
  clock.advance(10)
  await Promise.all(sleeping)
  t.equal(getEventListeners(signal, 'abort').length, 0)
})

test('a signal that fires after the end changes nothing', async (t) => {
  const clock = new FakeClock()
  const leaving = new AbortController()
  const sleeping = sleep(10, clock, leaving.signal)
  clock.advance(10)
  leaving.abort()
  await t.resolves(sleeping)
})

test('the system clock tells seconds and milliseconds, and its timers can be called off', async (t) => {
  t.ok(Math.abs(systemClock.unixSeconds() - Date.now() / 1000) < 1)
  const before = systemClock.monotonicMs()
  let called = false
  const cancel = systemClock.runAfter(0, () => {
    called = true
  })
  cancel()
  await new Promise<void>((resolve) => systemClock.runAfter(1, resolve))
  t.equal(called, false)
  t.ok(systemClock.monotonicMs() > before)
})
