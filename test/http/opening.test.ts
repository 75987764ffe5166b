/** When a stream that has nothing to say begins. Real timers: only lower bounds are certain. */
import { type Test, test } from 'tap'
import { Openings } from '../../src/http/opening.js'
import { gate } from '../fixtures/gate.js'

/** Timers may fire up to a millisecond early by another clock. */
const CLOCKS_MS = 1

/** Its timer alone keeps no process alive; the test must, or it would end before. */
function openingsOf(t: Test, silenceMs: number): Openings {
  const awake = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(awake))
  return new Openings(silenceMs)
}

/** Resolves when one more silence, begun now, is over: whatever began before is over then, too. */
function silenceOf(openings: Openings): Promise<void> {
  const opened = gate()
  openings.wait({}, () => opened.open())
  return opened.opened
}

test('it is opened once the silence has lasted, and not before', async (t) => {
  const openings = openingsOf(t, 40)
  const opened = gate()
  let times = 0
  const begun = performance.now()
  openings.wait({}, () => {
    times++
    opened.open()
  })
  t.equal(times, 0, 'never at once')
  await opened.opened
  t.ok(performance.now() - begun >= 40 - CLOCKS_MS)
  await silenceOf(openings)
  t.equal(times, 1, 'and only once')
})

test('what has settled before is never opened', async (t) => {
  const openings = openingsOf(t, 20)
  const settled = {}
  openings.wait(settled, () => t.fail('its first event came in time'))
  openings.settled(settled)
  await silenceOf(openings)
  t.pass()
})

test('to settle twice, late, or without having waited does no harm', async (t) => {
  const openings = openingsOf(t, 10)
  const key = {}
  openings.settled(key)
  const opened = gate()
  openings.wait(key, () => opened.open())
  await opened.opened
  openings.settled(key)
  openings.settled(key)
  await silenceOf(openings)
  t.pass('the others still open')
})

test('many that wait open in the order of their arrival, without those that settled', async (t) => {
  const openings = openingsOf(t, 20)
  const keys = Array.from({ length: 5000 }, (_, at) => ({ at }))
  const opened: number[] = []
  for (const key of keys) openings.wait(key, () => opened.push(key.at))
  for (const key of keys) if (key.at % 3 === 0) openings.settled(key)
  await silenceOf(openings)
  t.same(
    opened,
    keys.map(({ at }) => at).filter((at) => at % 3 !== 0),
  )
})

test('one that opens may settle another, or begin to wait anew', async (t) => {
  const openings = openingsOf(t, 20)
  const second = {}
  const again = gate()
  openings.wait({}, () => {
    openings.settled(second)
    openings.wait({}, () => again.open())
  })
  openings.wait(second, () => t.fail('it was settled by the first'))
  await again.opened
  t.pass()
})

test('one that came later is not opened with the earlier ones', async (t) => {
  const openings = openingsOf(t, 60)
  const first = gate()
  openings.wait({}, () => first.open())
  await new Promise((resolve) => setTimeout(resolve, 30))
  const begun = performance.now()
  const second = gate()
  openings.wait({}, () => second.open())
  await first.opened
  await second.opened
  t.ok(performance.now() - begun >= 60 - CLOCKS_MS)
})
