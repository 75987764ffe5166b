/** When a stream that has nothing to say begins. Real timers: only lower bounds are certain. */
import { type Test, test } from 'tap'
import { FirstEventTimer, FirstEventTimers } from '../../src/http/event-stream.js'
import { gate } from '../support/timing/gate.js'

/** Timers may fire up to a millisecond early by another clock. */
const CLOCKS_MS = 1

/** Its timer alone keeps no process alive; the test must, or it would end before. */
function openingsOf(t: Test, silenceMs: number): FirstEventTimers {
  const awake = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(awake))
  return new FirstEventTimers(silenceMs)
}

/** Resolves when one more silence, begun now, is over: whatever began before is over then, too. */
function silenceOf(openings: FirstEventTimers): Promise<void> {
  const opened = gate()
  openings.start(new FirstEventTimer(() => opened.open()))
  return opened.opened
}

test('it is opened once the silence has lasted, and not before', async (t) => {
  const openings = openingsOf(t, 40)
  const opened = gate()
  let times = 0
  const begun = performance.now()
  openings.start(
    new FirstEventTimer(() => {
      times++
      opened.open()
    }),
  )
  t.equal(times, 0, 'never at once')
  await opened.opened
  t.ok(performance.now() - begun >= 40 - CLOCKS_MS)
  await silenceOf(openings)
  t.equal(times, 1, 'and only once')
})

test('what has settled before is never opened', async (t) => {
  const openings = openingsOf(t, 20)
  const settled = new FirstEventTimer(() => t.fail('its first event came in time'))
  openings.start(settled)
  openings.clear(settled)
  await silenceOf(openings)
  t.pass()
})

test('to settle twice, late, or without having waited does no harm', async (t) => {
  const openings = openingsOf(t, 10)
  const opened = gate()
  const key = new FirstEventTimer(() => opened.open())
  openings.clear(key)
  openings.start(key)
  await opened.opened
  openings.clear(key)
  openings.clear(key)
  await silenceOf(openings)
  t.pass('the others still open')
})

test('many that wait open in the order of their arrival, without those that settled', async (t) => {
  const openings = openingsOf(t, 20)
  const opened: number[] = []
  const keys = Array.from({ length: 5000 }, (_, at) => new FirstEventTimer(() => opened.push(at)))
  for (const key of keys) openings.start(key)
  for (const [at, key] of keys.entries()) if (at % 3 === 0) openings.clear(key)
  await silenceOf(openings)
  t.same(
    opened,
    [...keys.keys()].filter((at) => at % 3 !== 0),
  )
})

test('one that opens may settle another, or begin to wait anew', async (t) => {
  const openings = openingsOf(t, 20)
  const second = new FirstEventTimer(() => t.fail('it was settled by the first'))
  const again = gate()
  openings.start(
    new FirstEventTimer(() => {
      openings.clear(second)
      openings.start(new FirstEventTimer(() => again.open()))
    }),
  )
  openings.start(second)
  await again.opened
  t.pass()
})

test('one that came later is not opened with the earlier ones', async (t) => {
  const openings = openingsOf(t, 60)
  const first = gate()
  openings.start(new FirstEventTimer(() => first.open()))
  await new Promise((resolve) => setTimeout(resolve, 30))
  const begun = performance.now()
  const second = gate()
  openings.start(new FirstEventTimer(() => second.open()))
  await first.opened
  await second.opened
  t.ok(performance.now() - begun >= 60 - CLOCKS_MS)
})
