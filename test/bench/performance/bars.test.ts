import { test } from 'tap'
import { judgeBar } from '../../../bench/performance/bars.js'
import { figuresOfLoad, type LoadResult, type RoundFigures } from '../../../bench/performance/job.js'

/** A side of 1,000 replies in a second that took so many microseconds of CPU each. */
function side(cpuUs: number) {
  const result: LoadResult = {
    load: {
      completed: 1_000,
      seconds: 1,
      errors: { non2xx: 0, timeouts: 0, resets: 0, incomplete: 0 },
      latency: null,
      histogram: null,
      stream: null,
    },
    cost: { seconds: 1, serverCpuMs: cpuUs, serverRssBytes: null, generatorCpuMs: null, foreignCpuMs: null },
    poll: null,
  }
  return figuresOfLoad(result)
}

/** Rounds in which the floor took 10 µs and we took so many. */
const rounds = (...ours: readonly number[]): RoundFigures[] =>
  ours.map((cpuUs) => ({
    order: ['floor', 'ours'],
    ours: side(cpuUs),
    floor: side(10),
    peer: null,
    solo: null,
  }))

const BAR = { figure: 'cpuRatio', atLeast: 0.5 } as const

test('a bar is decided where the whole interval lies on one side of it', async (t) => {
  const judged = (...ours: readonly number[]) => judgeBar(BAR, rounds(...ours))
  t.match(judged(16, 17, 18, 18, 18, 19), { verdict: 'met', medianMeets: true })
  t.match(judged(21, 22, 23, 24, 24, 25), { verdict: 'missed', medianMeets: false })
  t.match(judged(16, 17, 18, 19, 19, 21), { verdict: 'open', medianMeets: true })
  t.match(judged(16, 17, 18), { verdict: 'open', medianMeets: true }, 'three rounds decide nothing')
  t.match(judgeBar({ figure: 'addedP50OverFloor', atMost: 70 }, rounds(16)), { verdict: 'open', value: null })
})
