import { test } from 'tap'
import { SilenceWatch } from '../../src/fleet/silence-watch.js'

const STALENESS_MS = 10_000
const PERIOD_MS = 1_000

const machineAt = (beat: number, epoch = 1, stalenessMs = STALENESS_MS) => ({
  ...{ name: 'b', epoch, beat, stalenessMs },
})

/** One watch, which reads the counter of one machine every second from then on; resolves with when it was silent. */
function watchFrom(
  at: number,
  beatAt: (now: number) => number,
  until: number,
  mayRead = (_now: number) => true,
) {
  const watch = new SilenceWatch(PERIOD_MS)
  const silentAt: number[] = []
  for (let now = at; now <= until; now += PERIOD_MS) {
    if (watch.silent(now).length > 0) silentAt.push(now)
    if (mayRead(now)) watch.observe([machineAt(beatAt(now))], now)
  }
  return silentAt
}

test('a machine is silent when its counter has stood still for the limit and a fifth', async (t) => {
  t.same(
    watchFrom(0, () => 7, 11_000),
    [],
  )
  t.same(
    watchFrom(0, () => 7, 13_000),
    [12_000, 13_000],
  )
  t.same(
    watchFrom(0, (now) => now, 60_000),
    [],
    'not one that beats',
  )
  t.same(
    watchFrom(0, (now) => Math.min(now, 5_000), 17_000),
    [17_000],
    'counted from its last beat',
  )
})

test('time in which nobody could read says nothing of others', async (t) => {
  const away = (now: number): boolean => now < 5_000 || now >= 35_000
  t.same(
    watchFrom(0, (now) => (away(now) ? now : 4_000), 60_000, away),
    [],
    'all were without the store alike',
  )
  t.same(
    watchFrom(0, () => 7, 46_000, away),
    [],
    'and everybody gets the time to beat again',
  )
  t.same(
    watchFrom(0, () => 7, 47_000, away),
    [47_000],
  )
})

test('a machine that has joined anew is another', async (t) => {
  const watch = new SilenceWatch(PERIOD_MS)
  for (let now = 0; now <= 11_000; now += PERIOD_MS) watch.observe([machineAt(7)], now)
  watch.observe([machineAt(7, 2)], 12_000)
  t.same(watch.silent(12_500), [])
  watch.observe([], 13_000)
  t.same(watch.silent(13_500), [], 'and one that is gone is not looked for')
})

test('who serves for longer without a beat is waited for as long', async (t) => {
  const watch = new SilenceWatch(PERIOD_MS)
  const isSilentAt: number[] = []
  for (let now = 0; now <= 72_000; now += PERIOD_MS) {
    if (watch.silent(now).length > 0) isSilentAt.push(now)
    watch.observe([machineAt(7, 1, 60_000)], now)
  }
  t.same(isSilentAt, [72_000])
})
