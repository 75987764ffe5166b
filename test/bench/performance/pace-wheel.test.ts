// Runs alone: it measures when steps come.
import { test } from 'tap'
import { PaceWheel } from '../../../bench/performance/gateway/pace-wheel.js'

const GAP_MS = 20

/** The times of `steps` steps of one rider. */
function ride(wheel: PaceWheel, steps: number): Promise<number[]> {
  const times = [performance.now()]
  return new Promise((resolve) => {
    wheel.add(() => {
      times.push(performance.now())
      if (times.length <= steps) return true
      resolve(times)
      return false
    })
  })
}

test('every rider is stepped as often as it wants, one gap apart on average and never early', async (t) => {
  const wheel = new PaceWheel(GAP_MS)
  const riders = await Promise.all(Array.from({ length: 50 }, () => ride(wheel, 10)))
  for (const times of riders) {
    t.equal(times.length, 11)
    // The wheel counts whole milliseconds, and its timer may be late but catches up.
    t.ok(times.at(-1)! - times[0]! >= 10 * GAP_MS - 2, `${times.at(-1)! - times[0]!} ms`)
  }
})

test('a rider that was taken off is not stepped again', async (t) => {
  const wheel = new PaceWheel(GAP_MS)
  let steps = 0
  const takeOff = wheel.add(() => {
    steps++
    return true
  })
  takeOff()
  takeOff()
  await ride(wheel, 3)
  t.equal(steps, 0)
})
